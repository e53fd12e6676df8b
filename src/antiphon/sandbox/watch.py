"""Counts memory and CPU time of all machines several times a second, and pauses those of owners
with too much of it.
"""

import asyncio
from contextlib import suppress

from antiphon.sandbox.cpu import Shares
from antiphon.sandbox.machine import BubblewrapMachine
from antiphon.sandbox.memory_watch import MemoryWatch

PAUSE = 0.2
"""Seconds between two counts. Linux knows CPU time in hundredths of a second."""
IDLE = 5
"""A machine without a call, which is stopped, is counted in one of this many counts."""


class MachineWatch:
    """Runs while there are machines. `shares` decides which of them pause."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self.machines: set[BubblewrapMachine] = set()
        self._memory = MemoryWatch(self.machines)
        self._task: asyncio.Task[None] | None = None
        self._rounds = 0

    def add(self, machine: BubblewrapMachine) -> None:
        """Watch a machine until it is discarded."""
        self.machines.add(machine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def call_begins(self, machine: BubblewrapMachine) -> None:
        """Watch the memory of a machine with a call that begins, if no control group limits it."""
        if not machine.is_enforced:
            self._memory.call_begins()

    def discard(self, machine: BubblewrapMachine) -> None:
        """Stop watching a machine."""
        self.machines.discard(machine)
        self._shares.charge(machine.owner, machine.new_cpu())

    async def close(self) -> None:
        """End the watch."""
        await asyncio.to_thread(self._memory.close)
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
            await self._share()

    async def _share(self) -> None:
        """Pause the machines of owners that exceeded their share of the CPU, and no others.

        One that should be stopped and used CPU time has a process that started late: again.
        """
        used = {machine: machine.new_cpu() for machine in self.machines}
        for machine, seconds in used.items():
            self._shares.charge(machine.owner, seconds)
        exceeded = self._shares.exceeded()
        for machine, seconds in used.items():
            is_stopped = machine.is_paused or not machine.is_busy
            is_paused = machine.owner in exceeded
            if machine.is_paused != is_paused or (is_stopped and seconds):
                try:
                    await asyncio.to_thread(machine.pause, is_paused=is_paused)
                except OSError:  # processes that are stopped would not answer
                    await machine.end("lost")


def _count(machines: list[BubblewrapMachine]) -> None:
    for machine in machines:
        machine.count()
