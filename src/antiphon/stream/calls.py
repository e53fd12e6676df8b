"""Which call a delta of `tool_calls` belongs to, and when that call is open.

Backends disagree: parallel calls all at index 0 (Gemini), no index (Mistral), no id (Gemini, Alibaba), the id or the
name on every delta, arguments before the name, the name in pieces, whole calls at once, interleaved arguments.
"""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from antiphon.protocol.items import Status
from antiphon.stream.items import CallDelta, StreamingCall
from antiphon.stream.surrogates import SurrogateJoiner
from antiphon.stream.writer import ResponseWriter

MAX_CALL_ID = 64


class _Call:
    """One call as the backend tells it: waiting for its name, open, or closed."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.early = ""
        self.stream: StreamingCall | None = None
        self.closed = False

    def is_whole(self) -> bool:
        """Whether the arguments are a complete JSON object."""
        text = self.stream.arguments if self.stream else self.early
        try:
            return isinstance(msgspec.json.decode(text), dict)
        except (ValueError, RecursionError):
            return False


class StreamingCalls:
    """The calls of one backend answer.

    `names` are the functions that the request offers: a name that only begins one of them waits for its rest.
    """

    def __init__(self, writer: ResponseWriter, names: Collection[str] = ()) -> None:
        self._writer = writer
        self._names = names
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._calls)

    def find(self, index: Any, delta: CallDelta) -> tuple[_Call, bool]:
        """Return the call that this delta is of, and whether it is new."""
        known = self._by_index.get(index) if isinstance(index, int) else self._without_index(delta)
        if known is not None and not _is_another(known, delta):
            return known, False
        call = _Call()
        self._calls.append(call)
        self._by_index[index if isinstance(index, int) else -len(self._calls)] = call
        return call, True

    def settle_id(self, call: _Call, delta: CallDelta) -> str:
        """Return the id that this call is to have, before it opens."""
        call.id = self._free_id(call.id or delta.id)
        return call.id

    def feed(self, call: _Call, delta: CallDelta) -> None:
        """Give a call its delta."""
        if call.closed:
            return
        call.id = call.id or delta.id
        if call.stream is None:
            call.name += delta.name if delta.name != call.name else ""
            call.early += delta.arguments
            if self._is_named(call):
                self._open(call)
        elif delta.arguments:
            call.stream.add(delta.arguments)

    def close_whole(self) -> None:
        """Close the calls whose arguments are complete: another item begins."""
        for call in self._open_calls():
            if call.stream and call.is_whole():
                self._close(call, "completed")

    def close(self, status: Status) -> None:
        """Close every call: the backend's answer is over. A call that never got a name is not one."""
        for call in self._open_calls():
            if call.stream is None and call.name:
                self._open(call)
            self._close(call, status)

    def _open_calls(self) -> Iterator[_Call]:
        return (call for call in self._calls if not call.closed)

    def _without_index(self, delta: CallDelta) -> _Call | None:
        if delta.id:
            return next((call for call in self._calls if call.id == delta.id), None)
        return self._calls[-1] if self._calls and not delta.name else None

    def _is_named(self, call: _Call) -> bool:
        if not call.name:
            return False
        return call.name in self._names or not any(name.startswith(call.name) for name in self._names)

    def _open(self, call: _Call) -> None:
        call_id = self._free_id(call.id)
        self._ids.add(call_id)
        call.stream = StreamingCall(self._writer, call_id, call.name)
        if call.early:
            call.stream.add(call.early)

    def _free_id(self, call_id: str) -> str:
        is_free = call_id and call_id not in self._ids and len(call_id) <= MAX_CALL_ID
        return call_id if is_free else self._writer.new_id("call")

    def _close(self, call: _Call, status: Status) -> None:
        call.closed = True
        if call.stream is not None:
            call.stream.close(status)


def read_call(value: dict[str, Any], surrogates: SurrogateJoiner) -> CallDelta:
    """Return what an element of `tool_calls` says; Ollama and others send arguments as an object."""
    function = value.get("function")
    if not isinstance(function, dict):
        function = {}
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    return CallDelta(
        id=_text(value.get("id")),
        name=_text(function.get("name")),
        arguments=surrogates.whole(f"arguments {value.get('index')}", _text(arguments)),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_another(known: _Call, delta: CallDelta) -> bool:
    """Whether a delta at a known call's index starts another call."""
    if not delta.name:
        return False
    if delta.id and known.id:
        return delta.id != known.id
    return known.stream is not None and bool(delta.arguments) and known.is_whole()
