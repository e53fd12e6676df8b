"""Which call a delta of `tool_calls` belongs to, and when that call is open.

Backends differ: parallel calls all at index 0 (Gemini), no index (Mistral), no id (Gemini,
Alibaba), the id or the name in every delta, arguments before the name, the name in pieces, whole
calls at once, interleaved arguments.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from antiphon.errors import log
from antiphon.protocol.items.content import MAX_CALL_ID, SEALED_CALL, Status
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.dialects.dialect import SIGNED_ID
from antiphon.translation.from_chat.call_names import closest_name
from antiphon.translation.from_chat.text_filters import SurrogateJoiner
from antiphon.translation.hosted_items import streaming
from antiphon.translation.signed_calls import SIGNED_CALL, item_of, sealed_id
from antiphon.translation.tool_items import PREFIXES, StreamingCall
from antiphon.translation.writer import ResponseWriter

MAX_NAME = 128
"""Characters of names that clients send back to us (specification section 5)."""


@dataclass(slots=True)
class CallDelta:
    """What one chunk contains of a call; a field is empty if the chunk does not have it."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class _Call:
    """One call of the backend: waiting for its name, open, or closed."""

    def __init__(self) -> None:
        self.id = ""
        self.call_id = ""
        """The id that the client sees: the backend's if it is usable."""
        self.name = ""
        self.early: list[str] = []
        """Arguments that arrived before the name."""
        self.stream: StreamingCall | None = None
        self.stored: dict[str, Any] = {}
        """Fields that the call needs when it goes back to the backend."""
        self.is_closed = False
        self.is_muted = False
        """The call is not allowed: it is read to its end like any other, and the client does not
        receive it.
        """

    def is_whole(self) -> bool:
        return self.stream is not None and self.stream.is_whole()


