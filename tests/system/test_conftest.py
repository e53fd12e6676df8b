"""What pytest prints where it cannot run the tests that were meant."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ANY = "tests/unit/test_ids.py"


def run(*arguments: str) -> tuple[int, str]:
    """Run this Python in the repository; return its exit code and what it prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    return done.returncode, done.stdout + done.stderr


def test_a_path_that_does_not_exist_is_named() -> None:
    code, text = run("-m", "pytest", "-n", "1", ANY, "tests/unit/test_nothing.py")

    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"tests/unit/test_nothing.py does not exist in {ROOT}." in text


@pytest.mark.parametrize(
    "choice", [("-k", "zebra", ANY), (f"{ANY}::test_zebra",)], ids=["words", "name"]
)
def test_arguments_that_choose_no_test_are_named(choice: tuple[str, ...]) -> None:
    code, text = run("-m", "pytest", "-n", "1", *choice)

    assert code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert f"No test matches: -n 1 {' '.join(choice)}" in text


def test_a_path_runs_all_tests_of_it_and_a_level_only_its_own() -> None:
    places = (
        "tests/integration/server/test_caching.py",
        "tests/integration/server/test_idempotency.py",
    )
    counts = {}
    for level in ("all", "test", "wide"):
        code, text = run(
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            *places,
            *(("--level", level) if level != "all" else ()),
        )
        assert code == 0
        counts[level] = sum(
            int(line.rpartition(": ")[2]) for line in text.splitlines() if line.startswith("tests/")
        )

    assert counts["all"] == counts["test"] + counts["wide"]
    assert min(counts.values()) > 0


def test_a_run_of_chosen_tests_is_not_judged_and_can_write_what_each_cost(tmp_path: Path) -> None:
    code, text = run("-m", "pytest", "-n", "1", ANY, "--cpu", str(tmp_path / "cpu.tsv"))

    assert code == 0
    assert "CPU of" not in text
    rows = [line.split("\t") for line in (tmp_path / "cpu.tsv").read_text().splitlines()]
    assert all(float(seconds) >= 0 and test.startswith(ANY) for seconds, test in rows)
    assert len(rows) > 10


LEVEL = f"""
import sys, pytest
from tests.support import levels
from tests.support.cpu import budgets
levels.runs_all_of = lambda config, level: True
budgets.BUDGETS = dict(all=(BUDGET, "a test"))
sys.exit(pytest.main(["{ANY}", "-n", "0", "-W", "ignore::pytest.PytestAssertRewriteWarning"]))
"""


@pytest.mark.parametrize(("budget", "expected"), [(1000, 0), (0.01, 9)], ids=["within", "above"])
def test_a_whole_level_above_its_budget_has_an_exit_code_of_its_own(
    budget: float, expected: int
) -> None:
    code, text = run("-c", LEVEL.replace("BUDGET,", f"{budget},"))

    assert code == expected
    assert "The ten dearest tests, in CPU seconds:" in text
    assert "CPU of all: " in text
    assert ("above the budget by more than 15%" in text) == (expected == 9)


HIDDEN = f"""
import importlib.util, sys, pytest
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "antiphon" else find(name, package)
sys.exit(pytest.main(["{ANY}"]))
"""  # noqa: E501 - the lines of a text


def test_a_python_without_antiphon_is_sent_to_make() -> None:
    code, text = run("-c", HIDDEN)

    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"Antiphon is not installed for {sys.executable}. Run `make test`" in text


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "with workers"])
def test_a_run_begins_with_its_seed(
    workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_SEED", "4711")
    code, text = run("-m", "pytest", *workers, ANY)

    assert code == pytest.ExitCode.OK
    assert text.count("ANTIPHON_SEED=4711 HYPOTHESIS_PROFILE=") == 1
