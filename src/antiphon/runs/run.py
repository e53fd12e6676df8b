"""A running response: the state that others see, what they can request of it, and how it ends.

`step_loop.py` performs its steps; `phases.py` defines its phases.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.access.spending import SpentTokens, cost_of
from antiphon.access.unseal import origin_tag
from antiphon.errors import AntiphonError, reportable
from antiphon.history.encoding import store_item
from antiphon.protocol.events import Event
from antiphon.protocol.items.messages import Reasoning
from antiphon.protocol.requests import TranslatedRequest
from antiphon.protocol.response import Response
from antiphon.recording.facts import ResponseOrigin, facts_of
from antiphon.recording.persistence import Recorder
from antiphon.runs.agentic_turn import AgenticTurn
from antiphon.runs.failures import failure_of, log_failure
from antiphon.runs.parts import RunParts
from antiphon.runs.phases import ANNOUNCED, OVER, Phase, Steered, Stop, StopReason
from antiphon.runs.plan import ResumeState, RunPlan
from antiphon.runs.request_builder import RequestBuilder
from antiphon.runs.server_steps import created_items
from antiphon.runs.step_loop import StepLoop
from antiphon.runs.steps import FinishRun
from antiphon.runs.turn import Turn
from antiphon.storage.records.facts import Facts
from antiphon.storage.records.responses import StoredItem
from antiphon.telemetry.observers import CacheStatus, ResponseRecord
from antiphon.translation.stop_sequences import StopSequences
from antiphon.translation.to_chat_completions.reuse import Fingerprint
from antiphon.translation.tool_mapping.offering import NOTHING
from antiphon.translation.wire import Finish, conclude
from antiphon.translation.writer import ResponseWriter
from antiphon.upstream.backend_state import ModelTarget

KEEPALIVE_AFTER = 60.0
"""Seconds of silence after which a `keepalive` event follows, for clients with a timer
between events (Codex).
"""


class Run(StepLoop):
    """A running response. Iterate `events`, or await `result`; only one of the two,
    and only once.
    """

    def __init__(self, plan: RunPlan, parts: RunParts) -> None:
        self._recorder = plan.recorder
        # No reference from these back to the run: all of a request is freed when it ends,
        # without garbage collection.
        route = plan.route
        tenant = plan.context.tenant
        keyring = parts.keyring
        writer = ResponseWriter(
            plan.response,
            parts.new_id,
            parts.now,
            lambda state: keyring.seal({**origin_tag(route.target), **state}, tenant),
            plan.view,
            loads_later=True,
            containers=plan.containers,
        )
        if isinstance(plan.request, TranslatedRequest) and plan.request.stop:
            writer.stops = StopSequences(plan.request.stop)
        # The observers receive functions instead of values, because the output does not exist yet.
        record = ResponseRecord(
            plan.response,
            route.target,
            lambda: writer.output,
            is_stream=plan.is_stream,
            ignored_tools=plan.ignored_tools,
            tenant=tenant,
        )
        super().__init__(plan, parts, writer, turn_of(plan, lambda: created_items(writer)), record)
        self.origin: ResponseOrigin | None = None
        """Its origin, for its facts; None if facts are not stored."""
        self._has_facts = False
        if plan.resume is not None:
            self._resume(plan.resume)

    def _resume(self, resume: ResumeState) -> None:
        self.record.is_background = True
        self.record.is_resumed = not resume.begins
        self._writer.resume(resume.stored, resume.next_number, resume.settled)
        self._writer.sealed.update(resume.sealed)
        self._enter(Phase.STREAMING)
        if resume.begins:
            self._writer.begin()

    # Its state, as others see it.

    @property
    def sealed(self) -> Mapping[str, str]:
        """Each reasoning item's `encrypted_content` so far, by the item's id."""
        return self._writer.sealed

    @property
    def response(self) -> Response:
        """The response in its current state."""
        return self._writer.response

    @property
    def backend(self) -> str:
        """The label, for clients, of the backend that is called, or that answered."""
        target = self.plan.route.target if self._cache is None else self.target
        return target.state.label

    @property
    def cache(self) -> CacheStatus | None:
        """The result of the cache lookup; None if the cache is not used, or the lookup
        is in progress.
        """
        return self._cache.outcome if self._cache else None

    @property
    def similarity(self) -> float | None:
        """The similarity (cosine) of the cached question to this one, if it is not identical."""
        return self._cache.similarity if self._cache else None

    @property
    def target(self) -> ModelTarget:
        """The backend and model that are called, or that answered."""
        return (self._cache.target if self._cache else None) or self.plan.route.target

    @property
    def prompt(self) -> Fingerprint | None:
        """The prompt that was sent last, if prompts are compared."""
        return self._requesting.prompt

    @property
    def stop_sequence(self) -> str | None:
        """The stop sequence of the request before which the text ended."""
        return self._writer.stopped_by

    @property
    def is_over(self) -> bool:
        """Whether the end of the response is decided."""
        return self.phase in OVER

    async def chain_items(self) -> list[StoredItem]:
        """Return the items with which a following response begins, as they are stored."""
        work = self.context.work_with_chain
        return await self._offload(work, self._chain_items, work)

    def _chain_items(self, size: int) -> list[StoredItem]:
        sealed = self._writer.sealed
        output: Any = self._writer.response.output  # each item is a struct, and has an id
        return [
            *[store_item(item, size=size) for item in self.plan.items],
            *[store_item(item, sealed.get(item.id), size) for item in output],
        ]

    # What others can request of it.

    def keepalive_events(self) -> list[Event]:
        """Return the events to send after a silence: the beginning of the response,
        else a keep-alive.
        """
        if self.is_over:
            return []
        if not self._start():
            self._writer.keepalive()
        return self._drain()

    def remaining_events(self) -> list[Event]:
        """Return the events that were not read, of a response that ended early."""
        return self._writer.take()

    def append_event(self, event: Event) -> list[Event]:
        """Add an event of the client that requested the response to its stream; return the events
        to send now.
        """
        self._writer.emit(event)
        return self._drain()

    def leave_out_error(self) -> None:
        """Report a failure by `response.failed` alone."""
        self._writer.reports_error = False

    def warm_up(self) -> None:
        """Call no model: the response ends at once."""
        self._start()
        self._turn.answered(Finish("completed", None))

    def steer(self) -> None:
        """Stop at the next clean point: at once in a text or in reasoning, not at all once
        a call began.
        """
        self._interrupt(
            Stop(StopReason.STEERED, interrupts=self._can_be_cancelled and not self._has_calls)
        )

    def stop(self, error: AntiphonError) -> None:
        """Make the response fail with this error, as soon as possible; has no effect once its
        end is decided.
        """
        self._interrupt(Stop(StopReason.SHUTDOWN, error, interrupts=self._can_be_cancelled))

    @property
    def _can_be_cancelled(self) -> bool:
        """Whether its task is generating the answer: not sending a batch, closing a failed step or
        storing the end.
        """
        is_apart = self.phase is Phase.EMITTING or self._is_closing or self.is_over
        return self._task is not None and not is_apart

    def _interrupt(self, stop: Stop) -> None:
        """Record why it stops, and cancel its task once; the shutdown of the
        process takes precedence.
        """
        before = self.stop_cause
        if before is not None and before.reason is StopReason.SHUTDOWN:
            return
        was_cancelled = before is not None and before.interrupts
        if stop.interrupts and not was_cancelled and self._task is not None:
            self._task.cancel()
        self.stop_cause = replace(stop, interrupts=stop.interrupts or was_cancelled)

    def spent(self) -> SpentTokens:
        """Return the tokens used: as reported, else estimated from the texts."""
        return self._requesting.spent()

    # How it ends.

    def _fail(self, error: BaseException) -> None:
        """End with an error, or stopped early.

        Raises errors that the client does not receive as an event.
        """
        stop = self.stop_cause
        try:
            if isinstance(error, asyncio.CancelledError):
                if (
                    stop is None
                    or not stop.interrupts
                    or self._task is None
                    or self._task.uncancel()
                ):
                    raise error
                error = stop.error or Steered()
            if isinstance(error, Steered):  # open items are already closed as incomplete
                self._start()
                conclude(self._writer, Finish("steered", self._turn.usage))
            elif isinstance(error, Exception) and self.phase in ANNOUNCED:
                self._writer.fail(reportable(error), self._turn.usage)
            else:
                raise error
        finally:
            del error  # the raised error refers to this frame, and so to all of the request

    def _note_failure(self, error: Exception) -> None:
        """Record the error that the client receives instead of a response."""
        self.record.failure = failure_of(error)
        # Any other is a fault, which `reportable` logs; a stop has a reason of its own.
        if isinstance(error, AntiphonError) and self.stop_cause is None:
            log_failure(error)

    async def _end(self, step: FinishRun | None) -> list[Event]:
        """Store the response, then emit its end: as the turn decided, unless it has failed."""
        if step is not None:
            # Nothing was sent: the failure is the HTTP reply, and nothing
            # of the response is stored.
            if step.ending.error is not None and self.phase is Phase.PENDING and not self.is_stream:
                raise step.ending.error
            # Both add to the response object, so they come before its last snapshot.
            if Reasoning in self.context.items.kinds:
                self._note_removed(step)
            if self.plan.diagnoses:
                await self._diagnose(step)
            # A turn can end without a call of the model, after too many repetitions:
            # the stream still begins.
            if self.is_stream and self.phase is Phase.PENDING:
                self._start()
            conclude(self._writer, step.ending)
        # From here on no stop has an effect: what is stored and what is sent are the same end.
        is_announced = self.phase in ANNOUNCED
        self._enter(Phase.FINISHING)
        writer = self._writer
        # The end can be taken back to this number: its events are not sent before
        # the store has them.
        before = writer.take()
        number = writer.next_number
        if self._cache is not None:
            self._cache.see(before)
        writer.end()
        batch = [*before, *writer.take()] if writer.has_reader else before
        if self._recorder is not None:
            # In the same transaction as the response, so that lists and figures
            # never contradict it.
            if self.origin is not None:
                self._note_facts(self._recorder)
            try:
                await self._recorder.save(writer.response, writer.sealed, batch)
            except AntiphonError as error:
                # The client must not receive `completed` for a response that it cannot retrieve:
                # it fails instead.
                await self._recorder.drop()
                if not is_announced:
                    raise
                writer.continue_at(number)
                writer.fail(error, writer.response.usage)
                writer.end()
                return before + writer.take()
        # Last: other requests can find this answer as soon as the cache has it.
        if self._cache is not None:
            record = self.record
            target = self.plan.route.target
            await self._cache.end(
                writer.response, writer.sealed, target, record.ignored_tools, record.adjusted
            )
        return batch

    async def _diagnose(self, step: FinishRun) -> None:
        """Compare the prompt with that of the response that the request names."""
        from antiphon.runs.cache_diagnostics import diagnose  # noqa: PLC0415 - few requests ask for it

        parts = self._parts
        writer = self._writer
        prompt = self._requesting.prompt
        store = parts.store
        usage = step.ending.usage
        found = await diagnose(
            store, parts.prompts, self.plan, self.target, prompt, writer.response, usage
        )
        writer.applied = {**writer.applied, "prompt_cache_diagnostics": found}

    def _note_removed(self, step: FinishRun) -> None:
        """Report the reasoning of the request that the model did not receive."""
        from antiphon.runs.input_transformations import Replay, input_transformations  # noqa: PLC0415 - few requests have any

        plan = self.plan
        writer = self._writer
        builder = self._turn.builder
        reasoning = plan.request.reasoning
        context = reasoning.context if reasoning else None
        replay = Replay(self.target, builder.api, plan.unseal, context, step.ending.removed)
        removed = input_transformations(self.context.input, builder.items, replay)
        if removed is not None:
            writer.applied = {**writer.applied, "input_transformations": removed}

    async def _close(self) -> None:
        """Release everything, however it ended."""
        self._parts.process.runs.discard(self)
        if self.context.memory is not None:
            self.context.release()
        if self._cache is not None:
            self._cache.leave()
        try:
            if self.phase not in OVER:
                await self._give_up()
        finally:
            if self._turn.steps is not None:
                self._turn.steps.close()
            self._enter(Phase.ENDED)
            self._hand_over()

    async def _give_up(self) -> None:
        """The client disconnected, or the response failed: store the items so far, as cancelled."""
        is_announced = self.phase in ANNOUNCED
        self._enter(Phase.FINISHING)
        recorder = self._recorder
        response = self._writer.response
        if not is_announced or response.status != "in_progress":
            if recorder is not None:
                await recorder.drop()
            return
        self._writer.cancel(self._turn.usage)
        if recorder is not None and self.origin is not None:
            self._note_facts(recorder)
        is_final = recorder is None or await recorder.leave(
            self._writer.response, self._writer.sealed
        )
        self.stop_cause = Stop(StopReason.DISCONNECTED if is_final else StopReason.HANDED_ON)

    def _hand_over(self) -> None:
        """Fill in the record how it ended, and pass it on."""
        record = self.record
        response = self._writer.response
        stop = self.stop_cause
        if self._writer.error is not None and record.failure is None and stop is None:
            log_failure(self._writer.error)
        status = "refused" if response.status == "in_progress" else response.status
        record.response = response
        record.outcome = (
            "queued" if stop is not None and stop.reason is StopReason.HANDED_ON else status
        )
        record.target = target = self.plan.route.target
        record.model = target.name
        record.notes = self._writer.notes
        if self._cache is not None:
            record.target = self.target
            record.cache = self.cache
        for hand_over in self._parts.observers.ended:
            hand_over(record)
        if self.origin is not None and self._parts.facts is not None and self._misses_facts:
            self._parts.facts.add(self._facts(self.origin))

    # For lists and timelines.

    def _note_facts(self, recorder: Recorder) -> None:
        """Store facts with the response."""
        if self.origin is not None:
            recorder.facts = self._facts(self.origin)
            self._has_facts = True

    def facts_so_far(self) -> Facts | None:
        """Return its current facts, if facts of it are stored."""
        if self.origin is None:
            return None
        writer = self._writer
        now = self._parts.now()
        facts = facts_of(
            self.origin,
            writer.response,
            self.context.input,
            now,
            self.record,
            moments=writer.moments,
        )
        return replace(facts, status="in_progress", ended=None, error="")

    def _facts(self, origin: ResponseOrigin) -> Facts:
        record = self.record
        record.target = self.target
        if self._cache is not None:
            record.cache = self.cache
        writer = self._writer
        costs = self._requesting.costs
        usage = writer.response.usage
        if usage is None or costs.unreported or costs.described is not None:
            usage = costs.counted(self._turn.usage)
        return facts_of(
            origin,
            writer.response,
            self.context.input,
            self._parts.now(),
            record,
            usage,
            None if record.target.prices is None else self._cost(record.target),
            writer.moments,
            is_estimated=costs.unreported != [],
        )

    def _cost(self, target: ModelTarget) -> int:
        """Return the cost of the response; `spent` has that of this attempt."""
        earlier = self._turn.earlier
        return self.spent().cost + (cost_of(target, earlier) if earlier else 0)

    @property
    def _misses_facts(self) -> bool:
        """Whether its facts are stored separately.

        The process that ends a background response stores its facts.
        """
        is_stored = self._has_facts and self._recorder is not None and self._recorder.facts is None
        return not (is_stored or self.record.is_background)


def turn_of(plan: RunPlan, created: Callable[[], Sequence[Any]]) -> Turn:
    """Return the turn of a response: one model call, unless the plan requires more.

    `created` returns its items so far.
    """
    supported = plan.tools.supported if plan.tools else NOTHING
    before = len(plan.context.history)
    builder = RequestBuilder(
        plan.request, plan.items, before, plan.route.target, plan.unseal, supported
    )
    if plan.warms:
        from antiphon.runs.prewarm import WarmingTurn  # noqa: PLC0415 - few requests only fill a cache

        return WarmingTurn(builder)
    if plan.tools is None and not plan.compacts:
        return Turn(builder)
    return AgenticTurn(builder, plan, created)