class StreamingCalls:
    """The calls of one backend answer.

    `make_room` is called before a call opens. `offers` are the tools that the request offers: a
    name that only begins one of theirs waits for its rest. `allowed` are the names that can be
    called, None if all can. `taken` are the call ids that the conversation already has. With
    `only_one`, calls after the first are dropped: the client wants no parallel calls. Of the tools
    that this server runs, `hosted_left` calls are accepted, None for any number.
    """

    def __init__(
        self,
        writer: ResponseWriter,
        make_room: Callable[[], None],
        offers: Mapping[str, Offer],
        taken: Collection[str] = (),
        *,
        allowed: Collection[str] | None = None,
        only_one: bool = False,
        hosted_left: int | None = None,
    ) -> None:
        self._writer = writer
        self._make_room = make_room
        self._offers = offers
        self._taken = set(taken)
        self._allowed = allowed
        self._only_one = only_one
        self._hosted_left = hosted_left
        self.are_used_up = False
        """Calls that this server would have run were dropped."""
        self.is_cut = False
        """There was another call next to the only one."""
        self.retained: list[StreamingCall] = []
        """Calls that are over, and need further processing."""
        self.begun = 0
        """How many calls began, except those that are not allowed."""
        self._last: _Call | None = None
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        # Ordered sets: those not closed yet, and of these the ones to check when an item begins.
        self._live: dict[_Call, None] = {}
        self._grown: dict[_Call, None] = {}

    def __bool__(self) -> bool:
        return self._last is not None

    def find(self, index: Any, delta: CallDelta) -> _Call:
        """Return the call that this delta belongs to, a new one if it belongs to none so far."""
        known = self._by_index.get(index) if isinstance(index, int) else self._without_index(delta)
        if known is not None and not self._is_another(known, delta):
            return known
        self._open_known()
        self.is_cut = self._only_one and self._last is not None and not self._last.is_muted
        call = self._last = _Call()
        self.begun += 1
        call.is_closed = self.is_cut
        if not self.is_cut:
            self._live[call] = None
        if isinstance(index, int):
            self._by_index[index] = call
        if delta.id:
            self._by_id[delta.id] = call
        return call

    def call_id(self, call: _Call, delta: CallDelta) -> str:
        """Return the id that the client sees of this call, open or not."""
        call.id = call.id or delta.id
        return self._settle_id(call, call.name or delta.name)

    def feed(self, call: _Call, delta: CallDelta) -> None:
        """Add a delta to a call."""
        if call.is_closed:
            return
        call.id = call.id or delta.id
        if call.stream is not None:
            self._grow(call, call.stream, delta.arguments)
            return
        if delta.name != call.name:
            call.name += delta.name
        if delta.arguments:
            call.early.append(delta.arguments)
        if self._is_named(call):
            self._open(call)

    def close_whole(self) -> None:
        """Close the calls with complete arguments: another item begins."""
        grown = self._grown
        self._grown = {}
        for call in grown:
            if call.is_whole():
                self._close(call, "completed")

    @property
    def are_torn(self) -> bool:
        """Whether the arguments of a call are truncated."""
        return any(
            call.stream is not None and call.stream.arguments and not call.is_whole()
            for call in self._live
        )

    def open_named(self) -> None:
        """Open the calls with a name that was not certain to have ended: nothing follows."""
        for call in tuple(self._live):
            if call.stream is None and call.name:
                self._open(call)

    def close(self, status: Status) -> None:
        """Close every call: the backend's answer is over.

        An entry that never had a name is not a call.

        If the answer was truncated, so is the item that it ended in, and a call with truncated
        arguments.
        """
        for call in tuple(self._live):
            is_safe = call.is_whole() and call.stream is not None and not call.stream.is_newest
            self._close(call, "completed" if is_safe else status)
        self._make_room = _no_room

    # Which call a delta belongs to.

    def _without_index(self, delta: CallDelta) -> _Call | None:
        if delta.id:
            return self._by_id.get(delta.id)
        is_other = self._last is not None and delta.name not in ("", self._last.name)
        return None if is_other else self._last

    def _is_another(self, known: _Call, delta: CallDelta) -> bool:
        """Whether a delta that seems to belong to a known call starts another."""
        if delta.id and known.id:
            return delta.id != known.id and bool(delta.name or known.is_closed)
        if not delta.name or known.stream is None:
            return False
        if delta.name != known.name and delta.name in self._offers:
            return True
        return bool(delta.arguments) and known.is_whole()

    # The name of a call.

    def _is_named(self, call: _Call) -> bool:
        if not call.name:
            return False
        if self._begins_another(call.name):
            return call.name in self._offers and bool(call.early)
        # The rest of a name with more than the tool's name in it can follow, so only its arguments
        # show its end.
        return call.name in self._offers or not self._offers or bool(call.early)

    def _begins_another(self, name: str) -> bool:
        return any(other != name and other.startswith(name) for other in self._offers)

    def _open_known(self) -> None:
        """Open the last call if it waited only because its name could have continued."""
        call = self._last
        if call is None or call.stream is not None or not call.name:
            return
        if call.name in self._offers or not self._begins_another(call.name):
            self._open(call)

    def _settle_id(self, call: _Call, name: str) -> str:
        if not call.call_id:
            is_free = call.id and call.id not in self._taken and len(call.id) <= MAX_CALL_ID
            own = (
                call.id
                if is_free
                else self._writer.new_id(SIGNED_CALL if SIGNED_ID in call.stored else "call")
            )
            call.call_id = self._sealed_id(call.stored, name) or own if call.stored else own
            self._taken.add(call.call_id)
        return call.call_id

    def _sealed_id(self, stored: Mapping[str, Any], name: str) -> str:
        """Return an id that contains the signature of a call, empty if the client needs none.

        The output of a local shell has the call's id in a field of at most 512 characters. A name
        that is not complete yet, or misspelt, can be that of any tool.
        """
        if not self._writer.view.signed_ids:
            return ""
        possible = [self._offers[name]] if name in self._offers else self._offers.values()
        if any(offer.is_hosted or offer.kind == "local_shell" for offer in possible):
            return ""
        signature = {SIGNED_ID: stored[SIGNED_ID]} if SIGNED_ID in stored else stored
        return sealed_id(self._writer.seal({"calls": {"": signature}}))

    # The life of a call.

    def _open(self, call: _Call) -> None:
        self._make_room()
        self.close_whole()
        offer = self._offers.get(call.name) or closest_name(
            call.name[:MAX_NAME], self._offers.values()
        )
        call_id = self._settle_id(call, call.name)
        writer = self._writer_of(call, offer)
        is_signed = SIGNED_ID in call.stored and not (
            offer.is_hosted or call_id.startswith(SEALED_CALL)
        )
        item_id = item_of(call_id, PREFIXES[offer.kind]) if is_signed else ""
        call.stream = streaming(writer, call_id, offer, item_id)
        if item_id:
            writer.sealed[item_id] = writer.seal(
                {"calls": {call_id: {SIGNED_ID: call.stored[SIGNED_ID]}}}
            )
        self._grow(call, call.stream, "".join(call.early))

    def _writer_of(self, call: _Call, offer: Offer) -> ResponseWriter:
        """Return where a call is written: to the side if the client ruled it out (specification
        section 17, rule 8).

        The same applies if the limit of calls that this server runs is reached (section 2,
        `max_tool_calls`).
        """
        call.is_muted = self._allowed is not None and not {call.name, offer.chat_name}.intersection(
            self._allowed
        )
        if call.is_muted:
            log.warning(
                "Dropped a call of the tool %r: the request does not allow this tool.",
                call.name[:MAX_NAME],
            )
        elif self._hosted_left is not None and offer.is_hosted and not offer.needs_approval:
            call.is_muted = self.are_used_up = self._hosted_left <= 0
            self._hosted_left -= 1
        self.begun -= call.is_muted
        return self._writer.aside() if call.is_muted else self._writer

    def _grow(self, call: _Call, stream: StreamingCall, arguments: str) -> None:
        if arguments:
            stream.add(arguments)
            self._grown[call] = None

    def _close(self, call: _Call, status: Status) -> None:
        call.is_closed = True
        del self._live[call]
        self._grown.pop(call, None)
        retained = call.stream.close(status) if call.stream is not None else None
        if retained is not None and not call.is_muted:
            retained.stored = call.stored
            self.retained.append(retained)


def read_call(value: dict[str, Any], surrogates: SurrogateJoiner) -> CallDelta:
    """Return the content of an element of `tool_calls`; Ollama and others send arguments as an
    object.
    """
    function = value.get("function")
    if not isinstance(function, dict):
        function = {}
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    arguments = _text(arguments)
    if surrogates.halves or not arguments.isascii():
        arguments = surrogates.whole(f"arguments {value.get('index')}", arguments)
    return CallDelta(
        id=_text(value.get("id")), name=_text(function.get("name")), arguments=arguments
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _no_room() -> None:
    """Opens nothing any more; the objects that made room can be released."""
