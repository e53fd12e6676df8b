"""The turn machine: what to do next for one response. It decides, `step_loop.py` does.

CallModel ── refused(error) ──> CallModel, without the parameter or with less history
     └────── answered(ending) ──> Finish

`agentic_turn.py` has the turns that do more than that.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.access.unseal import state_origin
from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import ConfigurationUpdate, InputItem, ItemList
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Response, Usage
from antiphon.protocol.tools import Tool
from antiphon.runs.corrections import Corrected, corrections, question, text_check
from antiphon.runs.loops import STOPPED, nudged
from antiphon.runs.steps import AuxiliaryCall, CallModel, FinishRun, ModelResult, Step, Steps
from antiphon.runs.truncate import drop_oldest, thin_out
from antiphon.translation.checked_items import CheckedMessage, TextCheck
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.learned import refused_parameter, refused_schema, refused_types
from antiphon.translation.to_chat.cut_prompts import is_longer
from antiphon.translation.to_chat.reasoning import Unseal
from antiphon.translation.to_chat.request import Body, configured, responses_parameter, to_chat
from antiphon.translation.to_chat.tokens import tokens_of
from antiphon.translation.to_responses.request import countable, extras, field_of, refused_field, to_responses
from antiphon.translation.tool_mapping.choice import allowed_names
from antiphon.translation.tool_mapping.offering import WITH_TOOLS, Toolbox, toolbox_of
from antiphon.translation.wire import Finish
from antiphon.translation.writer import Note
from antiphon.upstream.backend_errors import beyond_window, is_overflow, read_failure, too_long
from antiphon.upstream.backend_state import Target

ANSWER = 1024
"""Tokens of a model's window that are kept for its answer, where the request does not say."""

ANSWER_SHARE = 8
"""At most this part of the window: one eighth."""

MAX_REFUSALS = 8
"""Refused parameters of one response; a backend that refuses more means something else."""

REJECTED = 400
REFUSALS = {REJECTED, 422}
"""Statuses of a request that a backend does not understand."""

UNOPENED = "invalid_encrypted_content"
"""Code of the error for reasoning that a backend did not seal, or no longer opens (specification section 13)."""

RENAMES: Mapping[Api, Callable[[str], str | None]] = {"chat": responses_parameter, "responses": field_of}
"""What the client calls that which a backend complains of."""

STREAMED = {"stream", "stream_options"}


class BuiltRequest(Struct, frozen=True):
    """The body for a backend, and what the model may call in its answer."""

    body: Body
    toolbox: Toolbox
    """What the model is offered over Chat."""
    allowed: frozenset[str] | None
    """The names that may be called, None where any may."""
    api: Api
    check: TextCheck | None = None
    """The schema that the text is to fit, where that is checked here."""
    note: Note | None = None
    """The note to a model that repeats itself, or the end of its calls."""


