"""Work that a process repeats, independently of requests."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from antiphon.errors import StoreError, log


class Periodic(ABC):
    """Calls `poll_once` every `interval` seconds, from `start` to `close`, even if a call raises.

    `waiting` begins the debug line that is logged while the store is unavailable; any other error
    is logged as a fault in Antiphon. The first call is immediate.
    """

    def __init__(self, interval: float, waiting: str = "") -> None:
        self._interval = interval
        self._waiting = waiting
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def poll_once(self) -> None:
        """Do the work once. Can raise `StoreError`."""

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, even during a call."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                await self.poll_once()
            except StoreError as error:
                log.debug("%s: %s", self._waiting, error)
            except Exception as error:
                log.error("A fault in Antiphon", exc_info=error)  # the work must continue
            await asyncio.sleep(self._interval)
