"""Counts memory and CPU time of all machines several times a second: ends those that are too large, pauses others."""

import asyncio
import os
import time
from contextlib import suppress

from antiphon.sandbox.cpu import Shares
from antiphon.sandbox.machine import BubblewrapMachine

PAUSE, SHORTEST = 0.2, 0.01
"""Seconds between two counts: the less memory a machine has left, the fewer, since code can fill it meanwhile."""
FASTEST = 1.5e9 * len(os.sched_getaffinity(0))
"""Bytes that code is expected to fill in a second, with processes on all CPUs."""
IDLE = 5
"""A machine without a call, which is stopped, is counted in one of this many counts."""


class Watch:
    """Runs while there are machines. `shares` decides which of them pause."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self.machines: set[BubblewrapMachine] = set()
        self._task: asyncio.Task[None] | None = None
        self._rounds = 0
        self._begun = asyncio.Event()
        """Whether a call began since the last count: it does not wait for the count of a machine without a call."""

    def add(self, machine: BubblewrapMachine) -> None:
        """Watch a machine until it is discarded."""
        self.machines.add(machine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def call_begins(self) -> None:
        """Count at once: code can fill a machine while the watch pauses because no call runs."""
        self._begun.set()

    def discard(self, machine: BubblewrapMachine) -> None:
        """Stop watching a machine."""
        self.machines.discard(machine)
        self._shares.charge(machine.owner, machine.new_cpu())

    async def close(self) -> None:
        """End the watch."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        pause = PAUSE
        while self.machines:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._begun.wait()
            self._begun.clear()
            self._rounds += 1
            counted = [each for each in self.machines if each.is_busy or self._rounds % IDLE == 0]
            begun = time.monotonic()
            left = await asyncio.to_thread(_count, counted)
            # Not sooner than a count takes: code can make it expensive, and the server has other work.
            pause = max(min(PAUSE, max(SHORTEST, left / FASTEST)), min(PAUSE, time.monotonic() - begun))
            for machine in counted:
                if machine.is_alive and machine.is_too_large:
                    await machine.end("memory")
            await self._share()

    async def _share(self) -> None:
        """Pause the machines of owners that exceeded their share of the CPU, and no others."""
        for machine in self.machines:
            self._shares.charge(machine.owner, machine.new_cpu())
        exceeded = self._shares.exceeded()
        for machine in [each for each in self.machines if each.is_paused != (each.owner in exceeded)]:
            try:
                await asyncio.to_thread(machine.pause, is_paused=not machine.is_paused)
            except OSError:  # processes that are stopped would not answer
                await machine.end("lost")


def _count(machines: list[BubblewrapMachine]) -> float:
    """Count the memory of machines; return the least that one of them has left while its calls run."""
    left = [(machine.is_busy and not machine.is_enforced, machine.count()) for machine in machines]
    return min((bytes_left for is_running, bytes_left in left if is_running), default=FASTEST)
