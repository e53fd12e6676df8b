"""Virtual environments with a Python and a set of versions, in `.venv-versions`."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from versions import uv
from versions.pins import Pins, lines
from versions.uv import ROOT

FOLDER = ROOT / ".venv-versions"
FROM_DEBIAN = FOLDER / "debian"
PACKAGES = (ROOT, ROOT / "verify")
"""The server and antiphon-verify, which every environment has."""

_ABOUT = (
    "import sys, sysconfig; print(*sys.version_info[:3], "
    "bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that is installed: its version such as `3.12.1`, and its program."""

    version: str
    program: Path

    @property
    def minor(self) -> str:
        """The version as pyproject.toml names it: `3.12`."""
        return self.version.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python, and the versions that are installed for it."""

    name: str
    python: Interpreter
    pins: Pins
    what: str
    """What differs from the environment of `make test`."""
    packages: frozenset[str] | None = None
    """Only the tests of these packages run; None runs the representative set."""
    overrides: bool = False
    """Whether a package gets its version even if another package, which only the tests need, has a
    range without it.
    """

    @property
    def program(self) -> Path:
        """Its Python."""
        return FOLDER / self.name / "bin/python"

    def install(self) -> None:
        """Make the environment, unless it is there.

        Raises `CalledProcessError` if a package cannot be installed.
        """
        folder = FOLDER / self.name
        constraints = folder / "constraints.txt"
        stamp = folder / ".installed"
        projects = "".join((place / "pyproject.toml").read_text() for place in PACKAGES)
        wanted = hashlib.blake2b(
            f"{self.python}\n{projects}\n{lines(self.pins)}".encode()
        ).hexdigest()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(folder, ignore_errors=True)
        uv.run("venv", "--python", str(self.python.program), str(folder))
        constraints.write_text(lines(self.pins))
        uv.run(
            *("pip", "install", "--python", str(self.program)),
            *("--override" if self.overrides else "--constraint", str(constraints)),
            *("--build-constraint", str(constraints)),
            *("--editable", f"{ROOT}[test]", "--editable", str(ROOT / "verify")),
        )
        stamp.write_text(wanted)


def interpreter(minor: str) -> Interpreter | None:
    """Return an installed Python of this minor version, None if there is none that runs."""
    return next(
        (found for place in _places(minor) if (found := _about(place)) and found.minor == minor),
        None,
    )


def _places(minor: str) -> Iterator[Path]:
    """Where Pythons are: on the `PATH`, in pyenv, and what `versions.debian` has unpacked."""
    if found := shutil.which(f"python{minor}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{minor}.*/bin/python"), reverse=True)
    yield FROM_DEBIAN / f"bin/python{minor}"
    yield Path(sys.executable).resolve()


def _about(program: Path) -> Interpreter | None:
    """A name on the `PATH` proves nothing: pyenv has programs there for versions that are switched
    off.
    """
    try:
        done = subprocess.run([program, "-c", _ABOUT], capture_output=True, text=True, check=False)
    except OSError:
        return None
    *version, is_free_threaded = done.stdout.split() or [""]
    return Interpreter(".".join(version), program) if is_free_threaded == "False" else None
