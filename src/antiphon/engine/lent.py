"""What a client lends for one request and nothing keeps: the keys to other servers (specification section 6, `mcp`)."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol.items.calls import AdditionalTools, ToolSearchOutput
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import AnyTool, McpTool


def kept_item(item: Item) -> Item:
    """Return an item as it is kept."""
    if isinstance(item, AdditionalTools | ToolSearchOutput):
        return replace(item, tools=_kept(item.tools))
    return item


def kept_body(request: CreateResponse, body: bytes) -> bytes:
    """Return the body of a request as it is kept until a worker takes it up: as it came, unless it lends something."""
    return msgspec.json.encode(_kept_request(request)) if lends(request) else body


def lends(request: CreateResponse) -> bool:
    """Whether the request lends something."""
    return _kept_request(request) != request


def _kept_request(request: CreateResponse) -> CreateResponse:
    changed: dict[str, Any] = {"tools": request.tools and _kept(request.tools)}
    if isinstance(request.input, list):
        changed["input"] = [kept_item(item) for item in request.input]
    return replace(request, **changed)


def _kept(tools: Sequence[AnyTool]) -> list[AnyTool]:
    return [replace(tool, authorization=UNSET, headers=UNSET) if isinstance(tool, McpTool) else tool for tool in tools]
