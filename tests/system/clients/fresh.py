"""The documented installation, with no constraints: an environment with the newest versions of the
day.

It is made once for each run of the tests, in the folder of the installed clients.
"""

import fcntl
import os
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.newest import OURS, UNREACHABLE
from tests.support.npm import CACHE

ROOT = Path(__file__).parents[3]
PLACE = CACHE / "fresh"

DOCUMENTED = "pip install '.[all]' ./verify"
"""As in docs/get-started/install.md."""

INSTALLING = 1200.0
"""Seconds that pip may take, on a machine with an empty cache."""


def python() -> Path:
    """Return the interpreter of the environment.

    Skips the test if no package registry is reachable.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    created = PLACE / "made"
    PLACE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "fresh.lock").open("w") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)  # another test process may be at it
        if not created.exists() or created.read_text() != run:
            created.unlink(missing_ok=True)
            _make()
            created.write_text(run)
    return PLACE / "bin/python"


def versions() -> str:
    """Return what is installed, a line for each package."""
    return _run(str(PLACE / "bin/pip"), "list", "--format", "freeze").stdout


def _make() -> None:
    venv.create(PLACE, with_pip=True, clear=True, symlinks=True)
    done = _run("/bin/sh", "-c", f". {PLACE}/bin/activate && {DOCUMENTED}")
    if done.returncode and any(word in done.stderr for word in UNREACHABLE["pip"]):
        pytest.skip(f"pip reaches no package registry: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    variables = {name: value for name, value in os.environ.items() if name not in OURS}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=INSTALLING,
        check=False,
    )
