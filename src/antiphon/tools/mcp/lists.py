"""Which tools servers have, as far as it is known: asked once for all who want to know, and anew once it is old."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

import msgspec

from antiphon.errors import log
from antiphon.tools.base import Listing
from antiphon.tools.mcp.result import ServerError
from antiphon.tools.mcp.sessions import Key
from antiphon.tools.mcp.target import Target

What = Literal["list", "call"]


class Standing:
    """Which servers of the settings fail, and at what."""

    def __init__(self) -> None:
        self._failing: dict[str, What] = {}

    def failed(self, target: Target, what: What, error: ServerError) -> None:
        """Take down that a server's list, or a call, could not be had."""
        if not target.is_ours or target.is_lent:
            log.debug("At a request's word: %s", _words(target, error))
        elif target.label not in self._failing:
            self._failing[target.label] = what
            log.warning("%s", _words(target, error))

    def answered(self, target: Target, what: What) -> None:
        """Take down that it answered. A list that cannot be had is not mended by a call that can."""
        if target.is_ours and not target.is_lent and self._failing.get(target.label) in (what, "call"):
            del self._failing[target.label]
            log.info("The MCP server '%s' works again.", target.label)


def _words(target: Target, error: ServerError) -> str:
    """Say which server fails and why; most errors name it themselves."""
    whose = f"The MCP server '{target.label}'"
    return error.gist if error.gist.startswith(whose) else f"{whose} fails: {error.gist}"


FAILED_TTL = 3.0
"""Seconds for which it is known that a list cannot be had."""

MAX_LISTS = 256
MAX_KEPT = 32 * 1024 * 1024
"""Lists that are known at once, and bytes of all of them; as objects they would take twenty times as much."""


@dataclass(frozen=True, slots=True)
class _Kept:
    until: float
    listing: bytes


class Lists:
    """Lists of tools, each for `ttl` seconds."""

    def __init__(self, ttl: float, clock: Callable[[], float] = monotonic) -> None:
        self._ttl = ttl
        self._clock = clock
        self._known: dict[Key, _Kept] = {}
        """In the order of their making."""
        self._asking: dict[Key, asyncio.Task[Listing]] = {}

    async def get(self, key: Key, ask: Callable[[], Awaitable[Listing]]) -> Listing:
        """Return the list of a server, by asking if need be. `ask` goes on where one of those who wait goes away."""
        kept = self._known.get(key)
        if kept is not None and self._clock() < kept.until:
            return msgspec.json.decode(kept.listing, type=Listing)
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(key, ask))
        return await asyncio.shield(asking)

    def forget(self, key: Key) -> None:
        """Do not use what is known, nor what is just being asked."""
        self._known.pop(key, None)
        self._asking.pop(key, None)

    async def close(self) -> None:
        """Ask no more."""
        asking = set(self._asking.values())
        for task in asking:
            task.cancel()
        if asking:
            await asyncio.wait(asking)

    async def _ask(self, key: Key, ask: Callable[[], Awaitable[Listing]]) -> Listing:
        listing = await ask()
        if self._asking.get(key) is asyncio.current_task():
            del self._asking[key]
            self._keep(key, listing)
        return listing

    def _keep(self, key: Key, listing: Listing) -> None:
        now = self._clock()
        ttl = min(FAILED_TTL, self._ttl) if listing.error else self._ttl
        self._known.pop(key, None)
        self._known = {each: kept for each, kept in self._known.items() if now < kept.until}
        kept = _Kept(now + ttl, msgspec.json.encode(listing))
        if len(kept.listing) <= MAX_KEPT:
            self._known[key] = kept
        while len(self._known) > MAX_LISTS or sum(len(one.listing) for one in self._known.values()) > MAX_KEPT:
            del self._known[next(iter(self._known))]
