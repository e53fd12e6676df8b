"""Credentials for other servers that a client sends with one request; never stored (specification
section 6, `mcp`).
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol.items.calls import AdditionalTools, ToolSearchOutput
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import AnyTool, McpTool


def item_without_credentials(item: Item) -> Item:
    """Return an item as it is stored."""
    if isinstance(item, AdditionalTools | ToolSearchOutput):
        return replace(item, tools=_stored(item.tools))
    return item


def without_credentials(request: CreateResponse, body: bytes) -> bytes:
    """Return the body to store until a worker starts the request: unchanged, unless it has
    credentials.
    """
    if not carries_credentials(request):
        return body
    stored: dict[str, Any] = msgspec.to_builtins(_request_without_credentials(request))
    parameters = stored.pop("parameters", {})
    return msgspec.json.encode(stored | parameters)


def carries_credentials(request: CreateResponse) -> bool:
    """Whether the request has credentials."""
    tools: list[AnyTool] = [*(request.tools or ())]
    if isinstance(request.input, list):
        for item in request.input:
            if isinstance(item, AdditionalTools | ToolSearchOutput):
                tools += item.tools
    servers = [tool for tool in tools if isinstance(tool, McpTool)] if tools else []
    return bool(servers) and any(
        one.authorization is not UNSET or one.headers is not UNSET for one in servers
    )


def _request_without_credentials(request: CreateResponse) -> CreateResponse:
    changed: dict[str, Any] = {"tools": request.tools and _stored(request.tools)}
    if isinstance(request.input, list):
        changed["input"] = [item_without_credentials(item) for item in request.input]
    return replace(request, **changed)


def _stored(tools: Sequence[AnyTool]) -> list[AnyTool]:
    return [
        replace(tool, authorization=UNSET, headers=UNSET) if isinstance(tool, McpTool) else tool
        for tool in tools
    ]
