"""No path of a request may cost more Python calls than its budget. `make trace` shows where they
are spent.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.trace.budgets import BUDGETS, is_within


@pytest.fixture(scope="module")
def counted() -> dict[str, float]:
    """What each path costs, counted in a process that nothing else has touched."""
    command = [sys.executable, "-m", "bench.trace", "--json"]
    traced = subprocess.run(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, check=True, timeout=300
    )
    figures: dict[str, float] = json.loads(traced.stdout)
    return figures


@pytest.mark.parametrize("name", BUDGETS)
def test_a_path_stays_within_its_budget(counted: dict[str, float], name: str) -> None:
    count = counted[name]
    budget = BUDGETS[name]
    assert is_within(name, count), (
        f"{name}: {count:g} instead of {budget:g}; `make trace` shows where"
    )


def test_a_stream_of_another_api_takes_little_more_cpu_time() -> None:
    command = [sys.executable, "-m", "bench.trace", "--fronts"]
    measured = subprocess.run(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, check=True, timeout=300
    )
    table = measured.stdout.decode()
    assert table.count("within") == 2, table


def test_every_path_has_a_budget(counted: dict[str, float]) -> None:
    assert counted.keys() == BUDGETS.keys()
