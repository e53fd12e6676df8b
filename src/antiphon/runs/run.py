"""Performs what the turn decides: awaits the backend and the store, and hands out events as they are made.

A streamed request reads `Run.events`; a plain one awaits `Run.result`, which takes the same steps and looks at no
event, so the two cannot disagree. `phases.py` says how far it can be.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from antiphon.access.unseal import origin_tag
from antiphon.cache.cached_answer import retell
from antiphon.errors import AntiphonError, reportable
from antiphon.protocol.events import Event
from antiphon.protocol.items.messages import ID_PREFIXES
from antiphon.protocol.response import Response, Usage
from antiphon.protocol.validation.call_rules import open_calls
from antiphon.runs.agentic_turn import decide
from antiphon.runs.chain_cache import WITH_STATE
from antiphon.runs.context import store_item
from antiphon.runs.model_calls import ModelCaller, ModelStream
from antiphon.runs.persistence import stored_output
from antiphon.runs.phases import ANNOUNCED, OVER, TRANSITIONS, Phase, Steered, Stop, StopReason
from antiphon.runs.plan import ResumeState, RunPlan
from antiphon.runs.services import Services
from antiphon.runs.steps import (
    AuxiliaryCall,
    CallModel,
    Compact,
    FinishRun,
    ListTools,
    RunTools,
    Settle,
    Step,
    Tell,
)
from antiphon.runs.tool_calls import ToolExecutor
from antiphon.storage.contract import StoredItem
from antiphon.telemetry.observers import CacheStatus, ResponseRecord, ToolUse
from antiphon.translation.from_chat.answer import conclude
from antiphon.translation.from_chat.reader import Finish
from antiphon.translation.items import StreamingCompaction
from antiphon.translation.to_chat.estimate import asked_tokens, tokens_of
from antiphon.translation.writer import ResponseWriter
from antiphon.upstream.backend_state import Target

MODEL_CALLS = (CallModel, AuxiliaryCall)


class Run:
    """One response being made. Iterate `events`, or await `result`; once, and one of the two."""

    def __init__(self, plan: RunPlan, services: Services) -> None:
        self.plan = plan
        self.context = plan.context
        """What the response started from."""
        self.is_stream = plan.is_stream
        """Whether the response is a stream of events."""
        self.phase = Phase.PENDING
        self.stop_cause: Stop | None = None
        self._services = services
        self._recorder = plan.recorder
        self._cache = plan.cache
        self._frames = plan.recorder if plan.recorder is not None and plan.recorder.sees_events else None
        self._task: asyncio.Task[Any] | None = None
        self._answer: ModelStream | None = None
        """The answer that is being read."""
        self._moments: AsyncGenerator[None, None] | None = None
        """This server's tools at work."""
        self._compaction: StreamingCompaction | None = None
        # Nothing of these refers back to the run: all of a request is freed when it ends, without the collector.
        route, tenant, keyring = plan.route, plan.context.tenant, services.keyring
        self._writer = writer = ResponseWriter(
            plan.response,
            services.new_id,
            services.now,
            lambda state: keyring.seal({**origin_tag(route.target), **state}, tenant),
            plan.view,
        )
        self._turn = decide(plan, lambda: [_with_state(item, writer.sealed) for item in writer.made])
        self._asking = ModelCaller(plan, self._turn, writer, services.observers)
        self._executor: ToolExecutor | None = None
        self.record = ResponseRecord(
            plan.response,
            route.target,
            lambda: writer.output,
            is_stream=plan.is_stream,
            ignored_tools=plan.ignored_tools,
        )
        if plan.resume is not None:
            self._resume(plan.resume)

    def _resume(self, resume: ResumeState) -> None:
        self.record.is_background, self.record.is_resumed = True, not resume.begins
        self._writer.resume(resume.kept, resume.next_number, resume.settled)
        self._writer.sealed.update(resume.sealed)
        self._enter(Phase.STREAMING)
        if resume.begins:
            self._writer.begin()

    # What it is, as others see it.

    @property
    def ignored_tools(self) -> Sequence[str]:
        """Types of tools that the model is not offered, since only a server can run them."""
        return self.record.ignored_tools

    @property
    def sealed(self) -> Mapping[str, str]:
        """Each reasoning item's `encrypted_content` so far, by the item's id."""
        return self._writer.sealed

    @property
    def response(self) -> Response:
        """The response as it stands."""
        return self._writer.response

    @property
    def backend(self) -> str:
        """The label under which clients see the backend that is called, or that answered."""
        target = self.plan.route.target if self._cache is None else self.target
        return target.state.label

    @property
    def cache(self) -> CacheStatus | None:
        """What the cache was to this response; None where it has no part in it, or is still being asked."""
        return self._cache.outcome if self._cache else None

    @property
    def similarity(self) -> float | None:
        """How much the question that was answered is like this one (cosine), where it is not the same."""
        return self._cache.similarity if self._cache else None

    @property
    def target(self) -> Target:
        """Where the model is that is asked, or that answered."""
        return (self._cache.target if self._cache else None) or self.plan.route.target

    def spent(self) -> tuple[int, int]:
        """Return the tokens in and out that it took: as they were reported, else as many as the texts look like."""
        usage = self._turn.own_usage or Usage()
        output = 0 if self._turn.own_usage else tokens_of({"messages": to_builtins(self._writer.output)}, priming=0)
        unreported = self._asking.uncounted
        if not unreported:
            return usage.input_tokens, usage.output_tokens
        return usage.input_tokens + sum(map(asked_tokens, unreported)), usage.output_tokens + output

    @property
    def is_over(self) -> bool:
        """Whether it is decided how the response ends."""
        return self.phase in OVER

    @property
    def chain_items(self) -> list[StoredItem]:
        """Everything that a response which follows this one begins with, as it is kept."""
        return [*map(store_item, self.plan.items), *stored_output(self._writer.response, self._writer.sealed)]

    # What others may have it do.

    def heartbeat(self) -> list[Event]:
        """Return the events to send after a silence: the beginning of the response, else a keep-alive."""
        if self.is_over:
            return []
        if not self._start():
            self._writer.keepalive()
        return self._drain()

    def append_event(self, event: Event) -> list[Event]:
        """Put an event of the client that asked for the response into its stream; return what to send now."""
        self._writer.emit(event)
        return self._drain()

    def leave_out_error(self) -> None:
        """Report a failure by `response.failed` alone."""
        self._writer.tells_error = False

    def warm_up(self) -> None:
        """Ask no model: the response ends at once."""
        self._start()
        self._turn.answered(Finish("completed", None))

    def steer(self) -> None:
        """Stop short as soon as nothing is torn: at once in a text or in reasoning, not at all once a call began."""
        self._interrupt(Stop(StopReason.STEERED, interrupts=self._can_be_cancelled and not self._has_calls))

    def stop(self, error: AntiphonError) -> None:
        """Have the response fail with this error, as soon as possible; one whose end is decided ends as it does."""
        self._interrupt(Stop(StopReason.SHUTDOWN, error, interrupts=self._can_be_cancelled))

    @property
    def _can_be_cancelled(self) -> bool:
        """Whether its task is making the answer, and neither sends a batch nor stores the end."""
        return self._task is not None and self.phase is not Phase.EMITTING and not self.is_over

    def _interrupt(self, stop: Stop) -> None:
        """Remember why it stops, and cancel its task once; the end of the process comes before everything else."""
        before = self.stop_cause
        if before is not None and before.reason is StopReason.SHUTDOWN:
            return
        was_cancelled = before is not None and before.interrupts
        if stop.interrupts and not was_cancelled and self._task is not None:
            self._task.cancel()
        self.stop_cause = replace(stop, interrupts=stop.interrupts or was_cancelled)

    # Making it.

    async def result(self) -> Response:
        """Make the response and return it. Raises `AntiphonError` where it failed."""
        if self.is_stream:
            async with aclosing(self.events()) as batches:
                async for _ in batches:
                    pass
            return self._writer.response
        self._writer.is_heard = self._cache is not None
        self._begin()
        try:
            try:
                step = await self._first_step()
                while not isinstance(step, FinishRun):
                    await self._begin_step(step)
                    while await self._continue_step():
                        if self._cache is not None:
                            self._drain()
                    step = self._turn.next()
            except BaseException as error:
                await self._close_step()
                self._fail(error)
                step = None
            await self._end(step)
        finally:
            await self._close()
        return self._writer.response

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Make the response; give its events in batches as they come. The last batch is given once it is durable.

        Raises `AntiphonError` as long as no event was given, afterwards every failure is an event. A plain
        request gives no event before it is known to succeed. Closing the iterator early ends the backend's work.
        """
        self._begin()
        try:
            try:
                if self._writer.has_pending:
                    self._enter(Phase.EMITTING)
                    yield self._drain()
                    self._enter(Phase.STREAMING)
                    if self.stop_cause is not None:
                        self._check_stopped()
                writer, is_unseen = self._writer, self._cache is None and self._frames is None
                step = await self._first_step()
                while not isinstance(step, FinishRun):
                    await self._begin_step(step)
                    goes_on = True
                    while goes_on:
                        if self.phase is Phase.STREAMING and self._writer.has_pending:
                            self.phase = Phase.EMITTING  # once a batch: the condition is the check
                            yield writer.take() if is_unseen else self._drain()
                            self.phase = Phase.STREAMING
                            if self.stop_cause is not None:
                                self._check_stopped()
                        goes_on = await self._continue_step()
                    step = self._turn.next()
            except BaseException as error:
                await self._close_step()
                self._fail(error)
                step = None
            yield await self._end(step)
        finally:
            await self._close()

    def _begin(self) -> None:
        if self._task is not None:
            raise RuntimeError("A response is made once.")
        self._task = asyncio.current_task()
        self._services.runs.add(self)
        self.record.began = time.monotonic()
        for hand_over in self._services.observers.began:
            hand_over(self.record)

    async def _first_step(self) -> Step:
        """Return what is to be done first; all is done where the answer is kept in the cache."""
        kept = await self._cache.find() if self._cache is not None else None
        if kept is None:
            self._asking.choose()
            return self._turn.next()
        self.record.ignored_tools = kept.ignored_tools
        if self.is_stream:
            self._start()
        retell(kept, self._writer)
        return FinishRun(Finish("completed", kept.usage))

    async def _begin_step(self, step: Step) -> None:
        """Begin what the turn decided; `_continue_step` does the rest."""
        if isinstance(step, MODEL_CALLS):
            self._answer = await self._asking.open(self.record, step)
            if self._answer is None:
                await self._asking.close()
            elif self.is_stream or isinstance(step, AuxiliaryCall):
                self._answering(step)
        elif isinstance(step, ListTools | RunTools):
            if self.is_stream:
                self._start()
            self._executor = executor = self._executor or self._tools()
            if isinstance(step, ListTools):
                self._moments = executor.list_tools(step)
            else:
                self._moments = executor.execute(self.record, step)
            await self._continue_step()
        else:
            self._perform(step)

    async def _continue_step(self) -> bool:
        """Go on with the step until there may be something to send; return whether there is more of it."""
        if self._answer is not None:
            if self.stop_cause is not None:
                self._check_steered()
            self._answer = await self._asking.read(self._answer)
            if self._answer is not None:
                return True
            await self._asking.close()
        elif self._moments is not None:
            async for _ in self._moments:
                return True
            self._moments = None
            if self._executor is not None and self._executor.is_late:
                self._turn.is_late()
        return False

    async def _close_step(self) -> None:
        """The step ends before it was done."""
        moments, self._moments, self._answer = self._moments, None, None
        if moments is not None:
            await moments.aclose()
        await self._asking.close()

    def _drain(self) -> list[Event]:
        """Return the events that go out now."""
        batch = self._writer.take()
        if self._cache is not None:
            self._cache.see(batch)
        if self._frames is not None:
            self._frames.see(batch)
        return batch

    def _tools(self) -> ToolExecutor:
        plan, writer, items = self.plan, self._writer, self.plan.items
        return ToolExecutor(
            plan,
            writer,
            self._services.observers,
            lambda: [*items, *(_with_state(item, writer.sealed) for item in writer.made)],
        )

    @property
    def _has_calls(self) -> bool:
        return self._asking.has_calls or bool(self._writer.waiting or open_calls(self._writer.output))

    def _check_stopped(self) -> None:
        """Raise the error of a stop that came while the reader had a batch in hand."""
        if self.stop_cause is not None and self.stop_cause.error is not None:
            raise self.stop_cause.error

    def _check_steered(self) -> None:
        if self.stop_cause is not None and self.stop_cause.reason is StopReason.STEERED and not self._has_calls:
            raise Steered

    def _perform(self, step: Step) -> None:
        """Do what the turn decided, where nothing is awaited."""
        match step:
            case Tell(item):
                use = ToolUse(self.record, "tool_search", "datastore")
                for hand_over in self._services.observers.used:
                    hand_over(use)
                item = replace(item, id=self._writer.new_id(ID_PREFIXES[type(item)]))
                self._writer.close_item(self._writer.open_item(replace(item, status="in_progress")), item)
                for hand_over in self._services.observers.returned:
                    hand_over(use)
            case Settle(call, text):
                call.settle(text)
            case Compact(summary):
                compaction = self._compaction or StreamingCompaction(self._writer)
                compaction.close(self._services.keyring.seal({"summary": summary}, self.plan.context.tenant))

    def _answering(self, step: CallModel | AuxiliaryCall) -> None:
        """A backend answers: from now on a stream is a stream, and what is compacted is being so."""
        if self.is_stream and self.phase is Phase.PENDING:
            self._start()
        if isinstance(step, AuxiliaryCall) and step.compacts:
            self._compaction = self._compaction or StreamingCompaction(self._writer)

    # Its phases.

    def _enter(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(f"A response cannot go from {self.phase.value} to {phase.value}.")
        self.phase = phase

    def _start(self) -> bool:
        """Announce the response, unless that was done; return whether it was done now."""
        if self.phase is not Phase.PENDING:
            return False
        self._enter(Phase.STREAMING)
        self._writer.start()
        return True

    def _fail(self, error: BaseException) -> None:
        """It ends with an error, or is cut short. Raises what is not for the client to see as an event."""
        stop = self.stop_cause
        if isinstance(error, asyncio.CancelledError):
            if stop is None or not stop.interrupts or self._task is None or self._task.uncancel():
                raise error
            error = stop.error or Steered()
        if isinstance(error, Steered):  # what was open is closed as incomplete already
            self._start()
            conclude(self._writer, Finish("steered", self._turn.usage))
        elif isinstance(error, Exception) and self.phase in ANNOUNCED:
            self._writer.fail(reportable(error), self._turn.usage)
        else:
            raise error

    async def _end(self, step: FinishRun | None) -> list[Event]:
        """Make the response durable, then emit its end: as the turn decided, unless it has failed."""
        if step is not None:
            if step.ending.error is not None and self.phase is Phase.PENDING and not self.is_stream:
                raise step.ending.error
            conclude(self._writer, step.ending)
        is_announced = self.phase in ANNOUNCED
        self._enter(Phase.FINISHING)
        writer = self._writer
        before, number = writer.take(), writer.next_number
        if self._cache is not None:
            self._cache.see(before)
        writer.end()
        batch = before + writer.take()
        if self._recorder is not None:
            try:
                await self._recorder.keep(writer.response, writer.sealed, batch)
            except AntiphonError as error:
                await self._recorder.drop()
                if not is_announced:
                    raise
                writer.rewind(number)
                writer.fail(error, writer.response.usage)
                writer.end()
                return before + writer.take()
        if self._cache is not None:
            await self._cache.end(writer.response, writer.sealed, self.plan.route.target, self.record.ignored_tools)
        return batch

    async def _close(self) -> None:
        """Release everything, however it ended."""
        self._services.runs.discard(self)
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
        """The client disconnected, or nothing came of it: keep what there is, as cancelled."""
        is_announced = self.phase in ANNOUNCED
        self._enter(Phase.FINISHING)
        recorder, response = self._recorder, self._writer.response
        if not is_announced or response.status != "in_progress":
            if recorder is not None:
                await recorder.drop()
            return
        self._writer.cancel(self._turn.usage)
        is_final = recorder is None or await recorder.leave(self._writer.response, self._writer.sealed)
        self.stop_cause = Stop(StopReason.DISCONNECTED if is_final else StopReason.HANDED_ON)

    def _hand_over(self) -> None:
        """Fill in the record how it ended, and hand it over."""
        record, response, stop = self.record, self._writer.response, self.stop_cause
        status = "refused" if response.status == "in_progress" else response.status
        record.response = response
        record.outcome = "queued" if stop is not None and stop.reason is StopReason.HANDED_ON else status
        record.target = target = self.plan.route.target
        record.model = target.name
        if self._cache is not None:
            record.target, record.cache = self.target, self.cache
        for hand_over in self._services.observers.ended:
            hand_over(record)


def _with_state(item: Any, sealed: Mapping[str, str]) -> Any:
    """Return an item with what is sealed with it, whether or not the client sees that."""
    blob = sealed.get(str(item.id)) if isinstance(item, WITH_STATE) else None
    return replace(item, encrypted_content=blob) if blob else item
