"""Counts the memory of all machines several times a second, and ends those that exceed their limit."""

import asyncio
from contextlib import suppress

from antiphon.sandbox.machine import BubblewrapMachine

PAUSE = 0.2
"""Seconds between two counts."""
IDLE = 5
"""A machine without a call is counted in one of this many counts."""


class Watch:
    """Runs while there are machines."""

    def __init__(self) -> None:
        self.machines: set[BubblewrapMachine] = set()
        self._task: asyncio.Task[None] | None = None
        self._rounds = 0

    def add(self, machine: BubblewrapMachine) -> None:
        """Watch a machine until it is discarded."""
        self.machines.add(machine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def discard(self, machine: BubblewrapMachine) -> None:
        """Stop watching a machine."""
        self.machines.discard(machine)

    async def close(self) -> None:
        """End the watch."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while self.machines:
            await asyncio.sleep(PAUSE)
            self._rounds += 1
            counted = [each for each in self.machines if each.is_busy or self._rounds % IDLE == 0]
            await asyncio.to_thread(_count, counted)
            for machine in counted:
                if machine.is_alive and machine.is_too_large:
                    await machine.end("memory")


def _count(machines: list[BubblewrapMachine]) -> None:
    for machine in machines:
        machine.count()
