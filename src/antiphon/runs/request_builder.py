"""Builds the requests of one response for a backend, and adapts them after the backend rejects one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from antiphon.access.unseal import Unsealer, state_origin
from antiphon.errors import AntiphonError
from antiphon.protocol.items.messages import ConfigurationUpdate, InputItem, ItemList
from antiphon.protocol.requests import CreateResponse, LocalRequest
from antiphon.protocol.tools import Tool
from antiphon.runs.corrections import text_check
from antiphon.runs.loops import nudged
from antiphon.runs.truncate import INSTRUCTING, Turns, has_older_turns, thin_out
from antiphon.translation.checked_items import TextCheck
from antiphon.translation.dialects.dialect import NEXT_LESSON, Api
from antiphon.translation.files import NONE_READ
from antiphon.translation.from_chat.failed_generation import UNPARSED
from antiphon.translation.learned import (
    is_credible,
    is_named,
    own_words,
    refused_parameter,
    refused_schema,
    refused_types,
)
from antiphon.translation.to_chat.adjustments import CHOICE
from antiphon.translation.to_chat.cut_prompts import is_longer
from antiphon.translation.to_chat.request import Body, configured, responses_parameter, to_chat
from antiphon.translation.to_chat.tokens import tokens_of
from antiphon.translation.to_responses.request import countable, extras, field_of, refused_field, to_responses
from antiphon.translation.tool_mapping.choice import allowed_names
from antiphon.translation.tool_mapping.offering import WITH_TOOLS, Toolbox, toolbox_of
from antiphon.translation.writer import Note
from antiphon.upstream.backend_errors import beyond_window, is_overflow, read_failure
from antiphon.upstream.backend_state import Target
from antiphon.upstream.lessons import EVERYONE, NOTHING

if TYPE_CHECKING:
    from antiphon.runs.simplified import Simplified

ANSWER = 1024
"""Tokens of a model's window that are reserved for its answer if the request sets no limit."""

ANSWER_SHARE = 8
"""Maximum fraction of the window for that: one eighth."""

STEPS = 16
"""A prompt is shortened to a multiple of the window divided by this."""

MAX_REFUSALS = 8
"""Rejected parameters of one response; a backend that rejects more has another problem."""

REJECTED = 400
REFUSALS = {REJECTED, 422}
"""Statuses of a request that a backend does not understand."""

UNOPENED = "invalid_encrypted_content"
"""Error code for reasoning that a backend did not seal, or can no longer open (specification section 13)."""

RENAMES: Mapping[Api, Callable[[str], str | None]] = {"chat": responses_parameter, "responses": field_of}
"""The client's names for the fields in a backend's errors."""


class BuiltRequest(Struct, frozen=True):
    """The body for a backend, and the tools that the model can call in its answer."""

    body: Body
    toolbox: Toolbox
    """The tools that are offered to the model over Chat."""
    allowed: frozenset[str] | None
    """The names that can be called, None for any."""
    api: Api
    check: TextCheck | None = None
    """The schema that the text must match, if this server checks it."""
    note: Note | None = None
    """The note to a model that repeats itself, or the end of its calls."""
    adjusted: Sequence[str] = ()
    """The names of what the backend is sent differently than the client wrote it."""


