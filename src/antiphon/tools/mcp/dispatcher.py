"""Replaces the SDK's reader for results of MCP servers: lists of tools are read a few tools at a
time, each separately.

Only `session.py` loads this file.
"""

import asyncio
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from antiphon.sharing.scheduler import FairScheduler
from antiphon.tools.mcp.messages import UnreadResult, read_small
from antiphon.tools.mcp.slices import in_slices
from antiphon.tools.mcp.validation import (
    FlawError,
    check_page,
    sound_result,
    sound_tool,
    split_page,
)
from antiphon.tools.mcp.wire import McpExchange, exchanging

MAX_TOOLS = 5_000
"""Tools of a server. A model receives a few hundred at once, and finds others by a search."""

MAX_CONTAINERS = 100_000
"""Objects and arrays of a list: the garbage collector visits each of them. 2,000 typical tools have
30,000.
"""

MAX_HEADERED = 64 * 1024
"""Bytes of the tools of a page with arguments in headers: the SDK reads those itself, and
slowly.
"""

_COMMON = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""Required fields of results since 2026; the SDK omits them for earlier versions."""

_HEADER = b'"x-mcp-header"'


class PageReader:
    """Reads pages of tools, one page at a time in this process: each list takes turns with others
    on the event loop.
    """

    def __init__(self, turns: FairScheduler, tenant: str, secrets: Sequence[str]) -> None:
        self._turns = turns
        self._tenant = tenant
        self._secrets = secrets

    async def read(self, raw: bytes, exchange: McpExchange) -> dict[str, Any]:
        """Add the tools of a page to the exchange, a few at a time; return the rest of the page for
        the SDK.

        That is the cursor of the next page, and the tools with arguments in headers. Raises
        `ServerError`, `ValueError`, `NoRoomError`.
        """
        async with self._turns.slot(self._tenant, cost=1 + len(raw) / 2**20):
            check_page(raw)
            await asyncio.sleep(0)
            tools, cursor = split_page(raw)
            stored = await self._add(tools[: MAX_TOOLS + 1 - len(exchange.tools)], exchange)
        return {**_COMMON, "tools": stored, **({"nextCursor": cursor} if cursor else {})}

    async def _add(self, tools: Sequence[bytes], exchange: McpExchange) -> list[dict[str, Any]]:
        stored = list[dict[str, Any]]()
        left = MAX_HEADERED
        async for one in in_slices(tools):
            try:
                exchange.containers += one.count(b"{") + one.count(b"[")
                if exchange.containers > MAX_CONTAINERS:
                    raise FlawError("too_large")
                tool = sound_tool(one, self._secrets)
                headered = _headered(tool)
                left -= len(headered)
                if left < 0:
                    raise FlawError("too_large")
            except FlawError as error:
                exchange.left_out[error.flaw] += 1
                continue
            exchange.tools.append(tool)
            if headered:
                stored.append({"name": tool["name"], "inputSchema": msgspec.json.decode(headered)})
        exchange.headered.update(tool["name"] for tool in stored)
        return stored


class Dispatcher(JSONRPCDispatcher):
    """Reads results instead of the SDK, which is slow and rejects a list for one bad tool; sets
    `ended` at its end.
    """

    def __init__(self, read: Any, write: Any, ended: asyncio.Event, pages: PageReader) -> None:
        super().__init__(read, write)
        self._ended = ended
        self._pages = pages

    async def send_raw_request(self, method: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """See `JSONRPCDispatcher.send_raw_request`.

        The results are in the `McpExchange` of the caller.

        Raises `ServerError`, `ValueError`, `NoRoomError`.
        """
        answer = await super().send_raw_request(method, *args, **kwargs)
        raw = answer.raw if isinstance(answer, UnreadResult) else msgspec.json.encode(answer)
        if isinstance(answer, UnreadResult):
            # The SDK holds a message until the next one arrives: megabytes,
            # while the session is open.
            answer.raw = b""
        exchange = exchanging.get() or McpExchange()
        if method == "tools/list":
            return await self._pages.read(raw, exchange)
        if method == "tools/call":
            exchange.result = sound_result(raw)
            return {**_COMMON, "content": [], "isError": False}
        return read_small(raw)

    async def run(self, *args: Any, **kwargs: Any) -> None:
        """See `JSONRPCDispatcher.run`."""
        try:
            await super().run(*args, **kwargs)
        finally:
            self._ended.set()


def drop_unsent(exchange: McpExchange, stored: Set[str]) -> None:
    """Omit the tools that the SDK refuses to call, because their required headers are invalid."""
    dropped = exchange.headered - stored
    if dropped:
        exchange.tools = [tool for tool in exchange.tools if tool["name"] not in dropped]
        exchange.left_out["schema"] += len(dropped)
    exchange.headered.clear()


def _headered(tool: Mapping[str, Any]) -> bytes:
    """Return the schema of a tool with arguments in headers; empty for any other tool."""
    encoded = msgspec.json.encode(tool["input_schema"])
    return encoded if _HEADER in encoded else b""
