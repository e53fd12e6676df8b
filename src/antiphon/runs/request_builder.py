"""Builds the requests of one response for a backend, and adapts them after
the backend rejects one.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from antiphon.access.unseal import Unsealer, state_origin
from antiphon.history.truncate import INSTRUCTING, Turns, has_older_turns, thin_out
from antiphon.protocol.items.messages import ConfigurationUpdate, InputItem, ItemList
from antiphon.protocol.requests import CreateResponse, TranslatedRequest
from antiphon.protocol.tools import Tool
from antiphon.runs.corrections import text_check
from antiphon.runs.loops import nudged
from antiphon.translation.checked_items import TextCheck
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.dialects.output_limits import (
    WINDOW_LESSON,
    learned_limit,
    listed_limit,
)
from antiphon.translation.files import NONE_READ
from antiphon.translation.to_chat_completions.adjustments import CHOICE, OMITTED
from antiphon.translation.to_chat_completions.cut_prompts import is_longer
from antiphon.translation.to_chat_completions.foreign import continue_text, limit_output
from antiphon.translation.to_chat_completions.marks import Token
from antiphon.translation.to_chat_completions.request import Body, configured, to_chat
from antiphon.translation.to_chat_completions.tokens import tokens_of
from antiphon.translation.to_responses.request import countable, to_responses
from antiphon.translation.tool_mapping.choice import allowed_names
from antiphon.translation.tool_mapping.offering import WITH_TOOLS, Toolbox, toolbox_of
from antiphon.translation.writer import Note
from antiphon.upstream.backend_errors import beyond_window
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.context_window import context_window

if TYPE_CHECKING:
    from antiphon.runs.refusals import Refusals

ANSWER = 1024
"""Tokens of a model's window that are reserved for its answer if the request sets no limit."""

ANSWER_SHARE = 8
"""Maximum fraction of the window for that: one eighth."""

