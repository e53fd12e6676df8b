"""The CPU time of machines, measured from outside, and which owners have used too much of it.

An owner has at most a number of cores on average, and an equal part of the host's while several
owners work. What it uses beyond that is a debt: until that is paid by time, all its machines pause.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

CORES = len(os.sched_getaffinity(0))
BURST = 1.0
"""Seconds for which an owner that was idle can use twice its share, before its machines pause."""
IDLE = 0.05
"""Cores that an owner uses at most while it needs no part of the host's."""

_TICKS = os.sysconf("SC_CLK_TCK")
_PART = 4096
_STATE, _TIMES, _STARTED = 0, slice(11, 15), 19
"""Fields of /proc/PID/stat behind the name: times of the process and of its children that have
ended; its start.
"""


class CpuTime:
    """Adds up the CPU seconds of a machine by its own /proc.

    Linux adds the time of a process that has ended to its parent's, unless the parent ignores that.
    So code could hide its work in processes that end before they are seen. Therefore each running
    process that is younger than the last look counts as if it, or another one like it, had run
    since then.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._read_at = clock, clock()
        self._seen: set[tuple[str, bytes]] = set()
        self._displayed = self._total = 0.0

    def read(self, folder: int) -> float:
        """Return the CPU seconds since the start. Blocks for a moment. Raises `OSError`."""
        now = self._clock()
        found = dict(_processes(folder))
        displayed = sum(sum(map(int, fields[_TIMES])) for fields in found.values()) / _TICKS
        processes = {(number, fields[_STARTED]): fields[_STATE] for number, fields in found.items()}
        young = sum(state == b"R" for one, state in processes.items() if one not in self._seen)
        self._total += max(displayed - self._displayed, min(young, CORES) * (now - self._read_at))
        self._seen = set(processes)
        self._displayed = displayed
        self._read_at = now
        return self._total


def _processes(folder: int) -> Iterator[tuple[str, list[bytes]]]:
    for number in os.listdir(folder):
        if number.isdigit():
            with suppress(OSError):  # it has just ended
                file = os.open(f"{number}/stat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
                try:
                    yield number, os.read(file, _PART).rpartition(b")")[2].split()
                finally:
                    os.close(file)


class Shares:
    """Decides which owners exceed their share.

    One alone has at most `bound` cores, 0 for all except one.
    """

    def __init__(
        self,
        bound: float = 0.0,
        *,
        cores: float = CORES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bound = bound or max(1, cores - 1)
        self._cores = cores
        self._clock, self._decided_at = clock, clock()
        self._used: dict[str, float] = {}
        self._debts: dict[str, float] = {}
        """CPU seconds beyond the share, negative for a credit; owners with all their credit are
        absent.
        """

    def charge(self, owner: str, seconds: float) -> None:
        """Record CPU seconds that the machines of an owner have used."""
        self._used[owner] = self._used.get(owner, 0.0) + seconds

    def exceeded(self) -> set[str]:
        """Return the owners that exceed their share: their machines pause until the next call of
        this method.
        """
        now = self._clock()
        passed = now - self._decided_at
        self._decided_at = now
        used = self._used
        self._used = {}
        working = {owner for owner, seconds in used.items() if seconds > IDLE * passed}
        working |= {owner for owner, debt in self._debts.items() if debt > 0}
        share = min(self._bound, self._cores / max(1, len(working)))
        debts = {}
        for owner in used.keys() | self._debts.keys():
            more = min(used.get(owner, 0.0), self._cores * passed) - share * passed
            debts[owner] = self._debts.get(owner, -BURST * share) + more
        self._debts = {owner: debt for owner, debt in debts.items() if debt > -BURST * share}
        return {owner for owner, debt in self._debts.items() if debt > 0}
