"""The CPU seconds that each level of tests may cost, and what becomes of a run that costs more.

A budget may fall. Whoever raises one adds the reason to its line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.cpu.calibration import Calibration

TOLERANCE = 1.15
"""A level fails above this many times its budget; `make` then runs it once more before it believes
it.
"""

SLOW = 0.2
"""CPU seconds from which a unit or integration test belongs to `make test-wide`."""

TOO_DEAR = 9
"""The exit code of a run whose tests passed, and cost too much."""

BUDGETS: Mapping[str, tuple[float, str]] = {
    "test": (
        290,
        "16,000 tests beside `check` cost 287 to 320 with agents, simulation and console figures; "
        "13,881 cost 253 to 272, 13,159 of them 215 to 247",
    ),
    "wide": (
        390,
        "what `test` omits: 309 before agents, and the console's filters, figures and views on two "
        "databases, 379 to 419 with them; plans of lists on PostgreSQL came from `test` and cost 7",
    ),
    "system": (
        960,
        "1,040 with agents in processes of their own, killed, on two databases, and the console's "
        "new pages, before dear tests of types, images and poolers rotated; the goal is 500",
    ),
    "versions": (
        200,
        "five environments, with 3.14, cost 168 and 193; what installs them is not counted",
    ),
}
"""By level: CPU seconds on the reference of `calibration`, and the reason."""


@dataclass
class Spent:
    """What processes of one run spent. All seconds are CPU seconds of this machine."""

    seconds: float = 0.0
    calibration: Calibration = field(default_factory=Calibration)
    """What it spent is not part of `seconds`."""
    items: dict[str, float] = field(default_factory=dict)
    """By test."""
    excused: set[str] = field(default_factory=set)
    """The tests with the marker, and the loops: many cases may take longer than one."""

    def add(self, other: "Spent") -> None:
        """Count another process."""
        self.seconds += other.seconds
        self.calibration.add(other.calibration)
        self.items |= other.items
        self.excused |= other.excused


def is_too_dear(level: str, seconds: float) -> bool:
    """Whether a level that cost so many seconds of the reference machine exceeds its budget; one
    without never does.
    """
    return level in BUDGETS and seconds > BUDGETS[level][0] * TOLERANCE


def dearest(items: Mapping[str, float], count: int = 10) -> list[tuple[str, float]]:
    """The tests that cost most, dearest first."""
    return sorted(items.items(), key=lambda item: (-item[1], item[0]))[:count]


def unmarked(spent: Spent, slowness: float) -> list[tuple[str, float]]:
    """The unit and integration tests that belong to `make test-wide` and do not say so, dearest
    first.
    """
    slow = {
        test: seconds
        for test, seconds in spent.items.items()
        if seconds / slowness > SLOW
        and test not in spent.excused
        and not test.startswith("tests/system")
    }
    return dearest(slow, len(slow))
