"""The loop of a run: performs the turn's decisions, step by step, and yields events as they occur.

Theory of operation.

Three parts work on a response. The turn (`turn.py`) decides the next step and never waits. The loop
performs the step and decides nothing. The writer (`translation/writer.py`) makes numbered events of
all output, and keeps them until the loop takes them. `Run` completes the loop: what others can
request of a response, and how it ends.

    step = turn.next()                 a thread decides it, if the conversation is large
    begin the step                     waits for a slot, for a backend to accept, for a file
    repeat:
        yield the writer's events      the reader sends them, while this generator is suspended
        continue the step              waits for the next part of the answer, for a tool
    until the step is done; then the next step, until `FinishRun`
    `_fail` after an error ──> `_end` stores, then emits the end ──> `_close` on every path

A stream reads `events`. A plain request awaits `result`: the same steps, and no events unless the
cache needs them.

The phase (`phases.py`) says what a failure can still become, and who holds the task.

- PENDING: nothing was sent, so a failure is raised and becomes an HTTP status. This is why a step
  begins before the response is announced. A keep-alive ends this phase early if the client has
  waited for long. A plain response stays in it to its end.
- STREAMING: the client has the first event, so a failure is an event. The task awaits a backend, a
  tool or the store.
- EMITTING: exactly while the generator is suspended at a `yield`. The task executes the reader's
  code, such as a write to a slow socket. A cancellation would cut an event in half, so a stop only
  sets its cause, and the loop looks at that after the `yield`.
- FINISHING, ENDED: the end is decided. Whatever arrives now changes nothing.

A run ends early for one reason at most (`StopReason`):

    the process shuts down     the task is cancelled, and the error takes the place of the cancellation
    the client steers          the same, or at the next part of the answer; never once the output contains a call, since
                               a call without its result could not be continued
    the client disconnects     the generator is closed, or the task cancelled from outside: not our stop, so `_fail`
                               raises it again, and `_close` stores the items so far as cancelled
    another worker owns it     the recorder or the worker cancels the task, and the items remain for the other worker

What holds always:

- Every batch passes the cache and the recorder before the client. The last batch is yielded once it
  is durable.
- A step that has begun is closed before the response ends. No stop cancels that: the first failure
  is the one that is reported.
- Work on a large conversation or a large answer is done in a thread (`Offload.run`). `_is_small`
  saves a small request the call that decides that: it pays one comparison.
"""  # noqa: E501 - a table, a diagram or an example

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, ParamSpec, TypeVar

from antiphon.cache.cached_answer import replay_answer
from antiphon.errors import AntiphonError, BackendError
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.protocol.validation.call_rules import open_calls
from antiphon.runs.model_calls import ModelCaller, ModelStream
from antiphon.runs.parts import RunParts
from antiphon.runs.phases import TRANSITIONS, Phase, Steered, Stop, StopReason
from antiphon.runs.plan import RunPlan
from antiphon.runs.server_steps import ServerSteps
from antiphon.runs.steps import (
    AttachFiles,
    AuxiliaryCall,
    CallModel,
    FinishRun,
    ListTools,
    RunTools,
    Step,
)
from antiphon.runs.turn import Turn
from antiphon.sizes import LARGE
from antiphon.telemetry.observers import ResponseRecord
from antiphon.translation.to_chat_completions.adjustments import applied
from antiphon.translation.wire import Finish
from antiphon.translation.writer import ResponseWriter

P = ParamSpec("P")
T = TypeVar("T")

ANSWER = 2
"""Bytes of an answer, or of one event, that are checked in the time of a byte of a request."""

LARGE_ANSWER = LARGE * ANSWER
"""Bytes of an answer, or of one event, above which the answer is checked in a thread."""

MODEL_CALLS = (CallModel, AuxiliaryCall)


