"""What the tests may cost."""

import pytest

from tests.support.cpu.budgets import BUDGETS, TOLERANCE, Spent, dearest, is_too_dear, unmarked
from tests.support.cpu.calibration import KINDS, Calibration
from tests.support.timeouts import scaled


def test_a_level_may_exceed_its_budget_by_the_tolerance() -> None:
    most = BUDGETS["test"][0] * TOLERANCE

    assert not is_too_dear("test", most)
    assert is_too_dear("test", most + 1)


def test_a_level_without_a_budget_is_never_too_dear() -> None:
    assert not is_too_dear("all", 10**6)


def test_every_budget_has_a_reason() -> None:
    assert all(seconds > 0 and reason for seconds, reason in BUDGETS.values())


def test_processes_are_added_up() -> None:
    whole = Spent(1.0, Calibration({"memory": 10}, {"memory": 0.5}), {"a": 0.1}, {"a"})
    whole.add(
        Spent(
            2.0,
            Calibration({"memory": 20, "kernel": 1}, {"memory": 0.25, "kernel": 1.0}),
            {"b": 0.2},
        )
    )

    calibration = Calibration({"memory": 30, "kernel": 1}, {"memory": 0.75, "kernel": 1.0})
    assert whole == Spent(3.0, calibration, {"a": 0.1, "b": 0.2}, {"a"})


def test_the_dearest_come_first() -> None:
    assert dearest({"a": 1.0, "b": 3.0, "c": 2.0}, 2) == [("b", 3.0), ("c", 2.0)]


def test_a_slow_test_is_listed_unless_it_is_marked_or_starts_processes() -> None:
    spent = Spent(
        items={"tests/unit/a": 0.5, "tests/unit/b": 0.5, "tests/system/c": 9.0, "tests/unit/d": 0.1}
    )
    spent.excused = {"tests/unit/b"}

    assert unmarked(spent, slowness=1.0) == [("tests/unit/a", 0.5)]
    assert unmarked(spent, slowness=3.0) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_is_as_slow_as_it_is_at_its_slowest_kind_of_work(kind: str) -> None:
    of_the_reference = {kind: reference for kind, (_, reference) in KINDS.items()}

    assert Calibration(of_the_reference, dict.fromkeys(KINDS, 1.0)).slowness == 1
    assert Calibration(of_the_reference, dict.fromkeys(KINDS, 1.0) | {kind: 2.0}).slowness == 2
    assert Calibration(of_the_reference, dict.fromkeys(KINDS, 0.5) | {kind: 0.4}).slowness == 1


def test_a_machine_that_was_not_measured_counts_as_the_reference() -> None:
    assert Calibration().slowness == 1


def test_a_calibration_counts_its_rounds_and_seconds() -> None:
    calibration = Calibration()
    calibration.run(0.003)
    first = dict(calibration.rounds)
    calibration.run(0.003)

    assert all(calibration.rounds[kind] > first[kind] > 0 for kind in KINDS)
    assert sum(calibration.seconds.values()) >= 0.006


@pytest.mark.parametrize(
    ("slowness", "load", "limit"),
    [(1.0, 0.5, 120), (0.5, 0.5, 120), (3.0, 2.0, 360), (1.5, 8.0, 480), (1.0, 90.0, 600)],
)
def test_a_time_limit_grows_with_the_slowness_or_the_load_of_a_machine(
    slowness: float, load: float, limit: float
) -> None:
    assert scaled(120, slowness, load, cores=2) == limit
