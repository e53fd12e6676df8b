"""Runs the handler of an agent for one response, and reads what it emits.

The handler is a task of its own; `events` is its reader, and the recorder is the reader of that. So
the events of an agent take the same way into the log as those of a model, and the same rules hold
for what a reader sees after a crash.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

from antiphon.access.spending import NOTHING_SPENT, SpentTokens
from antiphon.agents.approvals import ClientQuestions
from antiphon.agents.calls import AgentCalls
from antiphon.agents.context import AgentContext
from antiphon.agents.errors import AgentError, StepFailed
from antiphon.agents.forks import await_without_forks
from antiphon.agents.inheritance import AgentInput, body_without_input, item_of
from antiphon.agents.journal import NO_INPUT, REQUESTED, Journal
from antiphon.agents.keys import Scope, current
from antiphon.agents.observed import ObservedAttempt
from antiphon.agents.output import AgentOutput
from antiphon.agents.pause import RunPause
from antiphon.agents.recorder import AgentRecorder
from antiphon.agents.registration import Agent
from antiphon.agents.results import encoded
from antiphon.agents.steps import Steps
from antiphon.agents.tools import AgentTools
from antiphon.errors import AntiphonError, StoreError, log
from antiphon.history.context import Context
from antiphon.jobs.parts import JobParts
from antiphon.protocol.events import Event
from antiphon.protocol.requests import CreateResponse
from antiphon.recording.facts import ResponseOrigin, facts_of
from antiphon.storage.records.jobs import Job
from antiphon.storage.records.steps import StepState
from antiphon.telemetry.observers import AgentAttempt
from antiphon.translation.writer import ResponseWriter

CLEAN_UP = 5.0
"""Seconds that a cancelled handler has; then it is abandoned, and its writes are refused."""


class AgentRun:
    """One attempt of an agent to compute a response. Iterate `events` once."""

    def __init__(
        self,
        parts: JobParts,
        agent: Agent,
        job: Job,
        request: CreateResponse,
        begun: AgentInput,
        context: Context,
        writer: ResponseWriter,
        journal: Journal,
        recorder: AgentRecorder,
        origin: ResponseOrigin | None,
    ) -> None:
        self._parts = parts
        self._agent = agent
        self._job = job
        self._writer = writer
        self._journal = journal
        self._recorder = recorder
        self._origin = origin
        self._news = asyncio.Event()
        self._error: AntiphonError | None = None
        self._store_error: StoreError | None = None
        self._handler: asyncio.Task[None] | None = None
        self.context = context
        now = parts.run.now
        tenant = context.tenant
        self._pause = RunPause(
            self._news.set, lambda: self._handler is not None and self._handler.done()
        )
        created = writer.response.created_at
        self._observed = ObservedAttempt(
            parts.run.observers,
            AgentAttempt(
                agent.name,
                job.response.id,
                job.attempt,
                job.crashes > 0,
                max(0.0, now() - created),
            ),
        )
        self._steps = Steps(
            *(journal, recorder, self._pause, self._now, begun.run_id),
            self._end_attempt,
            self._observed,
        )
        self._output = AgentOutput(
            writer,
            journal,
            parts.run.new_id,
            self._now,
            self._news.set,
            recorder.add_item,
            recorder.flush,
            lambda: journal.is_closed or self._context.shutdown.is_set(),
            self._pause,
            partial(item_of, parts, tenant),
        )
        self._questions = ClientQuestions(
            agent.name,
            journal,
            self._pause,
            recorder,
            begun.answers,
            parts.run.new_id,
            self._now,
            is_stored=request.store is not False,
        )
        view = {"include": request.include} if request.include else {}
        self._calls = AgentCalls(
            parts,
            tenant,
            recorder.key_id,
            view,
            journal,
            self._steps,
            self._output,
            self._now,
        )
        tools = AgentTools(parts.run, context, journal, self._steps, self._output, self._now)
        if (first := journal.begin(self._now())) is not None:
            recorder.ride(first.key)
        self._context = AgentContext(
            begun,
            tenant,
            job.attempt,
            (journal, self._steps, self._output, self._calls, tools, self._questions),
            now,
        )

    @property
    def sealed(self) -> Mapping[str, str]:
        """See `RecordedRun`."""
        return self._writer.sealed

    def spent(self) -> SpentTokens:
        """See `RecordedRun`. Calls of models are charged when each ends."""
        return NOTHING_SPENT

    def keepalive_events(self) -> list[Event]:
        """See `RecordedRun`."""
        self._writer.keepalive()
        return self._writer.take()

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """See `RecordedRun`. Raises `StoreError` if the store failed in a step."""
        self._handler = handler = asyncio.create_task(self._handle())
        handler.add_done_callback(lambda _: self._news.set())
        status = "left"
        try:
            while not (handler.done() or self._pause.is_over):
                await self._news.wait()
                self._news.clear()
                if batch := self._writer.take():
                    yield batch
            if self._store_error is not None:
                raise self._store_error
            if self._pause.is_over:
                await self._stop(handler)
                self._emit_questions()
            else:
                if handler.cancelled():  # by its own code: all else that cancels it is above
                    self._error = self._failed(asyncio.CancelledError("it cancelled itself"))
                await self._end_once_steps()
            self._leave()
            batch = await self._end()
            status = self._writer.response.status
            yield batch
        finally:
            self._context.shutdown.set()
            self._pause.close()
            if not self._pause.is_over:
                await self._stop(handler)
            self._leave()
            await self._recorder.close()
            self._observed.end(status)
            self.context.release()

    def _end_attempt(self, error: StoreError) -> None:
        """Cancel the handler; its response stays unfinished, for a later attempt."""
        self._store_error = error
        self._context.shutdown.set()
        if self._handler is not None:
            self._handler.cancel()

    async def _end_once_steps(self) -> None:
        """Wait for steps with `once=True` that the handler did not wait for."""
        if running := self._steps.at_most_once:
            await asyncio.wait(running, timeout=CLEAN_UP)

    def _leave(self) -> None:
        """Refuse what the handler left running: its tasks and threads."""
        self._journal.is_closed = True
        self._context.threads.close()

    async def _handle(self) -> None:
        """Run the handler, and emit its answer; note the error with which it fails."""
        current.set(Scope())
        self._observed.begin()
        limit = asyncio.timeout(self._time_left())
        try:
            async with limit:
                answer = await await_without_forks(self._agent.handler(self._context))
                await self._answer(answer)
        except TimeoutError as error:
            self._error = self._timed_out() if limit.expired() else self._failed(error)
        except AgentError as error:
            self._error = error
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a SystemExit would end the worker, with all its responses
            self._error = self._failed(error)
        self._error = self._error or self._journal.full  # a handler can catch it, and continue
        if not self._pause.is_over and (unused := self._journal.unused()):
            log.warning(
                "The agent %s did not ask for %d steps of an earlier attempt again, first %s.",
                self._agent.name,
                len(unused),
                unused[0],
            )

    async def _answer(self, answer: Any) -> None:
        if answer is None:
            return
        text = answer if isinstance(answer, str) else encoded(answer, "the answer").decode()
        async with self._output.message("answer") as message:
            await message.write(text)

    def _emit_questions(self) -> None:
        """Emit the questions of a handler that waits, with what a later response continues."""
        self._error = self._pause.error
        if self._error is not None:
            return
        for question in self._pause.questions:
            self._output.emit_question(question, self._questions.note)
        if not self._journal.is_continued:
            now, body = self._now(), body_without_input(self._job.request)
            self._journal.put(REQUESTED, NO_INPUT, StepState.DONE, body, now, now)
            self._recorder.ride(REQUESTED)

    def _time_left(self) -> float:
        """Return the seconds left, of those for all attempts together."""
        began = self._journal.began
        used = 0.0 if began is None else self._parts.run.now() - began / 1000
        return max(0.0, self._agent.timeout - used)

    def _timed_out(self) -> AgentError:
        return AgentError(
            f"The agent has not answered within {self._agent.timeout:g} seconds.",
            code="agent_timeout",
        )

    def _failed(self, error: BaseException) -> AgentError:
        """Return what the client receives: not the text of an error that was not made for it."""
        cause = error if not isinstance(error, StepFailed) else error.__context__ or error
        log.error("The agent %s failed: %s", self._agent.name, error, exc_info=cause)
        return AgentError("The agent failed.")

    async def _end(self) -> list[Event]:
        writer = self._writer
        if self._error is None:
            writer.complete(self._calls.usage)
        else:
            writer.fail(self._error, self._calls.usage)
        before = writer.take()
        writer.end()
        batch = [*before, *writer.take()]
        if self._origin is not None:
            now = self._parts.run.now()
            facts = facts_of(
                self._origin,
                writer.response,
                self.context.input,
                now,
                cost=self._calls.cost or None,
            )
            self._recorder.facts = facts
        await self._recorder.save(writer.response, writer.sealed, batch)
        return batch

    def _now(self) -> int:
        return int(self._parts.run.now() * 1000)

    async def _stop(self, handler: "asyncio.Task[None]") -> None:
        """Cancel a handler that still runs. Wait for it, and for what runs at most once; not for
        code that ignores it.
        """
        if not handler.done():
            handler.cancel()
        left = {handler, *self._steps.at_most_once}
        _, left = await asyncio.wait(left, timeout=CLEAN_UP)
        if left:
            name = self._agent.name
            log.warning("The agent %s ignores that it was cancelled; it is abandoned.", name)
