"""Virtual environments below `.peers/`, one for each server that is compared, kept while Python
stays the same.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from versions.environments import interpreter

from bench.process import ROOT

FOLDER = ROOT / ".peers"

LIMIT = 900
"""Seconds that an installation may take."""


class NotInstalledError(Exception):
    """A peer cannot be had here; the message says why."""


def environment(
    name: str,
    requirements: Sequence[str],
    constraints: Path | None = None,
    *,
    minor: str | None = None,
) -> Path:
    """Return the `bin` folder of an environment that has these installed.

    Raises `NotInstalledError`.

    `minor` is the version of Python that it needs, such as `3.12`; without it, the Python of the
    bench.
    """
    program = _python(minor)
    folder = FOLDER / name
    about = [sys.base_prefix, sys.version] if minor is None else [program]
    done = folder / ".installed"
    wanted = "\n".join([*about, *requirements])
    if not done.exists() or done.read_text() != wanted:
        _run([program, "-m", "venv", "--clear", str(folder)])
        # The constraints are ours; what a peer needs is its own affair.
        variables = {
            key: value
            for key, value in os.environ.items()
            if key not in {"PIP_CONSTRAINT", "PYTHONPATH"}
        }
        if constraints is not None:
            variables |= {
                "PIP_CONSTRAINT": str(constraints),
                "PIP_BUILD_CONSTRAINT": str(constraints),
            }
        print(
            f"Installing {', '.join(requirements)} into {folder.relative_to(ROOT)} ...",
            file=sys.stderr,
        )
        _run(
            [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *requirements],
            variables,
        )
        done.write_text(wanted)
    return folder / "bin"


def version(binaries: Path, package: str) -> str:
    """Return the version of a package that is installed there."""
    requested = f"import importlib.metadata as m; print(m.version({package!r}))"
    return _run([str(binaries / "python"), "-c", requested]).strip()


def commit(ref: str = "HEAD") -> str:
    """Return the short name of a commit of ours. Raises `NotInstalledError` if there is none."""
    return _run([*_GIT, "rev-parse", "--short", "--verify", f"{ref}^{{commit}}"]).strip()


def installed(ref: str) -> Path:
    """Install another commit of ours; return its `bin` folder. Raises `NotInstalledError`."""
    name = commit(ref)
    with tempfile.TemporaryDirectory(prefix="antiphon-ref-") as folder:
        archive = Path(folder) / "source.tar"
        source = Path(folder) / name
        source.mkdir()
        _run([*_GIT, "archive", "--output", str(archive), name])
        _run(["tar", "-xf", str(archive), "-C", str(source)])
        binaries = FOLDER / f"antiphon-{name}/bin"
        stored = FOLDER / f"antiphon-{name}/.installed"
        return (
            binaries
            if stored.exists()
            else environment(f"antiphon-{name}", [f"{source}[all]"], source / "constraints.txt")
        )


def _python(minor: str | None) -> str:
    if minor is None:
        return sys.executable
    found = interpreter(minor)
    if found is None:
        raise NotInstalledError(f"it needs Python {minor}, which is not installed")
    return str(found.program)


_GIT = ["git", "-C", str(ROOT)]


def _run(command: Sequence[str], variables: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, check=True, timeout=LIMIT
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no word why"])[-1]
        raise NotInstalledError(last) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(str(error)) from error
    return done.stdout
