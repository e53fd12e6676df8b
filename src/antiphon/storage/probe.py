"""Whether a store can be used, for frequent health checks: each one reads, and only some write."""

import asyncio
import time
from collections.abc import Callable

from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.storage.contract import Store

WRITE_EVERY = 5.0
"""Seconds for which a successful write counts."""

WRITE_AGAIN = 1.0
"""Seconds for which a failed write counts."""


class StoreProbe:
    """Probes the store that `find` returns. `clock` never goes back, in seconds."""

    def __init__(self, find: Callable[[], Store], clock: Clock = time.monotonic) -> None:
        self._find = find
        self._clock = clock
        self._can_write = False
        self._until = float("-inf")
        self._writing = asyncio.Lock()

    async def is_usable(self) -> bool:
        """Whether the store answers now, and could be written a moment ago."""
        try:
            await self._find().check()
        except StoreError:
            return False
        async with self._writing:  # concurrent checks share one write
            if self._clock() >= self._until:
                self._can_write = await self._write()
                self._until = self._clock() + (WRITE_EVERY if self._can_write else WRITE_AGAIN)
        return self._can_write

    async def _write(self) -> bool:
        try:
            await self._find().check_writable()
        except StoreError:
            return False
        return True
