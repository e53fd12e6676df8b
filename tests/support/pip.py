"""Programs from PyPI that few tests need: installed into the checkout once, in pinned versions."""

import fcntl
import os
import subprocess
import venv
from pathlib import Path

from tests.support.npm import CACHE, INSTALLING, UnavailableError


def install(pinned: Path, folder: str) -> Path:
    """Return the folder of the commands of these requirements; first install them if this version is not installed.

    Raises `UnavailableError` if pip cannot reach its index.
    """
    place = CACHE / folder
    place.mkdir(parents=True, exist_ok=True)
    commands, done = place / "bin", place / "installed"
    with (place / "installing").open("w") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)  # another test process may be at it
        if not done.exists() or done.read_bytes() != pinned.read_bytes():
            done.unlink(missing_ok=True)
            _install(pinned, place)
            done.write_bytes(pinned.read_bytes())
    return commands


def _install(pinned: Path, place: Path) -> None:
    venv.create(place, with_pip=True, clear=False)
    command = (str(place / "bin/pip"), "install", "--quiet", "--retries", "1", "--requirement", str(pinned))
    variables = {name: value for name, value in os.environ.items() if name not in {"PIP_CONSTRAINT", "PYTHONPATH"}}
    try:
        subprocess.run(command, env=variables, capture_output=True, text=True, timeout=INSTALLING, check=True)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"pip did not install {pinned.name} within {INSTALLING:.0f} s") from error
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"pip could not install {pinned.name}: {error.stderr.strip()[-300:]}") from error


def run(commands: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run one of the commands to its end."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = str(commands / command[0])
    return subprocess.run(
        (program, *command[1:]), env=variables, capture_output=True, text=True, timeout=60, check=False
    )
