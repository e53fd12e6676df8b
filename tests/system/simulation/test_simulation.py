"""Simulated servers keep their promises: with the same seeds each time, and with others each time.

`make simulate` runs more of them, and `docs/why/simulation.md` says what they show.
"""

import os

import pytest
from simulation.__main__ import describe
from simulation.runs import run

from tests.support.chance import SEED

FIXED = range(1, 9)

FAULT = "turn_not_appended"

FRESH = range(SEED * 1000, SEED * 1000 + 8)


@pytest.mark.parametrize("seeds", [FIXED, FRESH], ids=["fixed", "fresh"])
def test_simulated_servers_break_no_promise(seeds: range) -> None:
    failed = [describe(one) for one in run(seeds, shrinks=True) if one.violations]

    assert not failed, "\n".join(failed)


def test_a_seed_repeats_a_simulation_exactly_in_every_process() -> None:
    digests = {
        next(run([11], environment={**os.environ, "PYTHONHASHSEED": hash_seed})).digest
        for hash_seed in ("1", "2")
    }

    assert len(digests) == 1


def test_a_failure_is_repeated_by_its_seed_and_its_shortest_plan() -> None:
    found = next(
        one for one in run(range(1, 9), shrinks=True, stops=True, mutation=FAULT) if one.violations
    )

    again = next(run([found.seed], only=found.numbers, mutation=FAULT))

    assert again.digest == found.digest
    assert again.violations == found.violations
    assert len(found.events) == 1
    assert f"SEED={found.seed}" in describe(found)
