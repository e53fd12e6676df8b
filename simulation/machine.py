"""The clock and the source of randomness that all simulated processes use.

`install` replaces those of the operating system, so it must run before `antiphon` is imported:
some modules keep `time.monotonic` as the default of a parameter.
"""

import os
import random
import time
from collections.abc import Callable
from typing import Protocol

EPOCH = 1_700_000_000.0
"""The wall clock when a simulation begins, in seconds since the epoch."""


class Clocks(Protocol):
    """What the clocks of the running process show, in seconds."""

    def monotonic(self) -> float: ...
    def wall(self) -> float: ...


class _Stopped:
    def monotonic(self) -> float:
        return 0.0

    def wall(self) -> float:
        return EPOCH


class Machine:
    """The machine on which the simulated processes run."""

    def __init__(self) -> None:
        self.clocks: Clocks = _Stopped()
        self.dice = random.Random()

    def boot(self, seed: str) -> None:
        """Begin with other random numbers, and with the clock at its start."""
        self.clocks = _Stopped()
        self.dice = random.Random(seed)
        random.seed(seed)

    def urandom(self, size: int) -> bytes:
        """Return random bytes, as `os.urandom`."""
        return self.dice.randbytes(size)


machine = Machine()


def install() -> None:
    """Replace the clocks and the randomness of this Python process; it then only simulates."""
    monotonic: Callable[[], float] = lambda: machine.clocks.monotonic()  # noqa: E731 - as short as a clock
    time.time = lambda: machine.clocks.wall()
    time.monotonic = time.perf_counter = monotonic
    time.clock_gettime = lambda _: machine.clocks.monotonic()
    time.sleep = lambda _: None
    os.urandom = machine.urandom
    random._urandom = machine.urandom  # type: ignore[attr-defined]  # `secrets` reads it here
