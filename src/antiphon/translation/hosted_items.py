"""Calls of tools that this server runs (specification section 16): open while the model writes them, held until they
were carried out, and told one after the other.

| Kind | What streams |
|---|---|
| `mcp` | the arguments |
| `mcp`, where the client is asked before | nothing: an `mcp_approval_request` that is whole when it opens |
| `web_search`, `file_search` | nothing but the steps |
| `code_interpreter` | the code (`container_items.py`) |
| `shell` in a container | each command, then what each printed (`container_items.py`) |
| `image_generation` | the steps, and partial images |
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import to_builtins

from antiphon.protocol import events
from antiphon.protocol.events import STEP_EVENTS
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.items.hosted import (
    FileSearchCall,
    ImageGenerationCall,
    McpApprovalRequest,
    McpCall,
    WebSearchCall,
)
from antiphon.protocol.sources import MadeFile, Sources
from antiphon.protocol.tool_bindings import Kind, Offer
from antiphon.translation.built_in_items import STREAMING
from antiphon.translation.checked_items import CheckedCall
from antiphon.translation.tool_items import StreamingCall, read_object
from antiphon.translation.writer import ResponseWriter


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


class HostedCall(StreamingCall, ABC):
    """What every call of this server's own tools has: it stays open until `end`."""

    item_type = ""
    joins_next = False
    """The call after it is of the same answer."""
    unreadable = "The arguments are not a JSON object."
    """What the model is told where `use` returns None."""
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
        """Nobody carries it out."""
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
        self.writer.sealed[self.id] = blob = self.writer.seal(self._kept(result))
        if self.writer.view.encrypted:
            item.encrypted_content = blob
        self._close(item)
        ended: Item = item
        return ended

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


class StreamingMcpCall(HostedCall):
    """A call of another server's tool."""

    item_type = "mcp_call"

    def _grow(self, delta: str) -> None:
        event = events.McpArgumentsDelta(output_index=self._output_index, item_id=self.id, delta=delta)
        self._emit_padded(event, delta)

    def _tell_arguments(self) -> None:
        if not self.arguments.strip():
            self.add("{}")
        self._cut()

    def _cut(self) -> None:
        event = events.McpArgumentsDone(output_index=self._output_index, item_id=self.id, arguments=self.arguments)
        self.writer.emit(event)

    def _item(self, status: Any, fields: Mapping[str, Any]) -> McpCall:
        return McpCall(
            id=self.id,
            status=status,
            approval_request_id=self.offer.approval_request_id,
            arguments="" if status == "in_progress" else self.arguments,
            error=fields.get("error"),
            name=self.offer.name,
            output=fields.get("output"),
            server_label=self.offer.namespace,
        )


class StreamingWebCall(HostedCall):
    """A search of the web, or a page that is opened."""

    item_type = "web_search_call"

    def run(self) -> None:
        """See `HostedCall.run`."""
        self._step("searching")

    def _item(self, status: Any, fields: Mapping[str, Any]) -> WebSearchCall:
        view = self.writer.view
        action = dict(fields.get("action") or OPENING.get(self.offer.name, OPENING["web_search"]))
        if not view.sources:
            action.pop("sources", None)
        item = WebSearchCall(id=self.id, status=status, action=action)
        if view.results and "results" in fields:
            item.results = fields["results"]
        return item


class StreamingFileSearch(HostedCall):
    """A search of stored files."""

    item_type = "file_search_call"

    def run(self) -> None:
        """See `HostedCall.run`."""
        self._step("searching")

    def _kept(self, result: Result) -> dict[str, Any]:
        # A client may ask for the results later (`stored/responses.py`).
        results = {} if result.is_failed else {"results": result.fields.get("results", [])}
        return super()._kept(result) | results

    def _item(self, status: Any, fields: Mapping[str, Any]) -> FileSearchCall:
        results = fields.get("results", []) if self.writer.view.file_results and status == "completed" else None
        return FileSearchCall(id=self.id, status=status, queries=list(fields.get("queries", ())), results=results)


