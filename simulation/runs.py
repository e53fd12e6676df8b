"""Runs simulations in other Python processes, several at once."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

BATCH = 12
"""Simulations of one Python process, which keeps what it killed in memory."""

LONGEST = 1200.0
"""Seconds after which a batch is given up."""


class Unfinished(Exception):  # noqa: N818 - it is what a simulation can find
    """A Python process ended before its simulations did."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one simulation showed; `violations` is empty if everything holds."""

    seed: int
    violations: Sequence[str]
    digest: str
    steps: int
    simulated: float
    """Seconds of the simulated clock."""
    setting: str
    events: Sequence[str]
    numbers: Sequence[int]
    """The numbers of the events."""
    trace: Sequence[str]


def run(
    seeds: Sequence[int],
    *,
    only: Sequence[int] = (),
    shrinks: bool = False,
    stops: bool = False,
    is_traced: bool = False,
    mutation: str = "",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Result]:
    """Run simulations one after the other. Raises `Unfinished`.

    `only` are the numbers of the events that a plan retains. With `shrinks`, a failing plan is
    shrunk; with `stops`, the first that fails is the last. `mutation` names a fault that is put
    into the code.
    """
    order = {
        "seeds": list(seeds),
        "only": list(only),
        "shrinks": shrinks,
        "stops": stops,
        "is_traced": is_traced,
        "mutation": mutation,
    }
    command = (sys.executable, "-m", "simulation.worker", json.dumps(order))
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, env=environment
    )
    for line in done.stdout.splitlines():
        found: dict[str, Any] = json.loads(line)
        yield Result(**found)
    if done.returncode:
        raise Unfinished(f"seeds {seeds[0]} to {seeds[-1]}: {done.stderr[-2000:]}")


def run_many(seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    """Run simulations, so many at once, each as soon as there is room; failing ones are shrunk.

    Closing the iterator begins no further ones.
    """
    waiting = iter(seeds)
    with ThreadPoolExecutor(jobs) as pool:
        pending: set[Future[list[Result]]] = set()
        while True:
            while len(pending) < jobs and (batch := list(islice(waiting, BATCH))):
                pending.add(pool.submit(_shrunk, batch))
            if not pending:
                return
            done = next(as_completed(pending))
            pending.discard(done)
            yield from done.result()


def _shrunk(batch: Sequence[int]) -> list[Result]:
    return list(run(batch, shrinks=True))
