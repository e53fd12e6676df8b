"""The loop of a run: performs the turn's decisions, step by step, and yields events as they occur.

A streamed request reads `StepLoop.events`; a plain one awaits `StepLoop.result`, which performs the same steps and
ignores the events, so the two cannot differ. `Run` decides how a response ends; each delta passes only this file.
"""

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
from antiphon.runs.steps import AttachFiles, AuxiliaryCall, CallModel, FinishRun, ListTools, RunTools, Step
from antiphon.runs.turn import Turn
from antiphon.telemetry.observers import ResponseRecord
from antiphon.translation.to_chat_completions.adjustments import applied
from antiphon.translation.wire import Finish
from antiphon.translation.writer import ResponseWriter

P = ParamSpec("P")
T = TypeVar("T")

LARGE_ANSWER = 128 * 1024
"""Bytes of an answer, or of one event, above which the answer is checked in a thread."""

MODEL_CALLS = (CallModel, AuxiliaryCall)


class StepLoop(ABC):
    """Runs one response, in this order: steps of the turn, `_fail` after an error, `_end`, `_close`."""

    def __init__(
        self, plan: RunPlan, parts: RunParts, writer: ResponseWriter, turn: Turn, record: ResponseRecord
    ) -> None:
        self.plan = plan
        self.context = plan.context
        """The context from which the response started."""
        self._is_small = not plan.context.is_large and plan.context.prefix is None
        """Whether all of it was translated here."""
        self._is_checked_beside = False
        """Whether an answer was so large that the next step is decided in a thread."""
        self.is_stream = plan.is_stream
        """Whether the response is a stream of events."""
        self.record = record
        self.phase = Phase.PENDING
        self.stop_cause: Stop | None = None
        self._parts = parts
        self._cache = plan.cache
        self._frames = plan.recorder if plan.recorder is not None and plan.recorder.sees_events else None
        self._writer = writer
        self._turn = turn
        self._asking = ModelCaller(plan, turn, writer, parts)
        self._own: ServerSteps | None = None
        """Performs the steps that call no model; None until one occurs."""
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
        """End with an error, or stopped early. Raises errors that the client does not receive as an event."""

    @abstractmethod
    async def _end(self, step: FinishRun | None) -> list[Event]:
        """Store the response, then emit its end: as the turn decided, unless it has failed."""

    @abstractmethod
    async def _close(self) -> None:
        """Release everything, however it ended."""

    async def result(self) -> Response:
        """Run the response and return it. Raises `AntiphonError` if it failed."""
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
                    step = self._turn.next() if self._is_small else await self._next()
            except BaseException as error:
                await self._close_step()
                self._fail(error)
                step = None
            await self._end(step)
        finally:
            await self._close()
        return self._writer.response

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Run the response; yield its events in batches as they occur. The last batch is yielded once it is durable.

        Raises `AntiphonError` until an event was yielded, afterwards every failure is an event. A request without a
        stream yields no event before it is known to succeed. Closing the iterator early ends the backend's work.
        """
        self._begin()
        try:
            try:
                if self._writer.pending:
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
                        if self.phase is Phase.STREAMING and self._writer.pending:
                            self.phase = Phase.EMITTING  # once per batch: the condition above is the check
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
        kept = await self._cache.find() if self._cache is not None else None
        if kept is None:
            self._asking.choose()
            return self._turn.next() if self._is_small else await self._next()
        self.record.ignored_tools, self.record.adjusted = kept.ignored_tools, kept.adjusted
        self._writer.applied = applied(self._writer.response, kept.adjusted, kept.effort)
        if self.is_stream:
            self._start()
        replay_answer(kept, self._writer)
        return FinishRun(Finish("completed", kept.usage))

    async def _next(self) -> Step:
        """Return the next step, decided in a thread if the conversation takes a while to translate."""
        if not (self.context.is_translated_beside or self._is_checked_beside):
            return self._turn.next()
        return await self._beside(self._turn.next)

    async def _beside(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function that processes large data, in a thread."""
        return await self._parts.offload.run(self.context.tenant, function, *args, **kwargs)

    async def _begin_step(self, step: Step) -> None:
        """Begin the turn's decision; `_continue_step` does the rest."""
        if isinstance(step, MODEL_CALLS):
            self._answer = await self._asking.open(self.record, step)
            if self._answer is None:
                await self._asking.close()
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
            self._parts.attachments.get(), self.plan.request, self.context, builder.items, builder.files, step
        )
        self._is_small = self._is_small and not self.context.is_large

    async def _continue_step(self) -> bool:
        """Continue the step until there may be events to send; return whether more work remains."""
        answer = self._answer
        if answer is None:
            return self._own is not None and await self._own.proceed()
        if self.stop_cause is not None:
            self._check_steered()
        try:
            if answer.is_plain:
                await self._asking.read_whole(answer)
            elif (part := await anext(answer.parts, None)) is not None:
                reader = answer.reader
                if answer.is_checked:
                    answer.size += len(part)
                    answer.unread += len(part)
                if answer.unread <= LARGE_ANSWER:
                    reader.feed(part)
                else:
                    await self._beside(reader.feed, part)
                if not answer.has_begun and answer.writer.newest != answer.before:
                    answer.has_begun = True
                    answer.upstream.spoke()
                if not reader.is_over:
                    if reader.chunks != answer.seen:
                        answer.seen, answer.last_chunk_at, answer.unread = reader.chunks, answer.clock(), 0
                    else:
                        answer.check_silence()
                    return True
        except BackendError as error:
            answer.is_broken = True
            answer.reader.fail(error)
        self._answer = None
        if answer.is_checked and answer.size > LARGE_ANSWER:
            self._is_small, self._is_checked_beside = False, True
            await self._beside(answer.finish)
        self._asking.conclude(answer)
        await self._asking.close()
        return False

    async def _close_step(self) -> None:
        """Close a step before it is done. A stop that arrives meanwhile has no effect: the failure is reported."""
        self._answer, self._is_closing = None, True
        try:
            if self._own is not None:
                await self._own.close()
            await self._asking.close()
        finally:
            self._is_closing = False

    def _server_steps(self) -> ServerSteps:
        parts = self._parts
        return ServerSteps(
            self.plan, self._turn, self._writer, self.record, parts.observers, parts.keyring, parts.offload
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
        return self._asking.has_calls or bool(self._writer.waiting or open_calls(self._writer.output))

    def _check_stopped(self) -> None:
        """Raise the error of a stop that arrived while the reader was processing a batch."""
        if self.stop_cause is not None and self.stop_cause.error is not None:
            raise self.stop_cause.error

    def _check_steered(self) -> None:
        if self.stop_cause is not None and self.stop_cause.reason is StopReason.STEERED and not self._has_calls:
            raise Steered

    def _answering(self, step: CallModel | AuxiliaryCall) -> None:
        """A backend answers: a stream starts now, and a compaction is announced."""
        if self.is_stream and self.phase is Phase.PENDING:
            self._start()
        if isinstance(step, AuxiliaryCall) and step.compacts and self._own is not None:
            self._own.begin_compaction()

    def _enter(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(f"A response cannot change from {self.phase.value} to {phase.value}.")
        self.phase = phase

    def _start(self) -> bool:
        """Announce the response, unless that was done; return whether it was done now."""
        if self.phase is not Phase.PENDING:
            return False
        self._enter(Phase.STREAMING)
        self._writer.start()
        return True
