"""Decodes requests with tools that were decoded before: tools with the same JSON are neither read nor checked again."""

from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from antiphon.protocol.json_members import decode_value
from antiphon.protocol.json_slices import count_openings
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_lists import ToolList, ToolMemory
from antiphon.protocol.tools import McpTool
from antiphon.protocol.validation.validate import MAX_DEPTH, Takes, decode_request, read_request

HAS_TOOLS = b'"tools"'
"""In a body that can have tools; one that writes the name in another way is decoded as any other."""

_split = Decoder(dict[str, Raw]).decode


def decode_with_tools(body: bytes, takes: Takes | None, memory: ToolMemory, tenant: str) -> CreateResponse:
    """Return the same as `decode_request`, and raise the same. `memory` keeps the newest tools of the `tenant`.

    Those of MCP servers are not kept: they can contain credentials.
    """
    try:
        members = _split(body)
    except (DecodeError, ValueError, RecursionError):
        members = {}
    tools = members.pop("tools", None)
    if tools is None or len(tools) <= len("null"):
        return decode_request(body, takes)
    json = bytes(tools)
    known = memory.find(tenant, json)
    data = None if known is None else _decoded(members)
    if data is not None:
        return read_request(data, takes, known)
    request = decode_request(body, takes)
    if isinstance(request.tools, ToolList) and McpTool not in request.tools.kinds:
        request.tools = ToolList(request.tools, json)
        memory.put(tenant, json, request.tools)
    return request


def _decoded(members: dict[str, Raw]) -> dict[str, Any] | None:
    """Return members as plain data; None if they must be read as a whole, for an error or their depth."""
    if sum(count_openings(bytes(member), MAX_DEPTH) for member in members.values()) >= MAX_DEPTH:
        return None
    try:
        return {name: decode_value(member) for name, member in members.items()}
    except (DecodeError, ValueError):
        return None
