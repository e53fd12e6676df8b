"""Packages in their newest versions of the day: installed once for each run of the tests, in the
folder of the clients.

A test that needs one is skipped where its registry cannot be reached.
"""

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.npm import CACHE, INSTALLING

OURS = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables of `make` and of other environments."""

UNREACHABLE = {
    "pip": (
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "NameResolutionError",
        "ProxyError",
    ),
    "npm": ("ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN"),
}
"""What the installers say if they reach no registry. Any other failure is a failure of the test."""


def from_pypi(folder: str, *packages: str) -> Path:
    """Return the interpreter of an environment that has only these packages."""
    place = CACHE / folder
    venv.create(place, with_pip=True, clear=True, symlinks=True)
    _install(
        "pip", place, str(place / "bin/pip"), "install", "--quiet", "--retries", "1", *packages
    )
    return place / "bin/python"


def from_npm(folder: str, *packages: str) -> Path:
    """Return the folder in which these packages are installed; each has its version or tag."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is missing")
    place = CACHE / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}')
    _install(
        "npm", place, npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", *packages
    )
    return place


def _install(installer: str, place: Path, *command: str) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in OURS}
    done = subprocess.run(
        command,
        cwd=place,
        env=variables,
        capture_output=True,
        text=True,
        timeout=INSTALLING,
        check=False,
    )
    if done.returncode and any(word in done.stderr for word in UNREACHABLE[installer]):
        pytest.skip(f"{installer} reaches no package registry: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr
