"""Calls of a client's own tools while their arguments arrive, and the base of all calls
(specification section 16).

A function call streams its arguments. A custom tool's call streams the text inside them; it is held
until it is complete if a grammar must be matched.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol import events
from antiphon.protocol.items.calls import (
    CustomToolCall,
)
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.items.messages import FunctionCall
from antiphon.protocol.json_members import decode_value
from antiphon.protocol.tool_bindings import Kind, Offer
from antiphon.translation.json_strings import JsonStrings, Path
from antiphon.translation.writer import ResponseWriter, padding

PREFIXES: dict[Kind, str] = {
    "function": "fc",
    "custom": "ctc",
    "tool_search": "tsc",
    "local_shell": "lsh",
    "shell": "sh",
    "apply_patch": "apc",
    "computer": "cu",
    "computer_use_preview": "cu",
    "mcp": "mcp",
    "web_search": "ws",
    "file_search": "fs",
    "code_interpreter": "ci",
    "image_generation": "ig",
}
"""The prefix of the ids of each kind's calls."""


Named = TypeVar("Named", FunctionCall, CustomToolCall)


class StreamingCall:
    """A function call, and the base of all calls. Its tool is known from the start."""

    def __init__(
        self, writer: ResponseWriter, call_id: str, offer: Offer, item_id: str = ""
    ) -> None:
        self.writer = writer
        self._obfuscate = writer.view.obfuscation
        self.offer = offer
        self.id = item_id or writer.new_id(PREFIXES[offer.kind])
        self.call_id = call_id
        self.stored: Mapping[str, Any] = {}
        """Fields that a held call needs when it goes back to the backend."""
        self._arguments: list[str] = []
        self._length = 0
        self._output_index = -1
        self._begin()

    @property
    def arguments(self) -> str:
        """The arguments so far, as the model writes them."""
        return "".join(self._arguments)

    @property
    def is_newest(self) -> bool:
        """Whether no item opened after this one."""
        return self._output_index in (-1, self.writer.newest)

    def is_whole(self) -> bool:
        """Whether the arguments are a complete JSON object."""
        last = self._arguments[-1].rstrip() if self._arguments else "{"
        return (not last or last.endswith("}")) and read_object(self.arguments) is not None

    def add(self, delta: str) -> None:
        """Append to the arguments. A backend that repeats all of them at the end is ignored."""
        if len(delta) == self._length and delta == self.arguments and self.is_whole():
            return
        self._arguments.append(delta)
        self._length += len(delta)
        self._grow(delta)

    def close(self, status: Status) -> "StreamingCall | None":
        """End the call. Returns it if it needs further processing before its item ends."""
        # Clients parse arguments as JSON.
        if status == "completed" and not self.arguments.strip():
            self.add("{}")
        arguments = self.arguments
        event = events.ResponseFunctionCallArgumentsDoneEvent(
            output_index=self._output_index, item_id=self.id, arguments=arguments
        )
        self.writer.emit(event)
        self._close(self._function(status, arguments))
        return None

    # Specific to each kind.

    def _begin(self) -> None:
        self._open(self._function("in_progress", ""))

    def _grow(self, delta: str) -> None:
        event = events.ResponseFunctionCallArgumentsDeltaEvent(
            output_index=self._output_index, item_id=self.id, delta=delta
        )
        self._emit_padded(event, delta)

    # Common to all kinds.

    def _open(self, item: Item) -> None:
        self._output_index = self.writer.open_item(item)

    def _close(self, item: Item) -> None:
        self.writer.close_item(self._output_index, item)

    def _emit_padded(self, event: Any, delta: str) -> None:
        if self._obfuscate:
            event.obfuscation = padding(delta)
        self.writer.emit(event)

    def _named(self, call: Named) -> Named:
        """Return a call with the fields of its tool in addition to the name."""
        if self.offer.displayed_namespace:
            call.namespace = self.offer.displayed_namespace
        if self.offer.is_async:
            call.async_ = True
        return call

    def _function(self, status: Status, arguments: str) -> FunctionCall:
        call = FunctionCall(
            id=self.id,
            status=status,
            call_id=self.call_id,
            name=self.offer.name,
            arguments=arguments,
        )
        return self._named(call)


class StreamingCustomCall(StreamingCall):
    """A custom tool's call: the text is the first string of the arguments, otherwise all of
    them.
    """

    kind = "custom_input"
    complaint = "The input of a custom tool does not fit its grammar."
    failure: BackendError | None = None

    def _begin(self) -> None:
        self._strings = JsonStrings()
        self._text: list[str] = []
        self._place: Path | None = None
        self.is_reported = self.offer.misfit is None
        self.misfit = ""
        """What is wrong with the input of a held call."""
        self._open(self._custom("in_progress", ""))

    def _grow(self, delta: str) -> None:
        for path, piece, _ in self._strings.feed(delta):
            if self._place is None and len(path) < 2:
                self._place = path
            if piece and path == self._place:
                self._emit(piece)

    def _emit(self, piece: str) -> None:
        self._text.append(piece)
        if self.is_reported:
            self._emit_delta(piece)

    def _emit_delta(self, piece: str) -> None:
        event = events.ResponseCustomToolCallInputDeltaEvent(
            output_index=self._output_index, item_id=self.id, delta=piece
        )
        self._emit_padded(event, piece)

    def close(self, status: Status) -> StreamingCall | None:
        """See `StreamingCall.close`."""
        if self._place is None and self.arguments.strip():
            self._emit(bare(self.arguments))
        text = self.text
        if self.offer.misfit is not None and status == "completed":
            self.misfit = self.offer.misfit(text)
            if self.misfit:
                self.writer.waiting[self._output_index] = lambda: self.settle(text)
                return self
        self._end(status, text)
        return None

    @property
    def text(self) -> str:
        """The input so far."""
        return "".join(self._text)

    def fitting(self, items: Sequence[Item]) -> str | None:
        """Return the matching input of another answer, None if it has none."""
        calls = [
            one for one in items if isinstance(one, CustomToolCall) and one.status == "completed"
        ]
        fits = (
            bool(calls) and self.offer.misfit is not None and not self.offer.misfit(calls[0].input)
        )
        return calls[0].input if fits else None

    def settle(self, text: str) -> None:
        """End a held call with this input."""
        self._end("completed", text)

    def _end(self, status: Status, text: str) -> None:
        if text and not self.is_reported:
            self._emit_delta(text)
        event = events.ResponseCustomToolCallInputDoneEvent(
            output_index=self._output_index, item_id=self.id, input=text
        )
        self.writer.emit(event)
        self._close(self._custom(status, text))

    def _custom(self, status: Status, text: str) -> CustomToolCall:
        call = CustomToolCall(
            id=self.id, status=status, call_id=self.call_id, name=self.offer.name, input=text
        )
        return self._named(call)


def bare(arguments: str) -> str:
    """Return the input that a model wrote without the string of the schema."""
    value = read_object(arguments)
    if value is None:
        return arguments
    inner = next(iter(value.values()), "") if len(value) == 1 else value
    return inner if isinstance(inner, str) else msgspec.json.encode(inner).decode() if inner else ""


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, None if it contains none."""
    try:
        value = decode_value(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
