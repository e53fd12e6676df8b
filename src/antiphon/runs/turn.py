"""The turn machine: what to do next for one response. It decides, `step_loop.py` does.

CallModel ── refused(error) ──> CallModel, without the parameter or with less history
     └────── answered(ending) ──> Finish

`agentic_turn.py` has the turns that do more than that.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.access.unseal import state_origin
from antiphon.errors import AntiphonError
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem, ItemList
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Response, Usage
from antiphon.protocol.tools import Tool
from antiphon.runs.steps import CallModel, FinishRun, Step, Steps
from antiphon.runs.truncate import drop_oldest, thin_out
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.learned import refused_parameter, refused_types
from antiphon.translation.to_chat.reasoning import Unseal
from antiphon.translation.to_chat.request import Body, responses_parameter, to_chat
from antiphon.translation.to_responses.request import extras, field_of, refused_field, to_responses
from antiphon.translation.tool_mapping.choice import allowed_names
from antiphon.translation.tool_mapping.offering import WITH_TOOLS, Toolbox, toolbox_of
from antiphon.translation.wire import Finish
from antiphon.upstream.backend_errors import is_overflow, read_failure, too_long
from antiphon.upstream.backend_state import Target

MAX_REFUSALS = 8
"""Refused parameters of one response; a backend that refuses more means something else."""

REFUSALS = {400, 422}
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
        dialect, refused = target.dialect, frozenset(target.refused)
        api = "chat" if target.api == "chat" else self.api_for(request, items)
        self.api = api
        if api == "responses":
            origin = "" if self._is_without_blobs else state_origin(target)
            self._body = to_responses(request, items, dialect, refused, unseal=self._unseal, origin=origin)
            self._body["model"] = target.model
            return BuiltRequest(self._body, Toolbox(), None, api)
        taught = dialect.taught(refused) if refused else dialect
        is_bare = request.tools is None and isinstance(items, ItemList) and items.kinds.isdisjoint(WITH_TOOLS)
        toolbox = Toolbox() if is_bare else toolbox_of(request, items, taught, self._served)
        if limit is not None:
            limit(toolbox)
        self._body = to_chat(
            request, items, dialect, refused, toolbox=toolbox, unseal=self._unseal, history=self._history
        )
        self._body["model"] = target.model
        if self._is_plain:
            self._body = {name: value for name, value in self._body.items() if name not in STREAMED}
        allowed = None if request.tool_choice is None else allowed_names(toolbox, request.tool_choice)
        return BuiltRequest(self._body, toolbox, allowed, api)

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
        name = self._refused_name(status, body)
        if name is None and self._falls_back(status, body):
            return
        self._refusals += 1
        if name is None or name in self.target.refused or self._refusals > MAX_REFUSALS:
            raise error
        self.target.refused.add(name)

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

    def _refused_name(self, status: int, body: bytes) -> str | None:
        if self.api == "responses":
            return refused_field(status, body, self._body, self.request.include)
        return refused_parameter(status, body, self._body)


class ModelResult(Struct, frozen=True):
    """How one call of the model ended, and the items that it made."""

    ending: Finish
    items: Sequence[Item] = ()


class Turn:
    """One response's turn: the model is asked once. Ask `next`, do it, report the outcome, until `FinishRun`."""

    def __init__(self, builder: RequestBuilder) -> None:
        self.builder = builder
        """Has the target; another one once that one failed before its first byte."""
        self._result: ModelResult | None = None
        self._usage: Usage | None = None
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
        result = self._result
        if result is None:
            builder = self.builder
            built = builder.build(builder.request, builder.items)
            return CallModel(built.body, built.toolbox, built.allowed, built.api)
        ending = result.ending
        usage = ending.usage if self._usage is None else added(self._usage, ending.usage)
        self._usage, self._result = usage, None
        return FinishRun(ending if usage is ending.usage else replace(ending, usage=usage))

    def is_late(self) -> None:
        """The time that this server's own tools may take is over."""

    def answered(self, ending: Finish, items: Sequence[Item] = (), *, is_silent: bool = False) -> None:
        """The backend's answer was read to its end; `items` is what it made, where it was asked aside.

        Some backends say only in their stream that the input is too long. As long as nothing was said (`is_silent`),
        that is like a refusal.
        """
        if ending.error is None:
            if self.builder.suspects is not None:
                self.builder.confirm()
        elif is_silent and is_overflow(ending.error):
            if self.builder.shorten():
                return
            ending = replace(ending, error=too_long())
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
        raise error


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