class RequestBuilder:
    """Builds the requests of one response. `items` is its conversation; the first `history` items came before it."""

    def __init__(
        self,
        request: CreateResponse,
        items: Sequence[InputItem],
        history: int,
        target: Target,
        unseal: Unsealer,
        served: Collection[type[Tool]],
    ) -> None:
        self.request = request
        self.items = items
        self.target = target
        """The backend and the model; another one after the first failed before its first byte."""
        self.files = NONE_READ
        """The files of the conversation that were read."""
        self.thins_out = False
        """The request is for a summary: details can be missing from the context, but the summary must be generated."""
        self.api: Api = "chat"
        """The API of the request that was built last."""
        self._history = history
        self._unseal = unseal
        self._served = served
        self._body: Body = {}
        self._refusals = 0
        self._goes_by_chat = False
        """The backend's own Responses API does not accept this request."""
        self._is_without_blobs = False
        """The backend could not open content that it had sealed: its keys have changed since."""
        self.suspects: tuple[Target, frozenset[str]] | None = None
        """The parameter that the API rejected, and which backend it is."""
        self.simplified: Simplified | None = None
        """What is sent differently in this response, because of a refusal that nothing explains."""
        self._is_simplified = False
        """A request of this response was sent once more in its plainest form."""
        self._is_repeated = False
        """The request was sent again unchanged, because the service could not parse the model's call."""
        self._is_plain = False
        """The backend is called without a stream, though the client requested one."""
        self.demands_call = False
        """The request that was built last asks for a call, and cannot force it."""
        self.is_too_long = False
        """The backend rejected the last request, and a shorter one follows."""
        self._turns: Turns | None = None
        """The turns of the whole conversation, once it has to be shortened."""
        self._kept = 0
        """The token limit to which it was shortened."""

    def api_for(self, request: CreateResponse, items: Sequence[InputItem]) -> Api:
        """Return the API for the next request."""
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
        """Return the request to send; `limit` removes offered tools. Raises `ClientError` if it cannot be served here.

        Raises `UnreadFile` if a file has to be read first.
        """
        target = self.target
        dialect, lessons, defaults = target.dialect, target.lessons, target.defaults
        given = request, items
        is_usual = self.simplified is None and not lessons.by_tenant
        refused = lessons.refused if is_usual else self._lessons()
        api = "chat" if target.api == "chat" else self.api_for(request, items)
        self.api = api
        if defaults is not None:
            request = defaults.complete(request, items)
        if api == "responses":
            return self._for_responses(request, items, refused)
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
        adjusted: list[str] = []
        self._body = to_chat(
            request,
            items,
            dialect,
            refused,
            toolbox=toolbox,
            unseal=self._unseal,
            token=self._unseal.token,
            history=self._history,
            files=self.files,
            adjusted=adjusted,
        )
        self._body["model"] = target.model
        if defaults is not None:
            defaults.fill(self._body, request, refused)
        if self._is_plain:
            self._body = {**self._body, "stream": False}
            self._body.pop("stream_options", None)
        if lessons.suspicions is not None and self._tests(request):
            return self.build(*given, limit)
        allowed = None if request.tool_choice is None else allowed_names(toolbox, request.tool_choice, taught)
        self.demands_call = not taught.forces_calls and CHOICE in adjusted
        check = None
        if request.text is not None and (dialect.checks_answers or not taught.formats_here(toolbox.offers)):
            check = text_check(request, items, self._body, is_doubtful=target.is_loose)
        return BuiltRequest(self._body, toolbox, allowed, api, check, note, adjusted)

    def _for_responses(
        self, request: CreateResponse, items: Sequence[InputItem], refused: frozenset[str]
    ) -> BuiltRequest:
        """Return the request for the backend's own Responses API; it is complete with the operator's defaults."""
        target, self.demands_call = self.target, False
        origin = "" if self._is_without_blobs else state_origin(target)
        self._body = to_responses(
            request, items, target.dialect, refused, unseal=self._unseal, origin=origin, files=self.files
        )
        self._body["model"] = target.model
        if target.defaults is not None:
            target.defaults.fill(self._body, request, refused, "responses")
        return BuiltRequest(self._body, Toolbox(), None, "responses")

    def fitted(self, built: BuiltRequest, build: Callable[[], BuiltRequest]) -> BuiltRequest:
        """Return a request to a model with a known window, shortened and built again until it fits the window.

        Some backends truncate a longer prompt silently, so it is not sent. A prompt that must not be shortened is sent
        as it is, because the window can be larger than when it was measured. But if a backend is known to truncate,
        a prompt that is too long by any count raises `ClientError` (400, `context_length_exceeded`).
        """
        window, limit = self.target.window, 0
        while window is not None and (size := self._size(built)) > window - self._room(window):
            limit = limit * 3 // 4 or self._limit(window, built)
            if not self.shorten(limit):
                is_doubtful = size <= window or built.api != "chat" or not self.target.dialect.cuts_prompts
                if is_doubtful or not is_longer(built.body, window):
                    break
                raise beyond_window(self.target.name, window)
            built = build()
        return built

    def _room(self, window: int) -> int:
        """Return the tokens of the window that are reserved for the answer, if the prompt can be shortened for it."""
        return self.request.max_output_tokens or min(ANSWER, window // ANSWER_SHARE)

    def _limit(self, window: int, built: BuiltRequest) -> int:
        """Return the token limit of the turns, in steps so that small changes of the instructions do not change it."""
        body = _countable(built)
        instructions = [one for one in body["messages"] if one.get("role", one.get("type", "system")) in INSTRUCTING]
        others = tokens_of({**body, "messages": instructions}) + self._all_turns().kept_tokens
        step = max(1, window // STEPS)
        return max(1, (window - self._room(window) - others) // step) * step

    @staticmethod
    def _size(built: BuiltRequest) -> int:
        return tokens_of(_countable(built))

    # After a rejection.

    def asks_plainly(self) -> bool:
        """The answer broke off without output. Return whether to send the request again without a stream.

        llama-cpp-python reports an invalid request only if it is not streamed.
        """
        if self._is_plain or not self._body.get("stream") or not self.target.dialect.streams_hide_errors:
            return False
        self._is_plain = True
        return True

    def learn(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above. Return if another request may succeed; else raise the error to report."""
        target = self.target
        error = read_failure(status, headers, body, target.model, target.state.identity, RENAMES[self.api])
        if (first := self.first_refusal) is not None:
            raise first
        if is_overflow(error):
            if not self.shortens_next():
                raise error
            return
        if error.code == UNOPENED and self._has_blobs and not self._is_without_blobs:
            self._is_without_blobs = True
            return
        if self._learns_schema(status, body):
            return
        if self.repeats(error):
            return
        name = self._refused_name(status, body)
        if name is None and self._falls_back(status, body):
            return
        self._refusals += 1
        held = self._lessons()
        if name in held:
            name = NEXT_LESSON.get(name)
        if name is None or name in held or self._refusals > MAX_REFUSALS:
            self._simplify(status, error, body)
        else:
            words = own_words(body, self._body)
            target.learn(name, words, EVERYONE if is_credible(status, words, name, self._body) else self._unseal.tenant)

    def repeats(self, error: AntiphonError) -> bool:
        """Return whether to send the request again unchanged: the service could not parse the model's call."""
        if error.code != UNPARSED or self._is_repeated:
            return False
        self._is_repeated = True
        return True

    def learn_schema(self, error: AntiphonError) -> bool:
        """The answer was an error that may concern a schema. Return whether another request may succeed."""
        return self._learns_schema(REJECTED, error.message.encode())

    def confirm(self) -> None:
        """Chat accepted the request that the Responses API rejected: so the request was not invalid."""
        suspects, self.suspects = self.suspects, None
        if suspects is not None and suspects[0] is self.target:
            for name in suspects[1]:
                self.target.learn(name, "")

    def shortens_next(self) -> bool:
        """The backend found the request too long. Return whether the next one can be shorter: `next` shortens it.

        Measuring a long conversation takes a while, and the next step is decided outside the event loop.
        """
        if self.thins_out:
            self.is_too_long = has_older_turns(self.items) or thin_out(self.items) is not None
        else:
            self.is_too_long = self.request.truncation == "auto" and has_older_turns(self.items)
        return self.is_too_long

    def shorten(self, limit: int | None = None) -> bool:
        """Drop the oldest turns until a conversation of `limit` tokens remains; return whether any were dropped.

        Without `limit`, it is the largest power of two below the tokens of the request that the backend rejected,
        so that it stays the same for many turns. A conversation that must not be shortened is left unchanged.
        """
        self.is_too_long = False
        if not (self.thins_out or self.request.truncation == "auto"):
            return False
        shorter = self._without_oldest(limit)
        if shorter is None and self.thins_out:
            shorter = thin_out(self.items)
        if shorter is None:
            return False
        self._history = max(0, self._history - (len(self.items) - len(shorter)))
        self.items = shorter
        return True

    def _without_oldest(self, limit: int | None) -> list[InputItem] | None:
        """Return fewer items, None if only one turn is left."""
        turns = self._all_turns()
        if limit is None:
            before = self._kept or turns.tokens
            limit = 1 << ((before - 1).bit_length() - 1) if before > 1 else 0
        while True:
            self._kept = limit
            shorter = turns.within(limit)
            if shorter is not None and len(shorter) < len(self.items):
                return shorter
            if limit == 0:
                return None
            limit //= 2

    def _all_turns(self) -> Turns:
        if self._turns is None:
            self._turns = Turns(self.items, with_reasoning=self.target.dialect.replay != "never")
        return self._turns

    def _falls_back(self, status: int, body: bytes) -> bool:
        """Whether a backend with an apparent Responses API rejected a request that may succeed over Chat.

        The rejected parameter is not sent to that API any more once Chat has succeeded.
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
        """Return whether a schema error teaches what to omit; without a lesson, services report it to their client.

        Each lesson removes something from the schemas, so the retries end.
        """
        if self.api == "responses" or not self.target.dialect.checks_answers:
            return False
        lesson = refused_schema(status, body, self._body)
        if lesson is not None:
            # A guess from the schemas of this request says nothing about those of other tenants.
            tenant = EVERYONE if is_named(body, lesson) else self._unseal.tenant
            self.target.learn(lesson, own_words(body, self._body), tenant)
        return lesson is not None

    # A refusal that nothing explains.

    def accepted(self) -> None:
        """The backend answered: conclude from what was simplified for it."""
        if (one := self._current()) is not None:
            one.accepted()

    @property
    def first_refusal(self) -> AntiphonError | None:
        """The error of the request that is sent once more in its plainest form, until that is accepted."""
        one = self._current()
        return one.refusal if one else None

    def _lessons(self) -> frozenset[str]:
        """Return the lessons for this response, and what is simplified for it."""
        lessons, simplified = self.target.lessons, self._current()
        mine = lessons.by_tenant.get(self._unseal.tenant, NOTHING) | (simplified.lessons if simplified else NOTHING)
        # A parameter that the client wrote for the backend itself is refused by the backend, and not here.
        own = self.request.parameters if mine and isinstance(self.request, LocalRequest) else ()
        return lessons.refused | mine.difference(own)

    def _tests(self, request: CreateResponse) -> bool:
        """Return whether the request must be built again, to test a suspicion about its backend."""
        if self.api != "chat" or self._current() is not None:
            return False
        from antiphon.runs.simplified import tested  # noqa: PLC0415 - after refusals alone

        self.simplified = tested(self.target, self._unseal.tenant, request, self._body)
        return self.simplified is not None and bool(self.simplified.lessons)

    def _simplify(self, status: int, error: AntiphonError, body: bytes) -> None:
        """Send the next request in its plainest form. Raises the error if that does not help."""
        from antiphon.runs.simplified import plainest  # noqa: PLC0415

        if self.api != "chat" or self._is_simplified:
            raise error
        tenant, before, refusal = self._unseal.tenant, self._current(), (status, error, body)
        after = plainest(self.target, tenant, self.request, self._body, before, refusal)
        if after is None:
            raise error
        self._is_simplified, self.simplified = True, after

    def _current(self) -> "Simplified | None":
        """Return what is simplified for the backend in use."""
        one = self.simplified
        return one if one is not None and one.target is self.target else None

    def _refused_name(self, status: int, body: bytes) -> str | None:
        if self.api == "responses":
            return refused_field(status, body, self._body, self.request.include)
        return refused_parameter(status, body, self._body)


def _countable(built: BuiltRequest) -> Body:
    return countable(built.body) if built.api == "responses" else built.body