class RequestBuilder:
    """Builds the requests of one response. `items` is its conversation, of which the first `history` came before."""

    def __init__(
        self,
        request: CreateResponse,
        items: Sequence[InputItem],
        history: int,
        target: Target,
        unseal: Unseal,
        served: Collection[type[Tool]],
    ) -> None:
        self.request = request
        self.items = items
        self.target = target
        """Where the model is asked; another one once that one failed before its first byte."""
        self.thins_out = False
        """A summary is asked for: it may lack details of what it is about, but it must come."""
        self.api: Api = "chat"
        """The API of the request that was built last."""
        self._history = history
        self._unseal = unseal
        self._served = served
        self._body: Body = {}
        self._refusals = 0
        self._goes_by_chat = False
        """The backend's own Responses API does not take what this is about."""
        self._is_without_blobs = False
        """The backend did not open what it had sealed itself: its keys have changed since."""
        self.suspects: tuple[Target, frozenset[str]] | None = None
        """What that API said it does not take, and whose it is."""
        self._is_plain = False
        """The backend is not asked for a stream, though the client asked for one."""

    def api_for(self, request: CreateResponse, items: Sequence[InputItem]) -> Api:
        """Return the API in which this is asked."""
        return "chat" if self._goes_by_chat else self.target.api_for(request, items)

    def toolbox(self, items: Sequence[InputItem]) -> Toolbox:
        """Return the tools in force after this conversation."""
        return toolbox_of(self.request, items, self.target.dialect, self._served)

    def build(
        self,
        request: CreateResponse,
        items: Sequence[InputItem],
        limit: Callable[[Toolbox], None] | None = None,
    ) -> BuiltRequest:
        """Return what to send; `limit` takes tools out of what is offered. Raises `ClientError` where it cannot be."""
        target = self.target
        dialect, refused, defaults = target.dialect, frozenset(target.refused), target.defaults
        api = "chat" if target.api == "chat" else self.api_for(request, items)
        self.api = api
        if defaults is not None:
            request = defaults.complete(request, items)
        if api == "responses":
            origin = "" if self._is_without_blobs else state_origin(target)
            self._body = to_responses(request, items, dialect, refused, unseal=self._unseal, origin=origin)
            self._body["model"] = target.model
            if defaults is not None:
                defaults.fill(self._body, request, refused, api)
            return BuiltRequest(self._body, Toolbox(), None, api)
        if isinstance(items, ItemList) and ConfigurationUpdate in items.kinds:
            request = configured(request, items)
        taught = dialect.taught(refused) if refused else dialect
        is_bare = request.tools is None and isinstance(items, ItemList) and items.kinds.isdisjoint(WITH_TOOLS)
        toolbox = Toolbox() if is_bare else toolbox_of(request, items, taught, self._served)
        if limit is not None:
            limit(toolbox)
        note = None
        if dialect.checks_answers and not is_bare:
            items, note = nudged(items, target.state.options.loop_calls)
        self._body = to_chat(
            request, items, dialect, refused, toolbox=toolbox, unseal=self._unseal, history=self._history
        )
        self._body["model"] = target.model
        if defaults is not None:
            defaults.fill(self._body, request, refused)
        if self._is_plain:
            self._body = {name: value for name, value in self._body.items() if name not in STREAMED}
        allowed = None if request.tool_choice is None else allowed_names(toolbox, request.tool_choice)
        check = None
        if request.text is not None and dialect.checks_answers:
            check = text_check(request, items, self._body, is_doubtful=target.is_loose)
        return BuiltRequest(self._body, toolbox, allowed, api, check, note)

    def fitted(self, built: BuiltRequest, build: Callable[[], BuiltRequest]) -> BuiltRequest:
        """Return a request to a model whose window is known, shortened and built anew until it fits the window.

        Some backends cut a longer prompt silently, so it is not sent. One that may not be shortened is sent as it is,
        for the window may be larger than it was when it was measured. But where a backend is known to cut prompts, one
        that is too long by any count raises `ClientError` (400, `context_length_exceeded`).
        """
        window = self.target.window
        while window is not None and (size := self._size(built)) > window - self._room(window):
            if not self.shorten():
                is_doubtful = size <= window or built.api != "chat" or not self.target.dialect.cuts_prompts
                if is_doubtful or not is_longer(built.body, window):
                    break
                raise beyond_window(self.target.name, window)
            built = build()
        return built

    def _room(self, window: int) -> int:
        """Return the tokens of the window that are kept for the answer, where the prompt may be shortened for it."""
        return self.request.max_output_tokens or min(ANSWER, window // ANSWER_SHARE)

    @staticmethod
    def _size(built: BuiltRequest) -> int:
        return tokens_of(countable(built.body) if built.api == "responses" else built.body)

    # What follows from a refusal.

    def asks_plainly(self) -> bool:
        """The answer broke off before anything was said. Return whether it is asked for again, as no stream.

        llama-cpp-python reports what is wrong with a request only where it is to answer it whole.
        """
        if self._is_plain or "stream" not in self._body or not self.target.dialect.streams_hide_errors:
            return False
        self._is_plain = True
        return True

    def learn(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above. Returns where another request may do; else raises what to report."""
        error = read_failure(status, headers, body, self.target.model, RENAMES[self.api])
        if is_overflow(error):
            if not self.shorten():
                raise error
            return
        if error.code == UNOPENED and self._has_blobs and not self._is_without_blobs:
            self._is_without_blobs = True
            return
        if self._learns_schema(status, body):
            return
        name = self._refused_name(status, body)
        if name is None and self._falls_back(status, body):
            return
        self._refusals += 1
        if name is None or name in self.target.refused or self._refusals > MAX_REFUSALS:
            raise error
        self.target.refused.add(name)

    def learn_schema(self, error: AntiphonError) -> bool:
        """The answer was an error that may be about a schema. Return whether another request may do."""
        return self._learns_schema(REJECTED, error.message.encode())

    def confirm(self) -> None:
        """Chat had an answer to what was refused: so it was not the request that was wrong."""
        suspects, self.suspects = self.suspects, None
        if suspects is not None and suspects[0] is self.target:
            self.target.refused |= suspects[1]

    def shorten(self) -> bool:
        """Drop the oldest part, where that is allowed and there is one; return whether it was dropped."""
        shorter = drop_oldest(self.items) if self.thins_out or self.request.truncation == "auto" else None
        if shorter is None and self.thins_out:
            shorter = thin_out(self.items)
        if shorter is None:
            return False
        self._history = max(0, self._history - (len(self.items) - len(shorter)))
        self.items = shorter
        return True

    def _falls_back(self, status: int, body: bytes) -> bool:
        """Whether a server that seemed to speak Responses refused what goes by Chat.

        What it named, it is spared from then on, if Chat proves to be the way.
        """
        if status not in REFUSALS or self.api == "chat" or not self.target.state.is_probed:
            return False
        doubtful = extras(self.request, self.items)
        self.suspects = self.target, refused_types(body, doubtful)
        self._goes_by_chat = bool(doubtful)
        return self._goes_by_chat

    @property
    def _has_blobs(self) -> bool:
        """Whether the backend was sent reasoning that it had sealed itself."""
        return self.api == "responses" and any("encrypted_content" in item for item in self._body["input"])

    def _learns_schema(self, status: int, body: bytes) -> bool:
        """Return whether an error about a schema teaches what to omit; services report it to their client.

        Each lesson leaves less of the schemas, so they have an end.
        """
        if self.api == "responses" or not self.target.dialect.checks_answers:
            return False
        lesson = refused_schema(status, body, self._body)
        if lesson is not None:
            self.target.refused.add(lesson)
        return lesson is not None

    def _refused_name(self, status: int, body: bytes) -> str | None:
        if self.api == "responses":
            return refused_field(status, body, self._body, self.request.include)
        return refused_parameter(status, body, self._body)


class Turn:
    """One response's turn: the model is asked once. Ask `next`, do it, report the outcome, until `FinishRun`."""

    def __init__(self, builder: RequestBuilder) -> None:
        self.builder = builder
        """Has the target; another one once that one failed before its first byte."""
        self._result: ModelResult | None = None
        self._usage: Usage | None = None
        self._is_optional = False
        """The response is complete without this call."""
        self.steps: Steps | None = None
        """What is decided, where that is more than to ask the model; to be closed when nothing more is."""

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported for the response, by earlier attempts too."""
        return self.own_usage

    @property
    def own_usage(self) -> Usage | None:
        """Those of this attempt: of the answers that were read, and of one that was abandoned before its end."""
        return added(self._usage, self._result.ending.usage) if self._result else self._usage

    def abandoned(self, usage: Usage | None) -> None:
        """The answer is not read further; so much was reported for it until now."""
        self._usage = added(self._usage, usage)

    def next(self) -> Step:
        """Return what to do now. Raises `ClientError` for a request that this backend cannot be asked."""
        if self.steps is not None:
            return next(self.steps)
        result = self._result
        if result is None:
            builder = self.builder
            built = builder.build(builder.request, builder.items)
            if builder.target.may_have_window:
                built = builder.fitted(built, lambda: builder.build(builder.request, builder.items))
            if built.note == STOPPED:
                return FinishRun(Finish("max_messages", self._usage, note=STOPPED))
            return CallModel(built.body, built.toolbox, built.allowed, built.api, built.check, built.note)
        ending = result.ending
        if ending.held:
            self.steps = self._finish_corrected()
            return next(self.steps)
        usage = ending.usage if self._usage is None else added(self._usage, ending.usage)
        self._usage, self._result = usage, None
        return FinishRun(ending if usage is ending.usage else replace(ending, usage=usage))

    def is_late(self) -> None:
        """The time that this server's own tools may take is over."""

    def answered(self, ending: Finish, items: Sequence[Item] = (), *, is_silent: bool = False) -> None:
        """The backend's answer was read to its end; `items` is what it made, where it was asked aside.

        Some backends say only in their stream that the input is too long, or that they can make no grammar of a schema
        (hermes-agent#67349, of LM Studio). As long as nothing was said (`is_silent`), that is like a refusal.
        """
        error = ending.error
        if error is None:
            if self.builder.suspects is not None:
                self.builder.confirm()
        elif is_silent and is_overflow(error):
            if self.builder.shorten():
                return
            ending = replace(ending, error=too_long())
        elif is_silent and self.builder.learn_schema(error):
            return
        self._result = ModelResult(ending, items)

    def asks_plainly(self) -> bool:
        """The answer broke off before anything was said. Return whether it is asked for again, as no stream."""
        return self.builder.asks_plainly()

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above. Returns if there is another way to go on; else raises what to report.

        A parameter that the backend names as unsupported is left out from now on (lessons L55). With
        `truncation: auto` an input that is too long loses its oldest part.
        """
        try:
            self.builder.learn(status, headers, body)
        except AntiphonError as error:
            self.failed(error)

    def failed(self, error: AntiphonError) -> None:
        """The backend could not be asked. Raises the error, unless the response is whole without what was asked."""
        if not self._is_optional:
            raise error
        self._result = ModelResult(Finish("completed", None, BackendError(error.message, gist=error.gist)))

    # What an answer has wrong.

    def _finish_corrected(self) -> Steps:
        """Correct what the answer holds, and finish."""
        result = self._taken()
        if result is not None:
            error = yield from self._corrections(result.ending)
            ending = result.ending
            yield FinishRun(Finish(ending.outcome, self.usage, error or ending.error, note=ending.note))

    def _corrections(self, ending: Finish) -> Generator[Step, None, AntiphonError | None]:
        """Correct what the answer holds. Return why the response fails, if so."""
        if any(isinstance(held, CheckedMessage) for held in ending.held):
            self.builder.target.breaks_schemas = True
        return (yield from corrections(ending, self._ask_again))

    def _ask_again(self, held: Corrected) -> Generator[Step, None, ModelResult]:
        """Have an item written once more; the response is whole without."""
        self._is_optional = True
        items = self._conversation() if isinstance(held, CheckedMessage) else self.builder.items
        answer = yield from self._ask_aside(lambda: question(self.builder.request, items, held))
        self._is_optional = False
        return answer

    def _ask_aside(
        self, what: Callable[[], tuple[CreateResponse, list[InputItem]]], *, compacts: bool = False
    ) -> Generator[Step, None, ModelResult]:
        """Call the model for something that the client does not see."""
        builder = self.builder
        while (result := self._taken()) is None:
            try:
                built = builder.build(*what(), self._limit_tools)
                if builder.target.may_have_window:
                    built = builder.fitted(built, lambda: builder.build(*what(), self._limit_tools))
            except ClientError as error:  # this backend cannot do that
                self.failed(error)
            else:
                yield AuxiliaryCall(built.body, built.toolbox, built.allowed, built.api, compacts)
        return result

    def _taken(self) -> ModelResult | None:
        """Return the result that was not looked at yet, its tokens counted."""
        result = self._result
        if result is not None:
            self._usage, self._result = self.own_usage, None
        return result

    def _conversation(self) -> Sequence[InputItem]:
        """Return what was said until now."""
        return self.builder.items

    def _limit_tools(self, toolbox: Toolbox) -> None:
        """Take out of what is offered what was used often enough."""


def added(before: Usage | None, more: Usage | None) -> Usage | None:
    """Return the tokens of two calls of the model together."""
    if before is None or more is None:
        return before or more
    return Usage(
        input_tokens=before.input_tokens + more.input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=before.input_tokens_details.cached_tokens + more.input_tokens_details.cached_tokens,
            cache_write_tokens=before.input_tokens_details.cache_write_tokens
            + more.input_tokens_details.cache_write_tokens,
        ),
        output_tokens=before.output_tokens + more.output_tokens,
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=before.output_tokens_details.reasoning_tokens + more.output_tokens_details.reasoning_tokens
        ),
        total_tokens=before.total_tokens + more.total_tokens,
    )


def output_text(response: Response) -> str:
    """Return the text of all messages of a response, joined."""
    said: list[Any] = [item for item in response.output if getattr(item, "role", None) == "assistant"]
    return "".join([part.text for item in said for part in item.content if hasattr(part, "text")])
