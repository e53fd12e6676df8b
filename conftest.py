"""What every run of pytest needs: an environment with Antiphon, and arguments that choose tests."""

import sys
from importlib.util import find_spec

import pytest

pytest_plugins = [
    "tests.support.levels",
    "tests.support.cpu.plugin",
    "tests.support.skips",
    "tests.support.timeouts",
]


def pytest_configure(config: pytest.Config) -> None:
    """Stop at a path that does not exist: with several workers pytest reports only that no tests
    ran.
    """
    folder = config.invocation_params.dir
    for argument in config.args:
        path = argument.partition("::")[0]
        if not (folder / path).exists():
            raise pytest.UsageError(f"{path} does not exist in {folder}.")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Name the arguments that choose no test."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        terminalreporter.write_line(
            f"No test matches: {' '.join(terminalreporter.config.invocation_params.args)}"
        )


if find_spec("antiphon") is None:
    raise pytest.UsageError(
        f"Antiphon is not installed for {sys.executable}. Run `make test`, or after it "
        "`.venv/bin/python -m pytest`."
    )
