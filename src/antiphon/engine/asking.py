"""How one response asks its backends: within a slot, and where one fails before it said anything, another instead.

Of a question's outcome `turn.py` hears the end, the writer the answer, the observers all.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from antiphon.engine.failures import read_failure
from antiphon.engine.history import Context
from antiphon.engine.models import Target
from antiphon.engine.observers import Call, Observer
from antiphon.engine.routing.router import Route, chains_of
from antiphon.engine.routing.verdict import Failure, unanswered
from antiphon.engine.routing.waits import wait_of
from antiphon.engine.steps import AskAside, CallModel
from antiphon.engine.tokens import Tokens
from antiphon.engine.tools import IGNORED, look_at_tools, plain_types
from antiphon.engine.turn import RENAMES, Turn
from antiphon.errors import AntiphonError, BackendError
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import Tool
from antiphon.protocol.validation.call_rules import call_ids
from antiphon.translation.dialects import Api
from antiphon.translation.from_chat.answer import AnswerReader, AnswerStream
from antiphon.translation.from_chat.reader import ChatStream, Ending
from antiphon.translation.from_responses.reader import ResponsesStream
from antiphon.translation.to_chat.request import output_cap
from antiphon.translation.writer import ResponseWriter
from antiphon.upstream.backend import Reply

if TYPE_CHECKING:
    from antiphon.engine.run import Run

MAX_ERROR_BODY = 1024 * 1024
"""Bytes of a backend's error that are read."""

PATHS: Mapping[Api, str] = {"chat": "/chat/completions", "responses": "/responses"}
"""Where each API is asked."""

JSON_TYPES = {"application/json", "text/json"}

_encode = msgspec.json.Encoder().encode


class Answer:
    """An answer of the model while it is read: the client's, or one that the turn asked for aside."""

    def __init__(self, call: Call, writer: ResponseWriter, stream: AnswerStream, reply: Reply) -> None:
        self.call = call
        self.writer = writer
        self.stream = stream
        self.reader = AnswerReader(stream, is_json=reply.content_type in JSON_TYPES)
        self.parts = aiter(reply.body)
        self.tokens = Tokens(reply, self.reader)
        self.has_begun = False
        self.is_broken = False
        """It did not come to its end."""
        self._said = writer.newest
        reply.has_begun = lambda: not self.is_silent

    @property
    def is_silent(self) -> bool:
        """Whether nothing came of it yet."""
        return self.writer.newest == self._said


