"""A cache of the servers' tools: one request for all concurrent callers, repeated once the list is
out of date.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

import msgspec

from antiphon.errors import log
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.base import ToolListing
from antiphon.tools.mcp.result import ListedTools, ServerError
from antiphon.tools.mcp.sessions import Key
from antiphon.tools.mcp.slices import in_slices, reading_turns
from antiphon.tools.mcp.target import McpTarget

What = Literal["list", "call"]


_FLAWS = {
    "no_object": "that are not JSON objects",
    "name": "with an invalid name",
    "schema": "without a valid `inputSchema`",
    "too_large": "with an `inputSchema` that is too large",
    "too_deep": "with an `inputSchema` that is nested too deep",
}


class Standing:
    """Which servers of the settings fail, and at which operation."""

    def __init__(self) -> None:
        self._failing: dict[str, What] = {}
        self._left_out: dict[str, tuple[int, bool]] = {}
        """Of the last list of a server: how many tools are unusable, and whether it is circular."""

    def failed(self, target: McpTarget, what: What, error: ServerError) -> None:
        """Record that a server's list, or a call, failed."""
        if not target.is_ours or target.has_request_headers:
            log.debug("A server of a request failed: %s", _words(target, error))
        elif target.label not in self._failing:
            self._failing[target.label] = what
            log.warning("%s", _words(target, error))

    def answered(self, target: McpTarget, what: What) -> None:
        """Record that it answered. A successful call does not reset a failed list."""
        if (
            target.is_ours
            and not target.has_request_headers
            and self._failing.get(target.label) in (what, "call")
        ):
            del self._failing[target.label]
            log.info("The MCP server '%s' works again.", target.label)

    def listed(self, target: McpTarget, found: ListedTools) -> None:
        """Log what is wrong with a list that can be used, once until that changes."""
        count = sum(found.left_out.values())
        known = self._left_out.pop(target.key, (0, False))
        if not count and not found.is_circular:
            return
        self._left_out[target.key] = count, found.is_circular
        if len(self._left_out) > MAX_LISTS:
            del self._left_out[next(iter(self._left_out))]
        level = (
            logging.WARNING if target.is_ours and not target.has_request_headers else logging.DEBUG
        )
        if count and count != known[0]:
            reasons = ", ".join(
                f"{count} {_FLAWS[flaw]}" for flaw, count in sorted(found.left_out.items())
            )
            log.log(
                level, "Tools of the MCP server '%s' cannot be used: %s.", target.label, reasons
            )
        if found.is_circular and not known[1]:
            words = (
                "The MCP server '%s' returned a circular cursor in its list of tools. "
                "The %d tools so far are used."
            )
            log.log(level, words, target.label, len(found.tools))


def _words(target: McpTarget, error: ServerError) -> str:
    """Return which server fails and why; most errors name it themselves."""
    server = f"The MCP server '{target.label}'"
    return error.gist if error.gist.startswith(server) else f"{server} failed: {error.gist}"


FAILED_TTL = 3.0
"""Seconds for which a failed list is cached."""

MAX_LISTS = 256
MAX_CACHED = 32 * 1024 * 1024
"""Lists that are cached, and bytes of all of them; as objects they would take twenty times as much
memory.
"""


SMALL = 64 * 1024
"""Bytes of a list that is read in one step."""


@dataclass(frozen=True, slots=True)
class _CachedList:
    until: float
    tools: list[bytes]
    error: str
    size: int


class Lists:
    """Lists of tools, each for `ttl` seconds.

    `reading` shares the reading of cached lists between tenants.
    """

    def __init__(
        self,
        ttl: float,
        clock: Callable[[], float] = monotonic,
        reading: FairScheduler | None = None,
    ) -> None:
        self._reading = reading or reading_turns()
        self._ttl = ttl
        self._clock = clock
        self._known: dict[Key, _CachedList] = {}
        """In the order of creation."""
        self._requesting: dict[Key, asyncio.Task[ToolListing]] = {}

    async def get(self, key: Key, request: Callable[[], Awaitable[ToolListing]]) -> ToolListing:
        """Return the list of a server, requested if necessary.

        `request` continues if a waiting caller is cancelled.
        """
        stored = self._known.get(key)
        if stored is not None and self._clock() < stored.until:
            return await self._read(stored, key[1])
        pending = self._requesting.get(key)
        if pending is None:
            pending = self._requesting[key] = asyncio.create_task(self._send_request(key, request))
        return await asyncio.shield(pending)

    async def _read(self, stored: _CachedList, tenant: str) -> ToolListing:
        """Return a cached list. A large one is read a few tools at a time."""
        if stored.size < SMALL:
            return ToolListing([msgspec.json.decode(tool) for tool in stored.tools], stored.error)
        try:
            async with self._reading.slot(tenant, cost=1 + stored.size / 2**20):
                return ToolListing(
                    [msgspec.json.decode(tool) async for tool in in_slices(stored.tools)],
                    stored.error,
                )
        except NoRoomError:
            return ToolListing(
                error="Too many lists of MCP servers are being read. Try again later."
            )

    def forget(self, key: Key) -> None:
        """Ignore the cached list, and one that is being requested."""
        self._known.pop(key, None)
        self._requesting.pop(key, None)

    async def close(self) -> None:
        """Cancel all requests."""
        requesting = set(self._requesting.values())
        for task in requesting:
            task.cancel()
        if requesting:
            await asyncio.wait(requesting)

    async def _send_request(
        self, key: Key, request: Callable[[], Awaitable[ToolListing]]
    ) -> ToolListing:
        listing = await request()
        if self._requesting.get(key) is asyncio.current_task():
            del self._requesting[key]
            self._save(key, listing)
        return listing

    def _save(self, key: Key, listing: ToolListing) -> None:
        now = self._clock()
        ttl = min(FAILED_TTL, self._ttl) if listing.error else self._ttl
        self._known.pop(key, None)
        self._known = {each: stored for each, stored in self._known.items() if now < stored.until}
        tools = [msgspec.json.encode(tool) for tool in listing.tools]
        stored = _CachedList(
            now + ttl, tools, listing.error, len(listing.error) + sum(map(len, tools))
        )
        if stored.size <= MAX_CACHED:
            self._known[key] = stored
        while (
            len(self._known) > MAX_LISTS
            or sum(one.size for one in self._known.values()) > MAX_CACHED
        ):
            self._forget_one()

    def _forget_one(self) -> None:
        """Evict the oldest list of the tenant with the most bytes, so that tenants do not displace
        others' lists.
        """
        sizes = Counter[str]()
        for (_, tenant), stored in self._known.items():
            sizes[tenant] += 1 + stored.size
        largest = max(sizes, key=lambda tenant: sizes[tenant])
        del self._known[next(key for key in self._known if key[1] == largest)]
