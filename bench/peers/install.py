"""Virtual environments below `.peers/`, one for each server that is compared, kept while Python stays the same."""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from bench.process import ROOT

FOLDER = ROOT / ".peers"

LIMIT = 900
"""Seconds that an installation may take."""


class NotInstalledError(Exception):
    """A peer cannot be had here; the message says why."""


def environment(name: str, requirements: Sequence[str], constraints: Path | None = None) -> Path:
    """Return the `bin` folder of an environment that has these installed. Raises `NotInstalledError`."""
    folder = FOLDER / name
    done, python = folder / ".installed", f"{sys.base_prefix} {sys.version}"
    if not done.exists() or done.read_text() != python:
        venv.create(folder, clear=True, with_pip=True)
        # The constraints are ours; what a peer needs is its own affair.
        variables = {key: value for key, value in os.environ.items() if key not in {"PIP_CONSTRAINT", "PYTHONPATH"}}
        if constraints is not None:
            variables |= {"PIP_CONSTRAINT": str(constraints), "PIP_BUILD_CONSTRAINT": str(constraints)}
        print(f"Installing {', '.join(requirements)} into {folder.relative_to(ROOT)} ...", file=sys.stderr)
        _run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *requirements], variables)
        done.write_text(python)
    return folder / "bin"


def commit(ref: str) -> tuple[str, Path]:
    """Install another commit of ours; return its short name and its `bin` folder. Raises `NotInstalledError`."""
    git = ["git", "-C", str(ROOT)]
    name = _run([*git, "rev-parse", "--short", "--verify", f"{ref}^{{commit}}"]).strip()
    with tempfile.TemporaryDirectory(prefix="antiphon-ref-") as folder:
        archive = Path(folder) / "source.tar"
        source = Path(folder) / "source"
        source.mkdir()
        _run([*git, "archive", "--output", str(archive), name])
        _run(["tar", "-xf", str(archive), "-C", str(source)])
        return name, environment(f"antiphon-{name}", [str(source)], source / "constraints.txt")


def _run(command: Sequence[str], variables: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=LIMIT)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no word why"])[-1]
        raise NotInstalledError(last) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(str(error)) from error
    return done.stdout
