"""The turn machine: what to do next for one response. It decides, `run.py` does.

next() ──> [AskAside for a summary ──> Compact]                  where the context is too long already
       ──> ListTools of MCP servers ──> RunTools that the client approved
       ──> CallModel ── refused(error) ──> next()                without the parameter, or with less history
              └──────── answered(ending) ──> AskAside, to mend a call's input ──> Settle
                                         ──> RunTools that the model called ──> CallModel
                                         ──> Tell what a search for tools found ──> CallModel
                                         ──> [AskAside for a summary ──> Compact] ──> Finish
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as replace_struct

from antiphon.engine.asides import repair_of, summary_of
from antiphon.engine.called import Called, Work
from antiphon.engine.history import Context
from antiphon.engine.hosted import Approved, HostedTools
from antiphon.engine.routing.backend_errors import is_overflow, read_failure, too_long
from antiphon.engine.routing.backend_state import Target
from antiphon.engine.sealer import sealer_of
from antiphon.engine.steps import AskAside, CallModel, Compact, Finish, ListTools, RunTools, Settle, Step, Steps, Tell
from antiphon.engine.toolset import Toolset
from antiphon.engine.truncation import drop_oldest, thin_out
from antiphon.errors import AntiphonError, BackendError, ClientError, log
from antiphon.protocol.items.calls import CustomToolCall, ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.content import Item, OutputText
from antiphon.protocol.items.messages import Compaction, CompactionTrigger, InputItem, Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from antiphon.protocol.validation.call_rules import CALLS, open_calls
from antiphon.translation.dialects import Api
from antiphon.translation.from_chat.reader import Ending
from antiphon.translation.hosted_items import HostedCall
from antiphon.translation.learned import refused_parameter, refused_types
from antiphon.translation.to_chat.estimate import tokens_of
from antiphon.translation.to_chat.request import responses_parameter, to_chat
from antiphon.translation.to_chat.sealed import Unseal, nothing
from antiphon.translation.to_responses.request import (
    countable,
    extras,
    field_of,
    refused_field,
    to_responses,
)
from antiphon.translation.tool_items import StreamingCustomCall
from antiphon.translation.tool_mapping.offering import Toolbox, toolbox_of
from antiphon.translation.tool_mapping.search import search
from antiphon.translation.tool_mapping.toolbox import allowed_names, relaxed

MAX_REFUSALS = 8
"""Refused parameters of one response; a backend that refuses more means something else."""

MAX_SEARCHES = 8
"""Times that the model may search for tools in one response, where `max_tool_calls` does not say."""


REFUSALS = {400, 422}
"""Statuses of a request that a backend does not understand."""

UNOPENED = "invalid_encrypted_content"
"""Code of the error for reasoning that a backend did not seal, or no longer opens (specification section 13)."""

RENAMES: Mapping[Api, Callable[[str], str | None]] = {"chat": responses_parameter, "responses": field_of}
"""What the client calls that which a backend complains of."""
STREAMED = {"stream", "stream_options"}

THRESHOLD = 100_000
"""Tokens from which a context is compacted where the client leaves that to the server."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one call of the model ended, and the items that it made."""

    ending: Ending
    items: Sequence[Item] = ()


