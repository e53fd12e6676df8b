"""What every call of a tool that this server runs has, while the model writes it and while it is carried out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import to_builtins

from antiphon.protocol.events import STEP_EVENTS
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.sources import MadeFile, Sources
from antiphon.translation.tool_items import StreamingCall, read_object

APART = "~"
"""Stands between two sealed states of one item. The second is large, and opened only where a client asks for it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call: the fields that its item shows, and what the model reads in this and every later turn."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    said: Any = ""
    """Text, or parts as they go to the model."""
    sources: Sources = field(default_factory=dict)
    """What the model may cite of it."""
    first: int = 0
    """How many there were to cite before."""
    is_failed: bool = False
    files: Sequence[MadeFile] = ()
    """Files of a container that the call made or changed."""
    apart: str = ""
    """What `HostedCall.apart` returns, sealed."""


class HostedCall(StreamingCall, ABC):
    """What every call of this server's own tools has: it stays open until `end`."""

    item_type = ""
    joins_next = False
    """The call after it is of the same answer."""
    unreadable = "The arguments are not a JSON object."
    """What the model reads where `use` returns None."""
    outputs: Sequence[tuple[int, Item]] = ()
    """Items of their own that `end` emitted behind the call's item, by their output indexes."""

    def _begin(self) -> None:
        self._open_held(self._item("in_progress", {}))
        self._step("in_progress")

    def _grow(self, delta: str) -> None:
        """Wait."""

    def close(self, status: Status) -> StreamingCall | None:
        """End what the model says of the call. Returns the call, to be carried out, unless it was cut."""
        if status != "completed":
            self._cut()
            self.drop()
            return None
        self._tell_arguments()
        self.writer.waiting[self._output_index] = self.drop
        return self

    @property
    def output_index(self) -> int:
        """The place of its item."""
        return self._output_index

    @property
    def container_id(self) -> str:
        """The container in which it runs; empty for tools that need none."""
        return self.offer.container_id or self.writer.containers.get(self.offer.kind, "")

    def use(self) -> Mapping[str, Any] | None:
        """Return the arguments as the tool takes them, None where they cannot be read."""
        return read_object(self.arguments)

    def fill(self, arguments: str) -> None:
        """Take arguments that are known: one event has all of them."""
        self._arguments = [arguments]
        self._length = len(arguments)

    def run(self) -> None:
        """It is being carried out."""

    def report(self, fields: Mapping[str, Any]) -> None:
        """Show the client progress of the call."""

    def end(self, result: Result) -> Item:
        """It was carried out; return its item."""
        item = self._item("failed" if result.is_failed else "completed", result.fields)
        self._step("failed" if result.is_failed else "completed")
        return self._end(item, result)

    def drop(self) -> None:
        """The call is not executed."""
        self._close(self._item("incomplete", {}))

    def _tell_arguments(self) -> None:
        """Say that they are whole."""

    def _cut(self) -> None:
        """Say how far they came."""

    def _open_held(self, item: Item) -> None:
        self._open(item)
        self.writer.hold(self._output_index)

    def _step(self, step: str) -> None:
        event = STEP_EVENTS.get((self.item_type, step))
        if event is not None:
            self.writer.emit(event(output_index=self._output_index, item_id=self.id))

    def _end(self, item: Any, result: Result) -> Item:
        self.writer.sealed[self.id] = blob = self._sealed(result)
        if self.writer.view.encrypted:
            item.encrypted_content = blob
        self._close(item)
        ended: Item = item
        return ended

    def apart(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that are kept with the item and that its client does not see unless it asks later."""
        return {}

    def _sealed(self, result: Result) -> str:
        """Return what is kept with the item."""
        blob, apart = self.writer.seal(self._kept(result)), result.apart
        if not apart and (fields := self.apart(result.fields)):
            apart = self.writer.seal(fields)
        return f"{blob}{APART}{apart}" if apart else blob

    def _kept(self, result: Result) -> dict[str, Any]:
        """Return what the model sees of the call on later turns."""
        kept: dict[str, Any] = {
            "call": {
                "id": self.call_id,
                "name": self.offer.name,
                "arguments": self.arguments or "{}",
                "joins_next": self.joins_next,
            },
            "said": result.said,
            "sources": to_builtins(result.sources),
            "first": result.first,
        }
        return kept | {"files": to_builtins(result.files)} if result.files else kept

    @abstractmethod
    def _item(self, status: Any, fields: Mapping[str, Any]) -> Any:
        """Return the item as it is with this status."""
