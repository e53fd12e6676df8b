"""How one response asks its backends: within a slot, and where one fails before it said anything, another instead.

Of a question's outcome `turn.py` hears the end, the writer the answer, the observers all.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from antiphon.backends.base import Reply
from antiphon.engine.failures import read_failure
from antiphon.engine.models import Target
from antiphon.engine.observers import Observer
from antiphon.engine.routing.router import Route, chains_of
from antiphon.engine.routing.verdict import Failure
from antiphon.engine.routing.waits import wait_of
from antiphon.engine.turn import AskAside, CallModel, Turn
from antiphon.errors import AntiphonError, BackendError
from antiphon.protocol.calls import call_ids
from antiphon.protocol.requests import CreateResponse
from antiphon.stream.answer import AnswerReader
from antiphon.stream.chat import ChatStream, Ending
from antiphon.stream.writer import ResponseWriter

if TYPE_CHECKING:
    from antiphon.engine.run import Run

MAX_ERROR_BODY = 1024 * 1024
"""Bytes of a backend's error that are read."""

JSON_TYPES = {"application/json", "text/json"}

_encode = msgspec.json.Encoder().encode


class Asking:
    """All questions of one response, the run's, along one route."""

    def __init__(
        self, run: "Run", request: CreateResponse, turn: Turn, writer: ResponseWriter, route: Route, observers: Observer
    ) -> None:
        self._run = run
        self._turn = turn
        self._writer = writer
        self._route = route
        self._observers = observers
        self._call_ids = call_ids(run.context.items)
        self._only_one = request.parallel_tool_calls is False
        tenant = run.context.tenant
        self._chains = [*chains_of(request, tenant), f"{tenant}\0{writer.response.id}"]
        self._chat: ChatStream | None = None
        self._failure: AntiphonError | None = None
        """How the last answer ended, where it failed."""
        self.uncounted: list[dict[str, Any]] = []
        """The questions that were answered, and of whose tokens the backend said nothing."""

    @property
    def target(self) -> Target:
        """Where the model is asked."""
        return self._route.target

    @property
    def has_calls(self) -> bool:
        """Whether the answer that is being read holds a call."""
        return self._chat is not None and self._chat.has_calls

    def choose(self) -> None:
        """Take who is best now: since the request came, others did too."""
        self._route.renew()
        self._follow()

    async def ask(self, step: CallModel | AskAside) -> AsyncGenerator[None, None]:
        """Ask the backend once, and translate its answer. Gives a moment once it answers, then for each part of it.

        A backend that fails in silence leaves the turn to ask again, by then elsewhere.
        """
        backend = self.target.backend
        async with self._route.hold():
            self._observers.asked(self._run, backend.name)
            self._failure = None
            try:
                reply = await backend.post("/chat/completions", _encode(step.body))
            except AntiphonError as error:
                self._observers.answered(self._run, backend.name, error)
                if not self._moves_on(Failure(0), error):
                    self._turn.failed(error)
                return
            try:
                if reply.status >= 400:
                    await self._refused(reply)
                    return
                yield
                async with aclosing(self._read(reply, step)) as moments:
                    async for _ in moments:
                        yield
            finally:
                await reply.close()
                self._observers.answered(self._run, backend.name, self._failure)

    async def _read(self, reply: Reply, step: CallModel | AskAside) -> AsyncGenerator[None, None]:
        writer = self._writer if isinstance(step, CallModel) else self._writer.aside()
        said = writer.newest
        chat = self._stream(writer, step)
        answer = AnswerReader(chat, is_json=reply.content_type in JSON_TYPES)
        is_broken, is_silent = False, True
        try:
            async for part in reply.body:
                if is_silent:
                    is_silent = False
                    self._observers.spoke(self._run, self.target.backend.name)
                answer.feed(part)
                if answer.is_over:
                    break
                yield
        except BackendError as error:
            is_broken = True
            answer.fail(error)
        except BaseException:
            # The client went away, or steers: what was said so far is closed as incomplete, to be kept.
            left = answer.finish()
            self._turn.left(left.usage)
            self._count(step, left)
            raise
        ending = answer.finish()
        self._count(step, ending)
        self._failure = ending.error
        is_silent = writer.newest == said
        if self._settles(ending.error, is_silent=is_silent, is_broken=is_broken):
            items = [] if isinstance(step, CallModel) else writer.output
            self._turn.answered(ending, items, is_silent=is_silent)
            self.target.preopened = chat.preopened

    def _count(self, step: CallModel | AskAside, ending: Ending) -> None:
        if ending.usage is None:
            self.uncounted.append(step.body)

    def _stream(self, writer: ResponseWriter, step: CallModel | AskAside) -> ChatStream:
        chat = ChatStream(
            writer,
            offers=step.toolbox.offers,
            allowed=step.allowed,
            call_ids=self._call_ids,
            only_one=self._only_one,
            preopened=self.target.preopened,
            needs_reason=not self.target.dialect.ends_without_finish_reason,
        )
        if isinstance(step, CallModel):
            self._chat = chat
        return chat

    # What follows from a failure.

    async def _refused(self, reply: Reply) -> None:
        """The backend answered 400 or above: another is asked, or the turn finds a way, or that was it."""
        status, headers = reply.status, reply.headers
        self._failure = BackendError(f"The model backend answered with status {status}.", status=status)
        body = await reply.read(MAX_ERROR_BODY)
        error = read_failure(status, headers, body, self.target.model)
        if not self._moves_on(Failure(status, error.code, wait_of(headers, error.message)), error):
            self._turn.refused(status, headers, body)

    def _settles(self, error: AntiphonError | None, *, is_silent: bool, is_broken: bool) -> bool:
        """Return whether this answer counts; one that failed before it said anything may be had from another."""
        if error is None:
            self._route.answered(*self._chains)
            return True
        failure = Failure(0 if is_broken else error.status, error.code, wait_of({}, error.message))
        if is_silent:
            return not self._moves_on(failure, error)
        self._route.broke(failure, error)
        return True

    def _moves_on(self, failure: Failure, error: AntiphonError) -> bool:
        """The backend failed before it said anything; return whether the question goes to another."""
        moves = self._route.moves_on(failure, error)
        if moves:
            self._follow()
        return moves

    def _follow(self) -> None:
        """Say which model answers: it may be one in the place of another (`fallback`)."""
        self._turn.target = self.target
        self._writer.response.model = self.target.name
