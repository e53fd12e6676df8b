"""Work that a process repeats beside all requests."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from antiphon.errors import StoreError, log


class Periodic(ABC):
    """Calls `look` every `interval` seconds, from `start` to `close`, whatever one look raises.

    `waiting` is what a debug line says of the work while the store cannot be reached; any other error is logged as a
    fault. The first look comes at once.
    """

    def __init__(self, interval: float, waiting: str = "") -> None:
        self._interval = interval
        self._waiting = waiting
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def look(self) -> None:
        """Do the work once. May raise `StoreError`."""

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, in the middle of a look too."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.debug("%s for the store: %s", self._waiting, error)
            except Exception as error:
                log.error("A fault in Antiphon", exc_info=error)  # the next look must come
            await asyncio.sleep(self._interval)
