"""A plugin of pytest that adds up the CPU seconds of a run, and fails a level that costs more than
its budget.

Every worker counts itself, its children and its PostgreSQL, and sends the sums when it ends. A
worker that dies takes its sums along, so such a run is not judged; nor is a run of chosen tests.
`--cpu FILE` writes the seconds of each test.
"""

from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.cpu import clock
from tests.support.cpu.budgets import (
    BUDGETS,
    TOLERANCE,
    TOO_DEAR,
    Spent,
    dearest,
    is_too_dear,
    unmarked,
)
from tests.support.cpu.calibration import EVERY, Calibration
from tests.support.levels import is_wide, runs_all_of

MOST_LINES = 20
"""Slow tests without the marker that a run lists."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu", metavar="FILE", type=Path, help="write the CPU seconds of every test to a file"
    )


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Worker(config), "cpu-worker")
    elif not config.option.collectonly:
        config.pluginmanager.register(Report(config), "cpu-report")


class Meter:
    """Measures the tests of one process."""

    def __init__(self) -> None:
        self.spent = Spent()
        self._sliced = 0.0
        self._shared = 0.0
        """Seconds that the fixtures of several tests have cost so far."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        needs = getattr(item, "fixturenames", ())
        has_server = (
            item.nodeid.startswith("tests/system")
            or "postgres" in item.nodeid
            or "postgres" in needs
        )
        begun = clock.spent()
        shared = self._shared
        try:
            return (yield)
        finally:
            if has_server:
                clock.refresh()
            ended = clock.spent()
            self.spent.items[item.nodeid] = ended - begun - (self._shared - shared)
            if is_wide(item) or hasattr(getattr(item, "function", None), "cases"):
                self.spent.excused.add(item.nodeid)
            if ended - self._sliced > EVERY:
                self.spent.calibration.run()
                self._sliced = ended

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """What several tests share is not the price of the first of them."""
        if fixturedef.scope == "function":
            return (yield)
        begun = clock.spent()
        shared = self._shared
        try:
            return (yield)
        finally:
            self._shared = shared + clock.spent() - begun

    def total(self, *, with_children: bool) -> Spent:
        """What this process has spent, the calibration apart."""
        clock.refresh()
        seconds = clock.spent() if with_children else clock.of_this_process()
        self.spent.seconds = seconds - sum(self.spent.calibration.seconds.values())
        return self.spent


class Worker(Meter):
    """Measures a worker of xdist, and sends what it measured."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        spent = asdict(self.total(with_children=True)) | {"excused": [*self.spent.excused]}
        self._config.workeroutput["cpu"] = spent  # type: ignore[attr-defined]


class Report(Meter):
    """Measures the process that starts the others, or runs the tests itself; judges, and says what
    was spent.
    """

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config
        self._has_workers = False
        self._lost = 0
        self._level = str(config.option.level)
        self._is_whole = runs_all_of(config, self._level)
        self._slowness = 1.0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._has_workers = True
        sent = getattr(node, "workeroutput", {}).get("cpu")
        if sent is None:
            self._lost += 1
        else:
            calibration = Calibration(**sent["calibration"])
            self.spent.add(
                Spent(**sent | {"excused": set(sent["excused"]), "calibration": calibration})
            )

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """The workers have ended when the other plugins are done."""
        result = yield
        workers = self.spent
        self.spent = Spent()
        own = self.total(with_children=not self._has_workers)
        workers.add(own)
        self.spent = workers
        self._slowness = self.spent.calibration.slowness
        if session.exitstatus == pytest.ExitCode.OK and self._is_judged() and self._is_too_dear():
            session.exitstatus = TOO_DEAR
        return result

    def _is_judged(self) -> bool:
        return self._is_whole and not self._lost

    def _is_too_dear(self) -> bool:
        return is_too_dear(self._level, self.spent.seconds / self._slowness)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if file := self._config.option.cpu:
            rows = (
                f"{seconds:.4f}\t{test}\n"
                for test, seconds in dearest(self.spent.items, len(self.spent.items))
            )
            file.write_text("".join(rows))
        if self._is_whole:
            for line in self._lines():
                terminalreporter.write_line(line)

    def _lines(self) -> Generator[str, None, None]:
        spent = self.spent
        slowness = self._slowness
        yield "The ten dearest tests, in CPU seconds:"
        yield from (f"  {seconds / slowness:6.2f} {test}" for test, seconds in dearest(spent.items))
        if slow := unmarked(spent, slowness):
            yield f"{len(slow)} tests need more than 0.2 CPU s and are not marked `wide`:"
            yield from (
                f"  {seconds / slowness:6.2f} {test}" for test, seconds in slow[:MOST_LINES]
            )
        text = f"CPU of {self._level}: {spent.seconds / slowness:.0f} s"
        if self._level in BUDGETS:
            text += f" of {BUDGETS[self._level][0]:.0f}"
        factors = ", ".join(
            f"{kind} {factor:.2f}" for kind, factor in spent.calibration.factors().items()
        )
        yield (
            f"{text} ({spent.seconds:.0f} s on this machine, which is {slowness:.2f} times slower "
            "than the reference)"
        )
        yield f"How many times slower, by kind of work: {factors}"
        if self._lost:
            yield f"{self._lost} workers died, so the sum is incomplete and is not judged."
        elif self._is_too_dear():
            yield (
                f"The CPU time is above the budget by more than {TOLERANCE - 1:.0%} "
                "(tests/support/cpu/budgets.py)."
            )
