"""What a machine of bubblewrap costs: its start, a call, the memory of idle ones, and the time the
event loop waits.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.sandbox.contract import Machine, MachineLimits
from bench.report import OURS, Reading

LIMITS = MachineLimits(memory=1024 * 1024 * 1024)
IDLE = 20
CALLS = 200
SECONDS = 60.0
TICK = 0.001


def reading(idle: int = IDLE, calls: int = CALLS) -> Iterator[Reading]:
    """Start machines, call one of them, and count their memory.

    Raises `RuntimeError` where bubblewrap does not work.

    Memory is PSS: what processes share is counted once.
    """
    yield from asyncio.run(_measured(idle, calls))


async def _measured(idle: int, calls: int) -> list[Reading]:
    sandbox = Bubblewrap()
    if problem := await sandbox.probe():
        raise RuntimeError(problem)
    before = set(_processes())
    blocked = _Blocked()
    try:
        machines = []
        starts = []
        for _ in range(idle):
            begun = time.perf_counter()
            machines.append(await sandbox.start(LIMITS))
            starts.append(time.perf_counter() - begun)
        overheads = [await _call(machines[0]) for _ in range(calls)]
        memory = sum(_shared_out(process) for process in set(_processes()) - before)
        return [
            ("machine, ready for code, s", OURS, median(starts)),
            ("machine, a call that does nothing, ms", OURS, median(overheads) * 1000),
            (f"machine, memory of each of {IDLE} idle ones, MB", OURS, memory / idle / 1e6),
            ("loop blocked by the start of machines, ms", OURS, blocked.end() * 1000),
        ]
    finally:
        blocked.end()
        await sandbox.close()


async def _call(machine: Machine) -> float:
    begun = time.perf_counter()
    result = await machine.run_code("pass", SECONDS)
    if result.ending != "completed":
        raise RuntimeError(f"a call ended with {result.ending}")
    return time.perf_counter() - begun


class _Blocked:
    """The longest time for which the event loop did nothing else, by processor time of this
    thread.
    """

    def __init__(self) -> None:
        self._longest = 0.0
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            used = time.thread_time()
            await asyncio.sleep(TICK)
            self._longest = max(self._longest, time.thread_time() - used)

    def end(self) -> float:
        self._task.cancel()
        return self._longest


def _processes() -> Iterator[int]:
    """Give the processes below this one, with all that they started."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    waiting = list(parents.get(int(Path("/proc/self").readlink().name), []))
    while waiting:
        process = waiting.pop()
        waiting += parents.get(process, [])
        yield process


def _shared_out(process: int) -> int:
    """Return the PSS of a process in bytes."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return 0
