"""Writes `tests.toml`, from one run of all tests under `versions.recording`."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from versions.choice import OF_THE_TREE, TABLE
from versions.pins import bounds
from versions.recording import RECORDED
from versions.uv import ROOT

MOST = 12
"""Tests of one package: the first ones call most of what any test calls."""

ENOUGH = 0.95
"""Of the functions of a package that any test calls."""

EVERYWHERE = frozenset({"hatchling", "pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist"})
"""Packages that run or build every test."""

HEADER = (
    "# Tests that call most of what any test calls of a package; `make test-versions "
    "ARGS=--record` writes them.\n"
)

Calls = Mapping[str, tuple[float, Mapping[str, set[str]]]]
"""Test -> its CPU seconds, and the functions that it calls of each package."""


def record(python: Path) -> None:
    """Run all tests, each with its first case, and write the table. `python` is 3.12 or newer."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(python),
            "-m",
            "pytest",
            "-p",
            "versions.recording",
            "-n",
            "2",
            "tests/unit",
            "tests/integration",
        ]
        subprocess.run(command, check=False, cwd=ROOT, env=os.environ | {RECORDED: folder})
        write(read(Path(folder)))


def read(folder: Path) -> Calls:
    """Return what the processes of a run have recorded."""
    found: dict[str, tuple[float, dict[str, set[str]]]] = {}
    for path in folder.glob("*.json"):
        for test, (seconds, *functions) in json.loads(path.read_text()).items():
            if OF_THE_TREE.match(test):
                continue
            before, by_package = found.get(test, (0.0, {}))
            for line in functions:
                package, _, function = line.partition(" ")
                by_package.setdefault(package, set()).add(function)
            found[test] = (before + seconds, by_package)
    return found


def write(calls: Calls) -> None:
    """Write the table."""
    rows = ((package, cover(calls, package)) for package in bounds() if package not in EVERYWHERE)
    text = "\n".join(
        f"{package} = [\n" + "".join(f'  "{test}",\n' for test in tests) + "]\n"
        for package, tests in rows
        if tests
    )
    TABLE.write_text(f"{HEADER}\n{text}")


def cover(calls: Calls, package: str) -> list[str]:
    """Return tests that together call most functions of a package, chosen by functions gained for
    each second.
    """
    waiting = {
        test: (seconds, by_package[package])
        for test, (seconds, by_package) in calls.items()
        if package in by_package
    }
    every: set[str] = set().union(*(functions for _, functions in waiting.values()))
    covered: set[str] = set()
    chosen: list[str] = []
    while len(chosen) < MOST and len(covered) < ENOUGH * len(every):
        gains = {
            test: len(functions - covered) / (seconds + 0.05)
            for test, (seconds, functions) in waiting.items()
        }
        best = max(sorted(gains), key=gains.__getitem__)
        chosen.append(best)
        covered |= waiting.pop(best)[1]
    return sorted(chosen)