class StepLoop(ABC):
    """Runs one response, in this order: steps of the turn, `_fail` after
    an error, `_end`, `_close`.
    """

    def __init__(
        self,
        plan: RunPlan,
        parts: RunParts,
        writer: ResponseWriter,
        turn: Turn,
        record: ResponseRecord,
    ) -> None:
        self.plan = plan
        self.context = plan.context
        """The context from which the response started."""
        self._is_small = plan.context.work <= LARGE and plan.context.prefix is None
        """Whether every next step was decided on the event loop."""
        self._checked = 0
        """Bytes of JSON that take as long as the largest answer that was checked."""
        self.is_stream = plan.is_stream
        """Whether the response is a stream of events."""
        self.record = record
        self.phase = Phase.PENDING
        self.stop_cause: Stop | None = None
        self._parts = parts
        self._cache = plan.cache
        # A recorder that needs no events, or receives them elsewhere, is not on the path
        # of a batch.
        self._frames = (
            plan.recorder if plan.recorder is not None and plan.recorder.sees_events else None
        )
        self._writer = writer
        self._turn = turn
        self._requesting = ModelCaller(plan, turn, writer, parts)
        self._own: ServerSteps | None = None
        """Performs the steps that call no model; None until one occurs."""
        # Before its first step: an internal call of the model can already announce a compaction.
        if turn.steps is not None:
            self._own = self._server_steps()
        self._task: asyncio.Task[Any] | None = None
        self._answer: ModelStream | None = None
        """The answer that is being read."""
        self._is_closing = False
        """A failed step is being closed: no stop cancels that."""

    @abstractmethod
    def stop(self, error: AntiphonError) -> None:
        """Make the response fail with this error, as soon as possible."""

    @abstractmethod
    def _fail(self, error: BaseException) -> None:
        """End with an error, or stopped early.

        Raises errors that the client does not receive as an event.
        """

    @abstractmethod
    def _note_failure(self, error: Exception) -> None:
        """Record the error that the client receives instead of a response."""

    @abstractmethod
    async def _end(self, step: FinishRun | None) -> list[Event]:
        """Store the response, then emit its end: as the turn decided, unless it has failed."""

    @abstractmethod
    async def _close(self) -> None:
        """Release everything, however it ended."""

    async def result(self) -> Response:
        """Run the response and return it. Raises `AntiphonError` if it failed."""
        # The request has `stream`, but its caller wants the response alone: the same path,
        # without a reader.
        if self.is_stream:
            async with aclosing(self.events()) as batches:
                async for _ in batches:
                    pass
            return self._writer.response
        # No client reads events here. They are built only for the cache, from which a later stream
        # can replay them.
        self._writer.has_reader = self._cache is not None
        self._begin()
        try:
            try:
                step = await self._first_step()
                while not isinstance(step, FinishRun):
                    await self._begin_step(step)
                    while await self._continue_step():
                        if self._cache is not None:
                            self._drain()
                    step = self._turn.next() if self._is_small else await self._next()
            except (
                BaseException
            ) as error:  # also a cancellation: `_fail` knows whether a stop caused it
                await self._close_step()
                self._fail(error)
                step = None
            # Not inside: if the end cannot be stored, no step has failed, and `_end`
            # knows what follows.
            await self._end(step)
        except Exception as error:
            self._note_failure(error)
            raise
        finally:
            await self._close()
        return self._writer.response

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Run the response; yield its events in batches as they occur.

        The last batch is yielded once it is durable.

        Raises `AntiphonError` until an event was yielded, afterwards every failure is an event. A
        request without a stream yields no event before it is known to succeed. Closing the iterator
        early ends the backend's work.
        """
        self._begin()
        try:
            try:
                # Only a response that was queued has events before its first step:
                # it was announced then.
                if self._writer.pending:
                    self._enter(Phase.EMITTING)
                    yield self._drain()
                    self._enter(Phase.STREAMING)
                    if self.stop_cause is not None:
                        self._check_stopped()
                # Found once, since each delta passes here: a batch that no cache and no recorder
                # needs costs one call.
                writer = self._writer
                is_unseen = self._cache is None and self._frames is None
                step = await self._first_step()
                while not isinstance(step, FinishRun):
                    await self._begin_step(step)
                    goes_on = True
                    while goes_on:
                        # What exists is sent before the loop waits for more; while PENDING, the
                        # step can still fail.
                        if self.phase is Phase.STREAMING and self._writer.pending:
                            self.phase = (
                                Phase.EMITTING
                            )  # once per batch: the condition above is the check
                            yield writer.take() if is_unseen else self._drain()
                            self.phase = Phase.STREAMING
                            if self.stop_cause is not None:
                                self._check_stopped()
                        goes_on = await self._continue_step()
                    step = self._turn.next() if self._is_small else await self._next()
            except BaseException as error:
                await self._close_step()
                self._fail(error)
                step = None
            yield await self._end(step)
        except Exception as error:
            self._note_failure(error)
            raise
        finally:
            await self._close()

    def _begin(self) -> None:
        if self._task is not None:
            raise RuntimeError("A response can run only once.")
        self._task = asyncio.current_task()
        self._parts.process.runs.add(self)
        self.record.began = time.monotonic()
        if self._parts.facts is not None and (self.is_stream or self.record.is_background):
            self._writer.moments = []  # an answer that arrives whole has no moments
        for hand_over in self._parts.observers.began:
            hand_over(self.record)

    async def _first_step(self) -> Step:
        """Return the first step; `FinishRun` if the answer is in the cache."""
        stored = await self._cache.find() if self._cache is not None else None
        if stored is None:
            self._requesting.choose()
            return self._turn.next() if self._is_small else await self._next()
        self.record.ignored_tools = stored.ignored_tools
        self.record.adjusted = stored.adjusted
        self._writer.applied = applied(self._writer.response, stored.adjusted, stored.effort)
        if self.is_stream:
            self._start()
        replay_answer(stored, self._writer)
        return FinishRun(Finish("completed", stored.usage))

    async def _next(self) -> Step:
        """Return the next step, which translates the conversation."""
        work = max(self.context.work_with_chain, self._checked)
        return await self._offload(work, self._turn.next)

    async def _offload(
        self, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """See `Offload.run`."""
        return await self._parts.offload.run(self.context.tenant, size, function, *args, **kwargs)

    async def _begin_step(self, step: Step) -> None:
        """Begin the turn's decision; `_continue_step` does the rest."""
        if isinstance(step, MODEL_CALLS):
            self._answer = await self._requesting.open(self.record, step)
            if self._answer is None:
                await self._requesting.close()
            elif self.is_stream or isinstance(step, AuxiliaryCall):
                self._answering(step)
        elif isinstance(step, AttachFiles):
            await self._attach(step)
        else:
            if self.is_stream and isinstance(step, ListTools | RunTools):
                self._start()
            self._own = self._own or self._server_steps()
            await self._own.begin(step)

    async def _attach(self, step: AttachFiles) -> None:
        """Read the files of the conversation that the backend needs in this form."""
        from antiphon.history.attachments import attach  # noqa: PLC0415 - few requests have files

        builder = self._turn.builder
        builder.files = await attach(
            self._parts.attachments.get(),
            self.plan.request,
            self.context,
            builder.items,
            builder.files,
            step,
        )
        self._is_small = self._is_small and self.context.work <= LARGE

    async def _continue_step(self) -> bool:
        """Continue the step until there may be events to send; return whether more work remains."""
        answer = self._answer
        if answer is None:
            return self._own is not None and await self._own.proceed()
        # Between two parts of an answer nothing is half read: here the client can steer.
        if self.stop_cause is not None:
            self._check_steered()
        try:
            if answer.is_plain:
                await self._requesting.read_whole(answer)
            elif (part := await anext(answer.parts, None)) is not None:
                reader = answer.reader
                # A search for calls and a check against a schema process an event at once: a large
                # one would hold the event loop, so a thread feeds it.
                if answer.is_checked:
                    answer.size += len(part)
                    answer.unread += len(part)
                # Compared here: each delta of a stream would pay for a call.
                if answer.unread <= LARGE_ANSWER:
                    reader.feed(part)
                else:
                    await self._offload(answer.unread // ANSWER, reader.feed, part)
                # The time to the first token is that of the first output, not of the first bytes.
                if not answer.has_begun and answer.writer.newest != answer.before:
                    answer.has_begun = True
                    answer.upstream.spoke()
                if not reader.is_over:
                    # Comments and empty lines keep a connection open, although the model is stuck:
                    # only chunks count.
                    if reader.chunks != answer.seen:
                        answer.seen, answer.last_chunk_at, answer.unread = (
                            reader.chunks,
                            answer.clock(),
                            0,
                        )
                    else:
                        answer.check_silence()
                    return True
        except BackendError as error:
            # What arrived before counts: its items are closed, and the turn decides between a
            # failure and a failover.
            answer.is_broken = True
            answer.reader.fail(error)
        # The end releases the text that was held back, so it can be as much work
        # as all parts together.
        self._answer = None
        if answer.is_checked and answer.size > LARGE_ANSWER:
            self._is_small = False
            self._checked = max(self._checked, answer.size // ANSWER)
            await self._offload(self._checked, answer.finish)
        # In this order: an answer that is closed without a conclusion counts as abandoned.
        self._requesting.conclude(answer)
        await self._requesting.close()
        return False

    async def _close_step(self) -> None:
        """Close a step before it is done.

        A stop that arrives meanwhile has no effect: the failure is reported.
        """
        self._answer = None
        self._is_closing = True
        try:
            if self._own is not None:
                await self._own.close()
            await self._requesting.close()
        finally:
            self._is_closing = False

    def _server_steps(self) -> ServerSteps:
        parts = self._parts
        return ServerSteps(
            self.plan,
            self._turn,
            self._writer,
            self.record,
            parts.observers,
            parts.keyring,
            parts.offload,
        )

    def _drain(self) -> list[Event]:
        """Return the events to send now."""
        batch = self._writer.take()
        if self._cache is not None:
            self._cache.see(batch)
        if self._frames is not None:
            self._frames.see(batch)
        return batch

    @property
    def _has_calls(self) -> bool:
        return self._requesting.has_calls or bool(
            self._writer.waiting or open_calls(self._writer.output)
        )

    def _check_stopped(self) -> None:
        """Raise the error of a stop that arrived while the reader was processing a batch."""
        if self.stop_cause is not None and self.stop_cause.error is not None:
            raise self.stop_cause.error

    def _check_steered(self) -> None:
        if (
            self.stop_cause is not None
            and self.stop_cause.reason is StopReason.STEERED
            and not self._has_calls
        ):
            raise Steered

    def _answering(self, step: CallModel | AuxiliaryCall) -> None:
        """A backend answers: a stream starts now, and a compaction is announced."""
        if self.is_stream and self.phase is Phase.PENDING:
            self._start()
        if isinstance(step, AuxiliaryCall) and step.compacts and self._own is not None:
            self._own.begin_compaction()

    def _enter(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(
                f"A response cannot change from {self.phase.value} to {phase.value}."
            )
        self.phase = phase

    def _start(self) -> bool:
        """Announce the response, unless that was done; return whether it was done now."""
        if self.phase is not Phase.PENDING:
            return False
        self._enter(Phase.STREAMING)
        self._writer.start()
        return True
