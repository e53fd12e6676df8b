"""Programs from PyPI that few tests need: installed into the checkout once, in pinned versions.

A test that needs one is skipped where pip cannot reach its index.
"""

import fcntl
import os
import subprocess
import venv
from functools import cache
from pathlib import Path

import pytest

from tests.support.npm import CACHE, INSTALLING


def install(pinned: Path, folder: str) -> Path:
    """Return the folder of the commands of these requirements; first install them if this version
    is not installed.

    Skips the test if pip cannot reach its index.
    """
    place = CACHE / folder
    if reason := _failure(pinned, place):
        pytest.skip(reason)
    return place / "bin"


@cache  # pip is slow to give up, and every test asks
def _failure(pinned: Path, place: Path) -> str:
    """Install the requirements unless they are; return why they are missing afterwards, else an
    empty text.
    """
    place.mkdir(parents=True, exist_ok=True)
    done = place / "installed"
    with (place / "installing").open("w") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)  # another test process may be at it
        if not done.exists() or done.read_bytes() != pinned.read_bytes():
            done.unlink(missing_ok=True)
            if reason := _install(pinned, place):
                return reason
            done.write_bytes(pinned.read_bytes())
    return ""


def _install(pinned: Path, place: Path) -> str:
    venv.create(place, with_pip=True, clear=False)
    command = (
        str(place / "bin/pip"),
        "install",
        "--quiet",
        "--retries",
        "1",
        "--requirement",
        str(pinned),
    )
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PIP_CONSTRAINT", "PYTHONPATH"}
    }
    try:
        subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=INSTALLING, check=True
        )
    except subprocess.TimeoutExpired:
        return f"pip did not install {pinned.name} within {INSTALLING:.0f} s"
    except subprocess.CalledProcessError as error:
        return f"pip could not install {pinned.name}: {error.stderr.strip()[-300:]}"
    return ""


def run(commands: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run one of the commands to its end."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = str(commands / command[0])
    return subprocess.run(
        (program, *command[1:]),
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