class Turn:
    """One response's turn. Ask `next`, do it, tell the outcome, until it says `Finish`.

    `made` gives the items that this response has so far; `unseal` opens what the client kept for us. `left` are the
    calls that an earlier attempt began, None where there was no such attempt or it was not at that; `before` is how far
    it had come.
    """

    def __init__(
        self,
        request: CreateResponse,
        context: Context,
        target: Target,
        made: Callable[[], Sequence[Any]] = list,
        unseal: Unseal = nothing,
        toolset: Toolset | None = None,
        left: Sequence[Called] | None = None,
        before: Work | None = None,
    ) -> None:
        self._toolset = toolset or Toolset()
        self._request = request = self._toolset.described(request)
        self._items = context.items
        self._history = len(context.history)
        self.target = target
        """Where the model is asked; another one once that one failed before its first byte."""
        self._made = made
        self._unseal = unseal
        items = context.items
        before = before or Work()
        self._hosted = HostedTools(
            request, self._toolset, lambda: [*items, *made()], made, unseal, context.input, before.rounds
        )
        self._before = before.usage
        self._left = left
        self._cap = request.max_output_tokens
        self._refusals = 0
        self._searches = 0
        self._usage: Usage | None = None
        self._body: dict[str, Any] = {}
        self._api: Api = "chat"
        """The API of that body."""
        self._goes_by_chat = False
        """The backend's own Responses API does not take what this is about."""
        self._is_without_blobs = False
        """The backend did not open what it had sealed itself: its keys have changed since."""
        self._suspects: tuple[Target, frozenset[str]] | None = None
        """What that API said it does not take, and whose it is."""
        self._answer: Answer | None = None
        self._is_optional = False
        self._is_plain = False
        """The backend is not asked for a stream, though the client asked for one."""
        self._thins_out = False
        """A summary is asked for: it may lack details of what it is about, but it must come."""
        self._steps = self._decide()

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported for the response, by earlier attempts too."""
        return added(self._before, self.own_usage)

    @property
    def own_usage(self) -> Usage | None:
        """Those of this attempt: of the answers that were read, and of one that was left before its end."""
        return added(self._usage, self._answer.ending.usage) if self._answer else self._usage

    def left(self, usage: Usage | None) -> None:
        """Nobody reads the answer further, for which so much was reported until now."""
        self._usage = added(self._usage, usage)

    def next(self) -> Step:
        """Return what to do now. Raises `ClientError` for a request that this backend cannot be asked."""
        return next(self._steps)

    def close(self) -> None:
        """Nothing more is decided."""
        self._steps.close()

    def is_late(self) -> None:
        """The time that this server's own tools may take is over."""
        self._hosted.is_late = True

    def answered(self, ending: Ending, items: Sequence[Item] = (), *, is_silent: bool = False) -> None:
        """The backend's answer was read to its end; `items` is what it made, where it was asked aside.

        Some backends say only in their stream that the input is too long. As long as nothing was said (`is_silent`),
        that is like a refusal.
        """
        if ending.error is None:
            self._confirm()
        if not (is_silent and ending.error and is_overflow(ending.error)):
            self._answer = Answer(ending, items)
        elif not self._shorten():
            self._answer = Answer(replace(ending, error=too_long()))

    def asks_plainly(self) -> bool:
        """The answer broke off before anything was said. Return whether it is asked for again, as no stream.

        llama-cpp-python tells what is wrong with a request only where it is to answer it whole.
        """
        if self._is_plain or "stream" not in self._body or not self.target.dialect.streams_hide_errors:
            return False
        self._is_plain = True
        return True

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above. Returns if there is another way to go on; else raises what to report.

        A parameter that the backend names as unsupported is left out from now on (lessons L55). With
        `truncation: auto` an input that is too long loses its oldest part.
        """
        try:
            self._learn(status, headers, body)
        except AntiphonError as error:
            self.failed(error)

    def failed(self, error: AntiphonError) -> None:
        """The backend could not be asked. Raises the error, unless the response is whole without what was asked."""
        if not self._is_optional:
            raise error
        self._answer = Answer(Ending("completed", None, BackendError(error.message, gist=error.gist)))

    # What happens, in its order.

    def _decide(self) -> Steps:
        if self._items and isinstance(self._items[-1], CompactionTrigger):
            error = yield from self._compact(is_wanted=True)
            yield self._finish(Ending("completed", None, error))
            return
        if self._limit and self._is_crowded(self._limit):
            yield from self._compact()
        ending = yield from self._respond()
        if self._limit and self._is_too_long(ending, self._limit):
            yield from self._compact()
        yield self._finish(ending)

    def _respond(self) -> Generator[Step, None, Ending]:
        """Call the model until it wants nothing more of this server."""
        if self._left is not None:
            yield self._run_tools(left=self._left)
            yield from map(Tell, self._find())
            if self._waits_for_client():
                return Ending("completed", None)
        if self._cap is not None and self._spent:
            self._leave_rest()
        while True:
            made = len(self._made()) if self._request.max_tool_calls else 0
            answer = yield from self._ask()
            ending = answer.ending
            for call in ending.held:
                if isinstance(call, StreamingCustomCall):
                    yield from self._repair(call) if ending.error is None else iter([Settle(call, call.text)])
            if ending.error is not None or ending.outcome != "completed":
                return ending
            goes_on = yield from self._carry_out(ending)
            if ending.are_used_up and not goes_on:
                goes_on = not any(isinstance(item, Message) for item in self._made()[made:])
            if not goes_on or self._waits_for_client():
                return ending
            if self._hosted.is_enough(were_used_up=ending.are_used_up):
                return replace(ending, outcome="max_messages")
            if self._cap is not None and self._spent >= self._cap:
                return replace(ending, outcome="max_output_tokens")
            self._leave_rest()

    def _leave_rest(self) -> None:
        """The model may say what is left of its tokens."""
        if self._cap is not None:
            rest = max(1, self._cap - self._spent)
            self._request = replace_struct(self._request, max_output_tokens=rest)

    def _run_tools(
        self, held: Sequence[HostedCall] = (), approved: Sequence[Approved] = (), left: Sequence[Called] = ()
    ) -> RunTools:
        return RunTools(held, approved, left, self.usage, self._hosted.rounds)

    def _carry_out(self, ending: Ending) -> Generator[Step, None, bool]:
        """Do what the model called this server for; return whether it is to go on with what came of that."""
        calls = [call for call in ending.held if isinstance(call, HostedCall)]
        if calls:
            yield self._run_tools(calls)
        found = self._find()
        for item in found:
            yield Tell(item)
        return bool(calls or found)

    def _relax(self) -> None:
        """The choice's demand was met by a call, be it one that waited for its approval: the model may speak."""
        if self._hosted.were_called:
            self._request = replace_struct(self._request, tool_choice=relaxed(self._request.tool_choice))

    @property
    def _spent(self) -> int:
        """The tokens that the model has said so far, as far as they were reported."""
        usage = self.usage
        return usage.output_tokens if usage else 0

    def _waits_for_client(self) -> bool:
        return bool(open_calls(self._made())) or self._hosted.waits_for_client

    def _prepare(self) -> Steps:
        """Before a model is asked by Chat: look at the servers' tools, and make the calls that the client approved."""
        if not self._hosted.begins():
            return
        self._hosted.check()
        if servers := self._hosted.servers():
            yield ListTools(servers, self._hosted.listed())
        toolbox = toolbox_of(self._request, self._conversation(), self.target.dialect, self._toolset.served)
        if approved := self._hosted.approved(toolbox):
            yield self._run_tools(approved=approved)

    def _compact(self, *, is_wanted: bool = False) -> Generator[Step, None, AntiphonError | None]:
        """Have the conversation summarised; return why not. Unless it `is_wanted`, the response goes on without."""
        self._is_optional, self._thins_out = not is_wanted, True
        answer = yield from self._ask_aside(lambda: summary_of(self._request, self._conversation()), compacts=is_wanted)
        self._is_optional, self._thins_out = False, False
        text, error = text_of(answer.items), answer.ending.error
        if text and error is None:
            yield Compact(text)
            return None
        error = error or BackendError("The model gave no summary.")
        if not is_wanted:
            log.warning("The context was not compacted: %s", error.gist)
        return error

    def _repair(self, call: StreamingCustomCall) -> Steps:
        """Have a custom tool's input written once more; what does not fit then is passed as it was."""
        self._is_optional = True
        item = CustomToolCall(call_id=call.call_id, name=call.offer.name, input=call.text)
        if call.offer.namespace:
            item.namespace = call.offer.namespace
        answer = yield from self._ask_aside(lambda: repair_of(self._request, self._items, item, call.misfit))
        inputs = [
            each.input for each in answer.items if isinstance(each, CustomToolCall) and each.status == "completed"
        ]
        self._is_optional = False
        fits = bool(inputs) and call.offer.misfit is not None and not call.offer.misfit(inputs[0])
        if not fits:
            log.warning("The input of a custom tool does not fit its grammar.")
        yield Settle(call, inputs[0] if fits else call.text)

    def _finish(self, ending: Ending) -> Finish:
        return Finish(Ending(ending.outcome, self.usage, ending.error))

    # Asking the model.

    def _ask(self) -> Generator[Step, None, Answer]:
        while (answer := self._taken()) is None:
            if self._api_for(self._request, self._conversation()) == "chat":
                yield from self._prepare()
                if self._hosted.waits_for_client:
                    return Answer(Ending("completed", None))
                self._relax()
            body = self._body_of(self._request, self._conversation())
            hosted = self._hosted
            yield CallModel(*body, hosted.left, hosted.sources(), hosted.call_ids())
        return answer

    def _ask_aside(
        self, what: Callable[[], tuple[CreateResponse, list[InputItem]]], *, compacts: bool = False
    ) -> Generator[Step, None, Answer]:
        while (answer := self._taken()) is None:
            try:
                asked = self._body_of(*what())
            except ClientError as error:  # this backend cannot be asked for that
                self.failed(error)
            else:
                yield AskAside(*asked, compacts)
        return answer

    def _taken(self) -> Answer | None:
        """Return the answer that was not looked at yet, its tokens counted."""
        answer, self._answer = self._answer, None
        if answer is not None:
            self._usage = added(self._usage, answer.ending.usage)
        return answer

    def _body_of(
        self, request: CreateResponse, items: Sequence[InputItem]
    ) -> tuple[dict[str, Any], Toolbox, frozenset[str] | None, Api]:
        refused = frozenset(self.target.refused)
        dialect = self.target.dialect
        self._api = self._api_for(request, items)
        if self._api == "responses":
            origin = "" if self._is_without_blobs else sealer_of(self.target)
            self._body = to_responses(request, items, dialect, refused, unseal=self._unseal, origin=origin)
            self._body["model"] = self.target.model
            return self._body, Toolbox(), None, "responses"
        toolbox = toolbox_of(request, items, dialect.taught(refused), self._toolset.served)
        if self._searches >= (request.max_tool_calls or MAX_SEARCHES):
            toolbox.drop_search()
        toolbox.are_used_up = self._hosted.left == 0
        self._body = to_chat(
            request, items, dialect, refused, toolbox=toolbox, unseal=self._unseal, history=self._history
        )
        self._body["model"] = self.target.model
        if self._is_plain:
            self._body = {name: value for name, value in self._body.items() if name not in STREAMED}
        return self._body, toolbox, allowed_names(toolbox, request.tool_choice), "chat"

    def _api_for(self, request: CreateResponse, items: Sequence[InputItem]) -> Api:
        return "chat" if self._goes_by_chat else self.target.api_for(request, items)

    def _conversation(self) -> list[InputItem]:
        return [*self._items, *self._made()]

    def _learn(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        error = read_failure(status, headers, body, self.target.model, RENAMES[self._api])
        if is_overflow(error):
            if not self._shorten():
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

    def _falls_back(self, status: int, body: bytes) -> bool:
        """Whether a server that seemed to speak Responses refused what goes by Chat.

        What it named, it is spared from then on, if Chat proves to be the way.
        """
        if status not in REFUSALS or self._api == "chat" or not self.target.state.is_probed:
            return False
        doubtful = extras(self._request, self._items)
        self._suspects = self.target, refused_types(body, doubtful)
        self._goes_by_chat = bool(doubtful)
        return self._goes_by_chat

    @property
    def _has_blobs(self) -> bool:
        """Whether the backend was sent reasoning that it had sealed itself."""
        return self._api == "responses" and any("encrypted_content" in item for item in self._body["input"])

    def _confirm(self) -> None:
        """Chat had an answer to what was refused: so it was not the request that was wrong."""
        suspects, self._suspects = self._suspects, None
        if suspects is not None and suspects[0] is self.target:
            self.target.refused |= suspects[1]

    def _refused_name(self, status: int, body: bytes) -> str | None:
        if self._api == "responses":
            return refused_field(status, body, self._body, self._request.include)
        return refused_parameter(status, body, self._body)

    def _shorten(self) -> bool:
        """Let the oldest part go, where that is allowed and there is one; return whether it went."""
        shorter = drop_oldest(self._items) if self._thins_out or self._request.truncation == "auto" else None
        if shorter is None and self._thins_out:
            shorter = thin_out(self._items)
        if shorter is None:
            return False
        self._history = max(0, self._history - (len(self._items) - len(shorter)))
        self._items = shorter
        return True

    # What this server does itself.

    def _find(self) -> list[ToolSearchOutput]:
        """Return what the searches for tools find that were not answered yet."""
        if self._api == "responses":
            return []  # the backend has done that itself
        made = self._made()
        searches = [item for item in made if isinstance(item, ToolSearchCall) and item.execution == "server"]
        answered = sum(isinstance(item, ToolSearchOutput) for item in made)
        new = searches[answered:]
        if not new:
            return []
        self._searches = len(searches)
        toolbox = toolbox_of(self._request, self._conversation(), self.target.dialect, self._toolset.served)
        return [
            ToolSearchOutput(
                call_id=None, execution="server", status="completed", tools=search(toolbox.deferred, item.arguments)
            )
            for item in new
        ]

    @property
    def _limit(self) -> int | None:
        """Tokens from which the context is to be compacted."""
        return min(
            (entry.compact_threshold or THRESHOLD for entry in self._request.context_management or ()), default=None
        )

    def _is_crowded(self, limit: int) -> bool:
        """Whether what the model is about to see is too long, and there is something to fold away."""
        folded = [place for place, item in enumerate(self._items) if isinstance(item, Compaction)]
        new = self._items[folded[-1] + 1 :] if folded else self._items
        is_worth = any(type(item) in CALLS or (isinstance(item, Message) and item.role == "assistant") for item in new)
        return is_worth and self._size() >= limit

    def _size(self) -> int:
        """Return the tokens of what the model is about to see."""
        # A choice may name what no list has told yet; it is no part of what is long.
        request = replace_struct(self._request, tool_choice=None)
        body, _, _, api = self._body_of(request, self._items)
        return tokens_of(countable(body) if api == "responses" else body)

    def _is_too_long(self, ending: Ending, limit: int) -> bool:
        """Whether what the model saw and said is too long; calls that wait for the client are not folded away."""
        if ending.error is not None or ending.outcome != "completed" or self._waits_for_client():
            return False
        return ending.usage is not None and ending.usage.total_tokens >= limit


def text_of(items: Sequence[Item]) -> str:
    """Return what was said in messages."""
    said = [item.content for item in items if isinstance(item, Message)]
    return "".join(part.text for content in said for part in content if isinstance(part, OutputText)).strip()


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
