"""Decodes requests with tools that were decoded before: tools with the same JSON are neither read
nor checked again.
"""

import re
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder, encode

from antiphon.protocol.json_members import BLANKS, decode_value, end_of_value
from antiphon.protocol.json_slices import count_openings
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_lists import ToolList, ToolMemory
from antiphon.protocol.tools import McpTool
from antiphon.protocol.validation.validate import (
    MAX_DEPTH,
    Takes,
    decode_object,
    decode_request,
    read_request,
)
from antiphon.sizes import LARGE

TOOLS = "tools"

HAS_TOOLS = b'"tools"'
"""In a body that can have tools; one that writes the name in another way is decoded as any
other.
"""

MOST = 4 * LARGE
"""Bytes of a body in which known tools are searched on the event loop: they are skipped, at 5 ns a
byte at most.
"""

_split = Decoder(dict[str, Raw]).decode

_TO_VALUE = re.compile(rb"%b[%b]*:[%b]*" % (HAS_TOOLS, BLANKS, BLANKS))

_STAND_IN = f"\0 {hash(HAS_TOOLS)}"
"""Stands for tools in a body. No client knows it: Python's hashes differ by process."""

_STAND_IN_JSON = encode(_STAND_IN)


def decode_with_tools(
    body: bytes, takes: Takes | None, memory: ToolMemory, tenant: str
) -> CreateResponse:
    """Return the same as `decode_request`, and raise the same.

    `memory` keeps the newest tools of the `tenant`.

    This is for bodies of up to `LARGE` bytes.
    """
    data, json = _known(body, memory, tenant)
    if data is not None:
        return read_request(data, takes)
    request = decode_request(body, takes)
    if json:
        remember(named(request, json), memory, tenant)
    return request


def decode_except_tools(
    body: bytes, takes: Takes | None, memory: ToolMemory, tenant: str
) -> CreateResponse | None:
    """Return the same as `decode_request`, and raise the same, for a larger body that has up to
    `LARGE` bytes besides its tools, if these are known; None for any other.
    """
    newest = memory.newest(tenant) if len(body) <= MOST else None
    if newest is None or len(body) - len(newest.json) > LARGE:
        return None
    data, _ = _known(body, memory, tenant)
    return None if data is None else read_request(data, takes)


def decode_data(body: bytes, memory: ToolMemory, tenant: str) -> tuple[dict[str, Any], bytes]:
    """Return the same as `decode_object`, with a `ToolList` for tools that are known; and the JSON
    of those that are not, as far as it was found. A thread can call this for a body of more than
    `LARGE` bytes.
    """
    if HAS_TOOLS not in body:
        return decode_object(body), b""
    if len(body) > LARGE:
        tools = ToolReader(memory, tenant)
        data = decode_object(body, readers={TOOLS: tools.read})
        return data, tools.json_in(data)
    known, json = _known(body, memory, tenant)
    return (decode_object(body), json) if known is None else (known, b"")


def named(request: CreateResponse, json: bytes) -> CreateResponse:
    """Note the JSON of the request's tools, so that `remember` keeps them. Returns the request.

    Tools of MCP servers are not kept: they can contain credentials.
    """
    if json and isinstance(request.tools, ToolList) and McpTool not in request.tools.kinds:
        request.tools = ToolList(request.tools, json)
    return request


def remember(request: CreateResponse, memory: ToolMemory, tenant: str) -> None:
    """Keep the tools of a request, if their JSON was noted, or mark them as used."""
    if isinstance(request.tools, ToolList) and request.tools.json:
        memory.put(tenant, request.tools.json, request.tools)


class ToolReader:
    """Reads the tools of a large body, and remembers what it read."""

    def __init__(self, memory: ToolMemory, tenant: str) -> None:
        self._memory = memory
        self._tenant = tenant
        self._json: bytes = b""
        self._value: Any = None

    def read(self, body: bytes, begin: int) -> tuple[Any, int] | None:
        """See `json_members.Reader`."""
        end = end_of_value(body, begin)
        if end is None:
            return None
        json = body[begin:end].rstrip(BLANKS)
        known = self._memory.peek(self._tenant, json)
        self._json, self._value = (json, decode_value(json)) if known is None else (b"", known)
        return self._value, end

    def json_in(self, data: dict[str, Any]) -> bytes:
        """Return the JSON of the tools in the decoded body; empty if they are known, or were not
        read here.
        """
        return self._json if data.get(TOOLS) is self._value else b""


def _known(body: bytes, memory: ToolMemory, tenant: str) -> tuple[dict[str, Any] | None, bytes]:
    """Return a body as plain data with tools that are known, or None; and the JSON of the tools.

    None also means that it must be read as a whole, for an error or its depth.
    """
    # An agent sends the same tools with each request.
    newest = memory.newest(tenant)
    if newest is not None and (data := _with_tools(body, newest)) is not None:
        return data, newest.json
    try:
        tools = _split(body).get(TOOLS)
    except (DecodeError, ValueError, RecursionError):
        return None, b""
    if tools is None or len(tools) <= len("null"):
        return None, b""
    json = bytes(tools)
    known = memory.find(tenant, json)
    return None if known is None else _with_tools(body, known), json


def _with_tools(body: bytes, tools: ToolList) -> dict[str, Any] | None:
    """Return a body as plain data if it has the JSON of these tools, which is not read again.

    None for any other, and for one that must be read as a whole.
    """
    for place in (body.rfind(HAS_TOOLS), body.find(HAS_TOOLS)):
        name = _TO_VALUE.match(body, place)
        if name is not None and body.startswith(tools.json, name.end()):
            break
    else:
        return None
    others = b"".join((body[: name.end()], _STAND_IN_JSON, body[name.end() + len(tools.json) :]))
    # A level takes two bytes.
    is_long = len(others) > 2 * MAX_DEPTH
    if len(others) > LARGE or (is_long and count_openings(others, MAX_DEPTH) >= MAX_DEPTH):
        return None
    try:
        data = decode_value(others)
    except (DecodeError, ValueError, RecursionError):
        return None
    # The same bytes can be in a member of something else, or before other tools.
    if type(data) is not dict or data.get(TOOLS) != _STAND_IN:
        return None
    data[TOOLS] = tools
    return data