class Asking:
    """All questions of one response, the run's, along one route.

    open(step) ──> read(answer) as long as there is one ──> close()    for each step that asks
    """

    def __init__(
        self,
        request: CreateResponse,
        context: Context,
        turn: Turn,
        writer: ResponseWriter,
        route: Route,
        observers: Observer,
        served: Collection[type[Tool]],
    ) -> None:
        self._served = served
        self._items = context.items
        self._turn = turn
        self._writer = writer
        self._route = route
        self._observers = observers
        self._call_ids = call_ids(context.items)
        self._request = request
        self._chains = [*chains_of(request, context.tenant), f"{context.tenant}\0{writer.response.id}"]
        self._stream: AnswerStream | None = None
        """The newest answer that is the client's."""
        self._call: Call | None = None
        """What is asked, while it is."""
        self._reply: Reply | None = None
        self._answer: Answer | None = None
        self.uncounted: list[Mapping[str, Any]] = []
        """The questions of whose tokens the backend said nothing: in its answer, or since nobody waited for one."""

    @property
    def target(self) -> Target:
        """Where the model is asked."""
        return self._route.target

    @property
    def has_calls(self) -> bool:
        """Whether the answer that is being read holds a call."""
        return self._stream is not None and self._stream.has_calls

    def choose(self) -> None:
        """Take who is best now: since the request came, others did too."""
        self._route.renew()
        self._follow()

    async def open(self, run: "Run", step: CallModel | AskAside) -> Answer | None:
        """Ask the backend for the run; return its answer, to be read. None: the turn knows what to do instead."""
        if self._route.turns_aside():
            self._follow()
            return None
        try:
            await self._route.enter()
        except AntiphonError as error:
            self._turn.failed(error)
            return None
        call = self._call = Call(run, self.target, step.body)
        self._observers.asked(call)
        try:
            reply = self._reply = await call.target.backend.post(PATHS[step.api], _encode(step.body))
        except AntiphonError as error:
            call.error = error
            if not self._moves_on(unanswered(error), error):
                self._turn.failed(error)
            return None
        if reply.status >= 400:
            await self._refused(reply, step.api, call)
            return None
        self._tell_tools(run, step.api, reply)
        writer = self._writer if isinstance(step, CallModel) else self._writer.aside()
        self._answer = Answer(call, writer, self._stream_of(writer, step), reply)
        return self._answer

    def _tell_tools(self, run: "Run", api: Api, reply: Reply) -> None:
        """Note which tools are left out: here, or by another Antiphon that is asked."""
        told = plain_types(reply.headers.get(IGNORED, ""))
        run.ignored_tools = told or look_at_tools(self._request, self._items, api, self._served, refuses=False)

    async def read(self, answer: Answer) -> Answer | None:
        """Take the answer's next part; return it if there may be more. In the end the turn is told."""
        try:
            async for part in answer.parts:
                self._hear(answer, part)
                if answer.reader.is_over:
                    break
                if not answer.is_silent:
                    answer.tokens.look()
                return answer
        except BackendError as error:
            answer.is_broken = True
            answer.reader.fail(error)
        self._answer = None
        self._conclude(answer)
        return None

    async def close(self) -> None:
        """Leave the backend. An answer that was not read to its end is closed as incomplete, to be kept."""
        answer, self._answer = self._answer, None
        reply, self._reply = self._reply, None
        call, self._call = self._call, None
        try:
            if answer is not None:
                self._turn.left(self._end(answer).usage)
            if reply is not None:
                await reply.close()
            elif call is not None and call.error is None:
                self.uncounted.append(call.body)
        finally:
            self._route.leave()
            if call is not None:
                self._observers.answered(call)

    def _stream_of(self, writer: ResponseWriter, step: CallModel | AskAside) -> AnswerStream:
        stream = self._responses(writer) if step.api == "responses" else self._chat(writer, step)
        if isinstance(step, CallModel):
            self._stream = stream
        return stream

    def _responses(self, writer: ResponseWriter) -> AnswerStream:
        return ResponsesStream(writer, call_ids=self._call_ids, only_one=self._request.parallel_tool_calls is False)

    def _chat(self, writer: ResponseWriter, step: CallModel | AskAside) -> AnswerStream:
        return ChatStream(
            writer,
            offers=step.toolbox.offers,
            allowed=step.allowed,
            call_ids=self._call_ids | (step.call_ids if isinstance(step, CallModel) else frozenset()),
            only_one=self._request.parallel_tool_calls is False,
            hosted_left=step.hosted_left if isinstance(step, CallModel) else 0,
            sources=step.sources if isinstance(step, CallModel) else None,
            preopened=self.target.preopened,
            needs_reason=not self.target.dialect.ends_without_finish_reason,
            cap=output_cap(step.body),
        )

    def _hear(self, answer: Answer, part: bytes) -> None:
        if not answer.has_begun:
            answer.has_begun = True
            self._observers.spoke(answer.call)
        answer.reader.feed(part)

    def _conclude(self, answer: Answer) -> None:
        ending = self._end(answer)
        call = answer.call
        call.ending, call.error, call.has_calls = ending, ending.error, answer.stream.has_calls
        if self._settles(answer, ending.error):
            items = [] if answer.writer is self._writer else answer.writer.output
            self._turn.answered(ending, items, is_silent=answer.is_silent)
            self.target.preopened = answer.stream.preopened

    def _end(self, answer: Answer) -> Ending:
        ending = answer.reader.finish()
        if ending.usage is None:
            self.uncounted.append(answer.call.body)
        return ending

    # What follows from a failure.

    async def _refused(self, reply: Reply, api: Api, call: Call) -> None:
        """The backend answered 400 or above: another is asked, or the turn finds a way, or that was it."""
        status, headers = reply.status, reply.headers
        call.error = BackendError(f"The model backend answered with status {status}.", status=status)
        body = await read_error(reply)
        error = read_failure(status, headers, body, self.target.model, RENAMES[api])
        if not self._moves_on(Failure(status, error.code, wait_of(headers, error.message)), error):
            self._turn.refused(status, headers, body)

    def _settles(self, answer: Answer, error: AntiphonError | None) -> bool:
        """Return whether this answer counts; one that failed before it said anything may be had from another."""
        if error is None:
            self._route.answered(*self._chains)
            return True
        if answer.is_silent and self._turn.asks_plainly():
            return False
        status = 0 if answer.is_broken else error.status
        failure = Failure(status, error.code, wait_of({}, error.message), is_broken=answer.is_broken)
        if answer.is_silent:
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


async def read_error(reply: Reply) -> bytes:
    """Return the body of a backend's error; nothing where it breaks off or has no end, for the status says enough."""
    try:
        return await reply.read(MAX_ERROR_BODY)
    except BackendError:
        return b""
