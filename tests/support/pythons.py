"""The Pythons of this machine that Antiphon supports: tests of each are skipped, by name, where one
is missing.
"""

import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
PREFIX = "Programming Language :: Python :: 3."
SUPPORTED = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith(PREFIX)]
OWN = f"3.{sys.version_info.minor}"


@cache
def find(version: str) -> Path | None:
    """Return a Python that really starts, of a version such as `3.12`, from the PATH or pyenv; None
    without one.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*map(Path, os.get_exec_path()), *sorted(pyenv.glob(f"versions/{version}.*/bin"))]
    return next((path for folder in folders if _runs(path := folder / f"python{version}")), None)


def _runs(path: Path) -> bool:
    """Whether a path is more than a shim of pyenv for a version that is not active."""
    if not path.exists():
        return False
    return not subprocess.run(
        [path, "-c", "import ensurepip, venv"], capture_output=True, check=False
    ).returncode