class StreamingImage(HostedCall):
    """An image that is made. It opens without a result (recorded)."""

    item_type = "image_generation_call"

    def run(self) -> None:
        """See `HostedCall.run`."""
        self._step("generating")

    def report(self, fields: Mapping[str, Any]) -> None:
        """Show the client a partial image."""
        self.writer.emit(events.PartialImage(output_index=self._output_index, item_id=self.id, **fields))

    def drop(self) -> None:
        """See `HostedCall.drop`: the item has no status `incomplete`."""
        self._close(self._item("failed", {}))

    def _item(self, status: Any, fields: Mapping[str, Any]) -> ImageGenerationCall:
        if status == "in_progress":
            return ImageGenerationCall(id=self.id, status=status)
        from antiphon.protocol.kept_images import note_kept  # noqa: PLC0415 - few responses make images

        made = {name: value for name, value in fields.items() if name != "kept"}
        item = ImageGenerationCall(id=self.id, status=status, **{"result": None, **made})
        note_kept(item, fields.get("kept"))
        return item


OPENING: dict[str, dict[str, str]] = {
    "web_search": {"type": "search"},
    "open_page": {"type": "open_page"},
    "find_in_page": {"type": "find_in_page", "url": "", "pattern": ""},
}
"""What is known of each action when its item opens, by the function's name."""


class ApprovalRequest(HostedCall):
    """A call that waits for the client's word; it is emitted when it is complete."""

    item_type = "mcp_approval_request"

    def _begin(self) -> None:
        self.id = self.writer.new_id("mcpr")

    def _tell_arguments(self) -> None:
        self._open_held(self._item("", {}))

    def drop(self) -> None:
        """See `HostedCall.drop`. A call that was not emitted needs no end."""
        if self._output_index >= 0:
            self._close(self._item("", {}))

    def _item(self, status: Any, fields: Mapping[str, Any]) -> McpApprovalRequest:
        arguments = self.arguments or "{}"
        return McpApprovalRequest(
            id=self.id, arguments=arguments, name=self.offer.name, server_label=self.offer.namespace
        )


HOSTED: dict[Kind, type[HostedCall]] = {
    "mcp": StreamingMcpCall,
    "web_search": StreamingWebCall,
    "file_search": StreamingFileSearch,
    "image_generation": StreamingImage,
}
"""What becomes of a call that this server carries out, by the kind of its tool."""

IN_CONTAINERS: frozenset[Kind] = frozenset({"code_interpreter", "shell"})
"""The kinds whose calls run in a container."""


def carries_out(offer: Offer) -> bool:
    """Whether this server runs the tool itself, beside searching for tools."""
    return offer.is_hosted and (offer.kind in HOSTED or offer.kind in IN_CONTAINERS)


def _kind_of(offer: Offer) -> type[HostedCall]:
    if offer.needs_approval:
        return ApprovalRequest
    if offer.kind in IN_CONTAINERS:
        from antiphon.translation.container_items import CONTAINER_CALLS  # noqa: PLC0415 - few responses run code

        return CONTAINER_CALLS[offer.kind]
    return HOSTED[offer.kind]


def streaming(writer: ResponseWriter, call_id: str, offer: Offer) -> StreamingCall:
    """Return the call of this tool, which opens now or later."""
    if offer.check:
        return CheckedCall(writer, call_id, offer)
    kind = _kind_of(offer) if carries_out(offer) else STREAMING[offer.kind]
    return kind(writer, call_id, offer)


def begin(writer: ResponseWriter, call_id: str, offer: Offer, arguments: str) -> HostedCall:
    """Return a call whose arguments are known before: the client approved it, or an earlier attempt began it."""
    call = _kind_of(offer)(writer, call_id, offer)
    call.fill(arguments)
    call.close("completed")
    return call
