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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    return done.returncode, done.stdout + done.stderr


def test_a_path_that_does_not_exist_is_named() -> None:
    code, text = run("-m", "pytest", "-n", "2", ANY, "tests/unit/test_nothing.py")

    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"tests/unit/test_nothing.py does not exist in {ROOT}." in text


@pytest.mark.parametrize("choice", [("-k", "zebra", ANY), (f"{ANY}::test_zebra",)], ids=["words", "name"])
def test_arguments_that_choose_no_test_are_named(choice: tuple[str, ...]) -> None:
    code, text = run("-m", "pytest", "-n", "2", *choice)

    assert code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert f"No test matches: -n 2 {' '.join(choice)}" in text


HIDDEN = f"""
import importlib.util, sys, pytest
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "antiphon" else find(name, package)
sys.exit(pytest.main(["{ANY}"]))
"""


def test_a_python_without_antiphon_is_sent_to_make() -> None:
    code, text = run("-c", HIDDEN)

    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"Antiphon is not installed for {sys.executable}. Run `make test`" in text
