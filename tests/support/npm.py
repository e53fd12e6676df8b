"""Programs from npm: installed into the checkout once, in the versions of a lock file."""

import fcntl
import shutil
import subprocess
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".clients"
INSTALLING = 300.0
"""Seconds that npm may take; the largest package has some 150 MB."""

OUR_FAULTS = ("EUSAGE", "EINTEGRITY")
"""npm's codes for a lock file that does not fit: such a failure is not the network's."""


class UnavailableError(Exception):
    """The program is not installed and cannot be; the message says why."""


def install(pinned: Path, what: str, command: str, *, folder: Path = CACHE, trial: tuple[str, ...] = ()) -> Path:
    """Return a command of a package; first install the package if this version is not installed.

    `pinned` has npm's package.json and its lock. `trial` are arguments with which the command only shows that it runs.
    Raises `UnavailableError` if npm is missing or cannot reach its registry.
    """
    program = folder / "node_modules" / ".bin" / command
    install_packages(pinned, what, folder=folder, trial=(str(program), *trial) if trial else ())
    return program


def install_packages(pinned: Path, what: str, *, folder: Path, trial: tuple[str, ...] = ()) -> None:
    """Install the packages of a lock file into a folder, unless this version of the lock is installed there.

    `trial` is a command that must succeed after the installation. Raises `UnavailableError` like `install`.
    """
    lock, done = pinned / "package-lock.json", folder / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "installing").open("w") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)  # another test process may be at it
        if not done.exists() or done.read_bytes() != lock.read_bytes():
            done.unlink(missing_ok=True)
            _npm_ci(pinned, what, folder, trial)
            shutil.copy(lock, done)


def _npm_ci(pinned: Path, what: str, folder: Path, trial: tuple[str, ...]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError(f"{what} is installed by npm, and there is none")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pinned / name, folder)
    try:
        _run(folder, npm, "ci", "--no-audit", "--no-fund", "--fetch-retries=1")
        if trial:
            _run(folder, *trial)  # npm does not mind if what is for this machine cannot be had
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"npm did not install {what} within {INSTALLING:.0f} s") from error
    except subprocess.CalledProcessError as error:
        if any(fault in error.stderr for fault in OUR_FAULTS):
            raise
        raise UnavailableError(f"npm could not install {what}: {' '.join(error.stderr.split())[:300]}") from error


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALLING, check=True)
