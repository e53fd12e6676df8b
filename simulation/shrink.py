"""Makes a failing plan as short as possible: parts of it are dropped as long as it fails in the
same way.
"""

import re
from collections.abc import Callable

from simulation.plan import Plan
from simulation.world import Outcome, simulate

_DETAILS = re.compile(r"[0-9a-f]{12,}|\d+(\.\d+)?|'[^']*'")

MOST_RUNS = 200


def kind_of(violation: str) -> str:
    """Return a violation without ids, numbers and quotations."""
    return _DETAILS.sub("…", violation)[:80]


def shrink(outcome: Outcome, run: Callable[[Plan], Outcome] = simulate) -> Outcome:
    """Return the outcome of the shortest plan that was found."""
    kinds = set(map(kind_of, outcome.violations))
    best = outcome
    runs = 0
    size = max(1, len(best.plan.events) // 2)
    while True:
        start = 0
        is_shorter = False
        while start < len(best.plan.events) and runs < MOST_RUNS:
            events = best.plan.events
            left = events[:start] + events[start + size :]
            runs += 1
            tried = run(best.plan.only(frozenset(event.number for event in left)))
            if kinds & set(map(kind_of, tried.violations)):
                best = tried
                is_shorter = True
            else:
                start += size
        if runs >= MOST_RUNS or (size == 1 and not is_shorter):
            return best
        size = max(1, size // 2)
