"""Programs from npm: installed into the checkout once, in the versions of a lock file.

A test that needs one is skipped where npm is missing or cannot reach its registry.
"""

import fcntl
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".clients"
INSTALLING = 300.0
"""Seconds that npm may take; the largest package has some 150 MB."""

OUR_FAULTS = ("EUSAGE", "EINTEGRITY")
"""npm's codes for a lock file that does not fit: such a failure is not the network's."""


def install(
    pinned: Path, what: str, command: str, *, folder: Path = CACHE, trial: tuple[str, ...] = ()
) -> Path:
    """Return a command of a package; first install the package if this version is not installed.

    `pinned` has npm's package.json and its lock. `trial` are arguments with which the command only
    shows that it runs. Skips the test if npm is missing or cannot reach its registry.
    """
    program = folder / "node_modules" / ".bin" / command
    install_packages(pinned, what, folder=folder, trial=(str(program), *trial) if trial else ())
    return program


def install_packages(pinned: Path, what: str, *, folder: Path, trial: tuple[str, ...] = ()) -> None:
    """Install the packages of a lock file into a folder, unless this version of the lock is
    installed there.

    `trial` is a command that must succeed after the installation. Skips the test like `install`.
    """
    if reason := _failure(pinned, what, folder, trial):
        pytest.skip(reason)


@cache  # npm is slow to give up, and every test of a client asks
def _failure(pinned: Path, what: str, folder: Path, trial: tuple[str, ...]) -> str:
    """Install the packages unless they are; return why they are missing afterwards, else an empty
    text.
    """
    lock = pinned / "package-lock.json"
    done = folder / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "installing").open("w") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)  # another test process may be at it
        if done.exists() and done.read_bytes() == lock.read_bytes():
            return ""
        done.unlink(missing_ok=True)
        reason = _npm_ci(pinned, what, folder, trial)
        if not reason:
            shutil.copy(lock, done)
        return reason


def _npm_ci(pinned: Path, what: str, folder: Path, trial: tuple[str, ...]) -> str:
    npm = shutil.which("npm")
    if npm is None:
        return f"{what} is installed by npm, and npm is missing"
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pinned / name, folder)
    try:
        _run(folder, npm, "ci", "--no-audit", "--no-fund", "--fetch-retries=1")
        if trial:
            _run(folder, *trial)  # npm does not mind if what is for this machine cannot be had
    except subprocess.TimeoutExpired:
        return f"npm did not install {what} within {INSTALLING:.0f} s"
    except subprocess.CalledProcessError as error:
        if any(fault in error.stderr for fault in OUR_FAULTS):
            raise
        return f"npm could not install {what}: {' '.join(error.stderr.split())[:300]}"
    return ""


def _run(folder: Path, *command: str) -> None:
    subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=INSTALLING, check=True
    )
