"""Probes whether a store is usable, for frequent health checks. Each probe reads; only some
write.
"""

import asyncio
import time
from collections.abc import Callable

from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.storage.operations import health
from antiphon.storage.store import Store

WRITE_EVERY = 5.0
"""Seconds for which a successful write is valid."""

WRITE_AGAIN = 1.0
"""Seconds for which a failed write is valid."""


class StoreProbe:
    """Probes the store that `find` returns. `clock` is monotonic, in seconds."""

    def __init__(self, find: Callable[[], Store], clock: Clock = time.monotonic) -> None:
        self._find = find
        self._clock = clock
        self._can_write = False
        self._until = float("-inf")
        self._writing = asyncio.Lock()

    async def is_usable(self) -> bool:
        """Return whether the store responds now and could be written recently."""
        try:
            await self._find().read(health.check)
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
