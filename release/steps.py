"""Run the steps of a release, or end it with an error."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class ReleaseError(Exception):
    """The release cannot be built. The text says why, and what to do."""


def run(
    what: str, command: Sequence[str | Path], folder: Path, umask: int = -1, **variables: str
) -> str:
    """Run a command; return its standard output.

    Raises `ReleaseError`, which names `what` failed, with its output.
    """
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment(os.environ) | variables, umask=umask,  # noqa: E501 - one text, or a row of a table
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ReleaseError(
            f"{what} failed:\n{' '.join(map(str, command))}\n{done.stdout}{done.stderr}".rstrip()
        )
    return done.stdout


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that change what pip or Python install and import."""
    ignored = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "PYTHONPATH")
    return {name: value for name, value in variables.items() if name not in ignored}
