"""The common base of calls of tools that this server runs, while the model writes them and while
they run.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import to_builtins

from antiphon.protocol.events import STEP_EVENTS
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.sources import CreatedFile, Sources
from antiphon.translation.tool_items import StreamingCall, read_object

APART = "~"
"""Separates two sealed states of one item. The second is large, and opened only if a client
requests it.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call: the fields that its item shows, and the text that the model reads in
    this and later turns.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    stated: Any = ""
    """Text, or parts as they go to the model."""
    sources: Sources = field(default_factory=dict)
    """What the model can cite of it."""
    first: int = 0
    """How many citable sources there were before."""
    is_failed: bool = False
    files: Sequence[CreatedFile] = ()
    """Files of a container that the call created or changed."""
    apart: str = ""
    """The result of `HostedCall.apart`, sealed."""
    cpu: float = 0.0
    """CPU seconds of code that the call ran."""
    paused: float = 0.0
    """Seconds for which that code was paused."""


class HostedCall(StreamingCall, ABC):
    """The common base of calls of this server's own tools: a call stays open until `end`."""

    item_type = ""
    joins_next = False
    """Whether the next call belongs to the same answer."""
    unreadable = "The arguments are not a JSON object."
    """The text that the model reads if `use` returns None."""
    outputs: Sequence[tuple[int, Item]] = ()
    """Separate items that `end` emitted after the call's item, by their output indexes."""

    def _begin(self) -> None:
        self._open_buffered(self._item("in_progress", {}))
        self._step("in_progress")

    def _grow(self, delta: str) -> None:
        """Wait."""

    def close(self, status: Status) -> StreamingCall | None:
        """End the arguments of the call. Returns the call, to be run, unless it was truncated."""
        if status != "completed":
            self._cut()
            self.drop()
            return None
        self._emit_arguments()
        self.writer.waiting[self._output_index] = self.drop
        return self

    @property
    def output_index(self) -> int:
        """The output index of its item."""
        return self._output_index

    @property
    def container_id(self) -> str:
        """The container in which it runs; empty for tools that need none."""
        return self.offer.container_id or self.writer.containers.get(self.offer.kind, "")

    def use(self) -> Mapping[str, Any] | None:
        """Return the arguments in the form of the tool, None if they are unreadable."""
        return read_object(self.arguments)

    def fill(self, arguments: str) -> None:
        """Set arguments that are known: one event has all of them."""
        self._arguments = [arguments]
        self._length = len(arguments)

    def run(self) -> None:
        """Mark the call as running."""

    def report(self, fields: Mapping[str, Any]) -> None:
        """Show the client progress of the call."""

    def end(self, result: Result) -> Item:
        """Finish the call with its result; return its item."""
        item = self._item("failed" if result.is_failed else "completed", result.fields)
        self._step("failed" if result.is_failed else "completed")
        return self._end(item, result)

    def drop(self) -> None:
        """Drop the call: it is not run."""
        self._close(self._item("incomplete", {}))

    def _emit_arguments(self) -> None:
        """Mark the arguments as complete."""

    def _cut(self) -> None:
        """Emit the rest of the arguments."""

    def _open_buffered(self, item: Item) -> None:
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
        """Return the fields that are stored with the item and returned only if its client requests
        them later.
        """
        return {}

    def _sealed(self, result: Result) -> str:
        """Return the data that is stored with the item."""
        blob = self.writer.seal(self._saved(result))
        apart = result.apart
        if not apart and (fields := self.apart(result.fields)):
            apart = self.writer.seal(fields)
        return f"{blob}{APART}{apart}" if apart else blob

    def _saved(self, result: Result) -> dict[str, Any]:
        """Return what the model sees of the call in later turns."""
        stored: dict[str, Any] = {
            "call": {
                "id": self.call_id,
                "name": self.offer.name,
                "arguments": self.arguments or "{}",
                "joins_next": self.joins_next,
            },
            "said": result.stated,
            "sources": to_builtins(result.sources),
            "first": result.first,
        }
        return stored | {"files": to_builtins(result.files)} if result.files else stored

    @abstractmethod
    def _item(self, status: Any, fields: Mapping[str, Any]) -> Any:
        """Return the item in its current state, with this status."""