STEPS = 16
"""A prompt is shortened to a multiple of the window divided by this."""


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
    """Builds the requests of one response.

    `items` is its conversation; the first `history` items came before it.
    """

    def __init__(
        self,
        request: CreateResponse,
        items: Sequence[InputItem],
        history: int,
        target: ModelTarget,
        unseal: Unsealer,
        supported: Collection[type[Tool]],
    ) -> None:
        self.request = request
        self.items = items
        self.target = target
        """The backend and the model; another one after the first failed before its first byte."""
        self.files = NONE_READ
        """The files of the conversation that were read."""
        self.thins_out = False
        """The request is for a summary: details can be missing from the context, but the summary
        must be generated.
        """
        self.api: Api = "chat"
        """The API of the request that was built last."""
        self._history = history
        self._unseal = unseal
        self.tenant = unseal.tenant
        self.token: Token = unseal.token
        self._supported = supported
        self.body: Body = {}
        """The request that was built last."""
        self.refusals: Refusals | None = None
        """What follows from refusals; None without any."""
        self._is_plain = False
        """The backend is called without a stream, though the client requested one."""
        self.demands_call = False
        """The request that was built last asks for a call, and cannot force it."""
        self.is_too_long = False
        """The backend rejected the last request, and a shorter one follows."""
        self._turns: Turns | None = None
        """The turns of the whole conversation, once it has to be shortened."""
        self._saved = 0
        """The token limit to which it was shortened."""

    def api_for(self, request: CreateResponse, items: Sequence[InputItem]) -> Api:
        """Return the API for the next request."""
        if self.refusals is not None and self.refusals.goes_by_chat:
            return "chat"
        return self.target.api_for(request, items)

    def toolbox(self, items: Sequence[InputItem]) -> Toolbox:
        """Return the tools in force after this conversation."""
        return toolbox_of(self.request, items, self.target.dialect, self._supported)

    def build(
        self,
        request: CreateResponse,
        items: Sequence[InputItem],
        limit: Callable[[Toolbox], None] | None = None,
    ) -> BuiltRequest:
        """Return the request to send; `limit` removes offered tools.

        Raises `ClientError` if it cannot be served here.

        Raises `UnreadFile` if a file has to be read first.
        """
        target = self.target
        dialect = target.dialect
        lessons = target.lessons
        defaults = target.defaults
        provided = request, items
        is_usual = self.refusals is None and not lessons.by_tenant
        refused = lessons.refused if is_usual else self.refused().lessons()
        api = "chat" if target.api == "chat" else self.api_for(request, items)
        self.api = api
        if defaults is not None:
            request = defaults.complete(request, items)
        if api == "responses":
            built = self._for_responses(request, items, refused)
            is_tested = lessons.suspicions is not None and self.refused().tests(request)
            return self.build(*provided, limit) if is_tested else built
        if isinstance(items, ItemList) and ConfigurationUpdate in items.kinds:
            request = configured(request, items)
        taught = dialect.taught(refused) if refused else dialect
        is_bare = (
            request.tools is None
            and isinstance(items, ItemList)
            and items.kinds.isdisjoint(WITH_TOOLS)
        )
        toolbox = Toolbox() if is_bare else toolbox_of(request, items, taught, self._supported)
        if limit is not None:
            limit(toolbox)
        note = None
        if dialect.checks_answers and not is_bare:
            items, note = nudged(items, target.state.options.loop_calls)
        adjusted: list[str] = []
        self.body = to_chat(
            request,
            items,
            dialect,
            refused,
            toolbox=toolbox,
            unseal=self._unseal,
            token=self.token,
            history=self._history,
            files=self.files,
            adjusted=adjusted,
        )
        self.body["model"] = target.model
        if defaults is not None:
            defaults.fill(self.body, request, refused)
        if isinstance(request, TranslatedRequest):
            adjusted += self._complete(request, refused)
        if refused:
            adjusted += self.refused().adapt(request, items, refused)
        if self._is_plain:
            self.body = {**self.body, "stream": False}
            self.body.pop("stream_options", None)
        if lessons.suspicions is not None and self.refused().tests(request):
            return self.build(*provided, limit)
        allowed = (
            None
            if request.tool_choice is None
            else allowed_names(toolbox, request.tool_choice, taught)
        )
        self.demands_call = not taught.forces_calls and CHOICE in adjusted
        check = None
        if request.text is not None and (
            dialect.checks_answers or not taught.formats_here(toolbox.offers)
        ):
            check = text_check(request, items, self.body, is_doubtful=target.is_loose)
        return BuiltRequest(self.body, toolbox, allowed, api, check, note, adjusted)

    def _for_responses(
        self, request: CreateResponse, items: Sequence[InputItem], refused: frozenset[str]
    ) -> BuiltRequest:
        """Return the request for the backend's own Responses API; it is complete
        with the operator's defaults.
        """
        target = self.target
        refusals = self.refusals
        self.demands_call = False
        origin = "" if refusals is not None and refusals.is_without_blobs else state_origin(target)
        self.body = to_responses(
            request,
            items,
            target.dialect,
            refused,
            unseal=self._unseal,
            origin=origin,
            files=self.files,
        )
        self.body["model"] = target.model
        if target.defaults is not None:
            target.defaults.fill(self.body, request, refused, "responses")
        adjusted = []
        if isinstance(request, TranslatedRequest):
            adjusted += self._complete(request, refused)
        if refused:
            adjusted += self.refused().adapt(request, items, refused)
        return BuiltRequest(self.body, Toolbox(), None, "responses", adjusted=adjusted)

    def _complete(self, request: TranslatedRequest, refused: frozenset[str]) -> list[str]:
        """Add what a request has that was made in another API; return the names of what is omitted.

        An answer that a stop sequence can end is streamed, so that its backend ends too.
        """
        body = self.body
        omitted = []
        for name, value in request.optional.items():
            if self.target.accepts((name,)):
                body.setdefault(name, value)
            elif name in OMITTED:
                omitted.append(OMITTED[name])
        if request.stop and not self._is_plain:
            body["stream"] = True
        target = self.target
        window = context_window(target.state, target.model, target.name)
        learned = None
        if refused:
            learned = learned_limit(refused)
            if (stated := learned_limit(refused, WINDOW_LESSON)) is not None:
                window = min(window or stated, stated)
        limit_output(body, window, learned, listed_limit(target.state.listed(target.model)))
        if request.is_prefilled:
            continue_text(body, self.target.dialect if self.api == "chat" else None)
        return omitted

    def fitted(self, built: BuiltRequest, build: Callable[[], BuiltRequest]) -> BuiltRequest:
        """Return a request to a model with a known window, shortened and built again until it
        fits the window.

        Some backends truncate a longer prompt silently, so it is not sent. A prompt that must not
        be shortened is sent as it is, because the window can be larger than when it was measured.
        But if a backend is known to truncate, a prompt that is too long by any count raises
        `ClientError` (400, `context_length_exceeded`).
        """
        window = self.target.window
        limit = 0
        while window is not None and (size := self._size(built)) > window - self._room(window):
            limit = limit * 3 // 4 or self._limit(window, built)
            if not self.shorten(limit):
                is_doubtful = (
                    size <= window or built.api != "chat" or not self.target.dialect.cuts_prompts
                )
                if is_doubtful or not is_longer(built.body, window):
                    break
                raise beyond_window(self.target.name, window)
            built = build()
        return built

    def _room(self, window: int) -> int:
        """Return the tokens of the window that are reserved for the answer, if the prompt can be
        shortened for it.
        """
        return self.request.max_output_tokens or min(ANSWER, window // ANSWER_SHARE)

    def _limit(self, window: int, built: BuiltRequest) -> int:
        """Return the token limit of the turns, in steps so that small changes of the instructions
        do not change it.
        """
        body = _countable(built)
        instructions = [
            one
            for one in body["messages"]
            if one.get("role", one.get("type", "system")) in INSTRUCTING
        ]
        others = tokens_of({**body, "messages": instructions}) + self._all_turns().retained_tokens
        step = max(1, window // STEPS)
        return max(1, (window - self._room(window) - others) // step) * step

    @staticmethod
    def _size(built: BuiltRequest) -> int:
        return tokens_of(_countable(built))

    # After a rejection.

    def requests_plain(self) -> bool:
        """The answer broke off without output.

        Return whether to send the request again without a stream.

        llama-cpp-python reports an invalid request only if it is not streamed.
        """
        if (
            self._is_plain
            or not self.body.get("stream")
            or not self.target.dialect.streams_hide_errors
        ):
            return False
        self._is_plain = True
        return True

    def refused(self) -> "Refusals":
        """Return what follows from refusals: the backend refused a request, or has before."""
        if self.refusals is None:
            from antiphon.runs.refusals import Refusals  # noqa: PLC0415 - after refusals alone

            self.refusals = Refusals(self)
        return self.refusals

    def shortens_next(self) -> bool:
        """The backend found the request too long.

        Return whether the next one can be shorter: `next` shortens it.

        Measuring a long conversation takes a while, and the next step is decided outside
        the event loop.
        """
        if self.thins_out:
            self.is_too_long = has_older_turns(self.items) or thin_out(self.items) is not None
        else:
            self.is_too_long = self.request.truncation == "auto" and has_older_turns(self.items)
        return self.is_too_long

    def shorten(self, limit: int | None = None) -> bool:
        """Drop the oldest turns until a conversation of `limit` tokens remains; return whether
        any were dropped.

        Without `limit`, it is the largest power of two below the tokens of the request that the
        backend rejected, so that it stays the same for many turns. A conversation that must not be
        shortened is left unchanged.
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
            before = self._saved or turns.tokens
            limit = 1 << ((before - 1).bit_length() - 1) if before > 1 else 0
        while True:
            self._saved = limit
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


def _countable(built: BuiltRequest) -> Body:
    return countable(built.body) if built.api == "responses" else built.body
