"""Calls of tools that this server runs (specification section 16): open while the model writes
them, held until they have run, and emitted one after the other.

| Kind | What streams |
|---|---|
| `mcp` | the arguments |
| `mcp` that needs an approval | nothing: an `mcp_approval_request` that is complete when it opens |
| `web_search`, `file_search` | only the steps |
| `code_interpreter` | the code (`container_items.py`) |
| `shell` in a container | each command, then the output of each (`container_items.py`) |
| `image_generation` | the steps, and partial images |
"""

from collections.abc import Mapping
from typing import Any

from antiphon.protocol import events
from antiphon.protocol.items.hosted import (
    FileSearchCall,
    ImageGenerationCall,
    McpApprovalRequest,
    McpCall,
    WebSearchCall,
)
from antiphon.protocol.tool_bindings import Kind, Offer
from antiphon.translation.built_in_items import STREAMING
from antiphon.translation.checked_items import CheckedCall
from antiphon.translation.hosted_call import HostedCall, Result
from antiphon.translation.tool_items import StreamingCall
from antiphon.translation.writer import ResponseWriter


class StreamingMcpCall(HostedCall):
    """A call of an MCP server's tool."""

    item_type = "mcp_call"

    def _grow(self, delta: str) -> None:
        event = events.ResponseMcpCallArgumentsDeltaEvent(
            output_index=self._output_index, item_id=self.id, delta=delta
        )
        self._emit_padded(event, delta)

    def _emit_arguments(self) -> None:
        if not self.arguments.strip():
            self.add("{}")
        self._cut()

    def _cut(self) -> None:
        event = events.ResponseMcpCallArgumentsDoneEvent(
            output_index=self._output_index, item_id=self.id, arguments=self.arguments
        )
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
    """A web search, or a page that is opened."""

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

    def _saved(self, result: Result) -> dict[str, Any]:
        # A client can request the results later (`objects/responses.py`).
        results = {} if result.is_failed else {"results": result.fields.get("results", [])}
        return super()._saved(result) | results

    def _item(self, status: Any, fields: Mapping[str, Any]) -> FileSearchCall:
        results = (
            fields.get("results", [])
            if self.writer.view.file_results and status == "completed"
            else None
        )
        return FileSearchCall(
            id=self.id, status=status, queries=list(fields.get("queries", ())), results=results
        )


class StreamingImage(HostedCall):
    """An image generation call. It opens without a result (recorded)."""

    item_type = "image_generation_call"

    def run(self) -> None:
        """See `HostedCall.run`."""
        self._step("generating")

    def report(self, fields: Mapping[str, Any]) -> None:
        """Show the client a partial image."""
        self.writer.emit(
            events.ResponseImageGenCallPartialImageEvent(
                output_index=self._output_index, item_id=self.id, **fields
            )
        )

    def drop(self) -> None:
        """See `HostedCall.drop`: the item has no status `incomplete`."""
        self._close(self._item("failed", {}))

    def _item(self, status: Any, fields: Mapping[str, Any]) -> ImageGenerationCall:
        if status == "in_progress":
            return ImageGenerationCall(id=self.id, status=status)
        from antiphon.protocol.stored_images import note_stored  # noqa: PLC0415 - few responses generate images

        created = {name: value for name, value in fields.items() if name != "kept"}
        item = ImageGenerationCall(id=self.id, status=status, **{"result": None, **created})
        note_stored(item, fields.get("kept"))
        return item


OPENING: dict[str, dict[str, str]] = {
    "web_search": {"type": "search"},
    "open_page": {"type": "open_page"},
    "find_in_page": {"type": "find_in_page", "url": "", "pattern": ""},
}
"""The known fields of each action when its item opens, by the function's name."""


class ApprovalRequest(HostedCall):
    """A call that waits for the client's approval; it is emitted when it is complete."""

    item_type = "mcp_approval_request"

    def _begin(self) -> None:
        self.id = self.writer.new_id("mcpr")

    def _emit_arguments(self) -> None:
        self._open_buffered(self._item("", {}))

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
"""The class of a call that this server runs, by the kind of its tool."""

IN_CONTAINERS: frozenset[Kind] = frozenset({"code_interpreter", "shell"})
"""Kinds of calls that run in a container."""


def carries_out(offer: Offer) -> bool:
    """Whether this server runs the tool itself, except for tool search."""
    return offer.is_hosted and (offer.kind in HOSTED or offer.kind in IN_CONTAINERS)


def _kind_of(offer: Offer) -> type[HostedCall]:
    if offer.needs_approval:
        return ApprovalRequest
    if offer.kind in IN_CONTAINERS:
        from antiphon.translation.container_items import CONTAINER_CALLS  # noqa: PLC0415 - few responses run code

        return CONTAINER_CALLS[offer.kind]
    return HOSTED[offer.kind]


def streaming(
    writer: ResponseWriter, call_id: str, offer: Offer, item_id: str = ""
) -> StreamingCall:
    """Return the call of this tool, which opens now or later; it gets a new id without an
    `item_id`.
    """
    if offer.check:
        return CheckedCall(writer, call_id, offer, item_id)
    kind = _kind_of(offer) if carries_out(offer) else STREAMING[offer.kind]
    return kind(writer, call_id, offer, item_id)


def begin(writer: ResponseWriter, call_id: str, offer: Offer, arguments: str) -> HostedCall:
    """Return a call with known arguments: the client approved it, or an earlier attempt began
    it.
    """
    call = _kind_of(offer)(writer, call_id, offer)
    call.fill(arguments)
    call.close("completed")
    return call
