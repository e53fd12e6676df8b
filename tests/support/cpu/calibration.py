"""How fast this machine is at present, next to the one that the budgets were measured on.

Fixed work of three kinds runs in short slices between the tests, so that it meets the same
neighbours and the same Python. A machine counts as slow as it is at its slowest kind: one whose
processor is quick, and whose memory other machines of the host keep busy, once took 1.4 times the
CPU seconds for the tests while it calculated 1.1 times as fast.
"""

import gc
import json
import mmap
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from pathlib import Path

SLICE = 0.03
"""CPU seconds of one slice, for all kinds of work."""

EVERY = 2.0
"""CPU seconds of tests between two slices."""


@dataclass
class Calibration:
    """How often each kind of work was done, in how many seconds."""

    rounds: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, seconds: float = SLICE, clock: Callable[[], float] = time.process_time) -> None:
        """Work for so many seconds of the clock, for equal parts of it on each kind."""
        was_enabled = gc.isenabled()
        gc.disable()
        for kind, (work, _) in KINDS.items():
            begun = clock()
            rounds = 0
            while (passed := clock() - begun) < seconds / len(KINDS):
                work()
                rounds += 1
            self._count(kind, rounds, passed)
        if was_enabled:
            gc.enable()

    def add(self, other: "Calibration") -> None:
        """Count what another process counted."""
        for kind, rounds in other.rounds.items():
            self._count(kind, rounds, other.seconds[kind])

    def _count(self, kind: str, rounds: float, seconds: float) -> None:
        self.rounds[kind] = self.rounds.get(kind, 0.0) + rounds
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds

    def factors(self) -> dict[str, float]:
        """By kind of work: how many times slower than the reference this machine is."""
        return {
            kind: KINDS[kind][1] * self.seconds[kind] / rounds
            for kind, rounds in self.rounds.items()
            if rounds
        }

    @property
    def slowness(self) -> float:
        """How many times slower than the reference the machine is at its slowest kind of work;
        never less than 1.
        """
        return max([1.0, *self.factors().values()])


class _Word:
    def __init__(self, text: str) -> None:
        self.text = text

    def length(self) -> int:
        return len(self.text)


_DOCUMENT = {
    "items": [
        {"id": f"item_{number}", "text": "some words " * 3, "at": number} for number in range(20)
    ]
}


def _calculate() -> int:
    """Objects, dictionaries, strings, calls, and a little C, all of which fit into a cache."""
    text = json.dumps(_DOCUMENT)
    words = [_Word(word) for word in text.split()]
    by_length: dict[int, list[str]] = {}
    for word in words:
        by_length.setdefault(word.length(), []).append(word.text.strip('"'))
    total = len(json.loads(text)["items"])
    for length, group in sorted(by_length.items()):
        total += length * len({*group}) + len(",".join(group))
    for number in range(2000):
        total += number * length & 7
    return total


_STRIDE = 4099
"""Objects between two that are read: each lies on another page of memory."""


@cache
def _objects() -> tuple[list[float], Iterator[int]]:
    """16 MB of objects, more than a core's own cache has room for, and where the next reading
    begins.
    """
    return [float(number) for number in range(500_000)], cycle(range(_STRIDE))


def _read_memory() -> float:
    """What an interpreter does most: follow references to objects that are anywhere."""
    objects, starts = _objects()
    return sum(sum(objects[next(starts) :: _STRIDE]) for _ in range(40))


def _call_kernel() -> None:
    """New pages of memory, pipes and files."""
    with mmap.mmap(-1, 1 << 18) as pages:
        pages[:: mmap.PAGESIZE] = bytes(len(pages) // mmap.PAGESIZE)
    reading, writing = os.pipe()
    os.write(writing, bytes(1000))
    os.read(reading, 1000)
    os.close(reading)
    os.close(writing)
    Path("/").stat()


KINDS: Mapping[str, tuple[Callable[[], object], float]] = {
    "calculation": (_calculate, 5400.0),
    "memory": (_read_memory, 8000.0),
    "kernel": (_call_kernel, 4200.0),
}
"""The kinds of work, each with its rounds in a CPU second on the reference.

That is two cores of a cloud machine, Python 3.11.2 of Debian 12, with nothing beside, between the
tests of `make test`.
"""


def by_the_clock(seconds: float) -> Calibration:
    """Work for so many seconds of real time: what else the machine does counts."""
    calibration = Calibration()
    calibration.run(seconds, time.perf_counter)
    return calibration


def of_all_cores(seconds: float = 0.6) -> Calibration:
    """Work on all cores at once, by the clock."""
    cores = os.cpu_count() or 1
    total = Calibration()
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        for each in pool.map(by_the_clock, [seconds] * cores, chunksize=1):
            total.add(each)
    return total


if __name__ == "__main__":
    print(round(of_all_cores().slowness * 100))
