"""`python -m bench.interpreter FOLDER`: makes the bench's virtual environment, with an optimised
Python if possible.

A Python that was built with its own profile (PGO) is up to a third quicker, and no version number
shows it. Every Python on the `PATH` runs this file, before anything is installed, so it imports the
standard library only.
"""

import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).parents[1]
NAME = re.compile(r"python3(\.\d+)?")
REASON = "interpreter.txt"
"""The file in the virtual environment that says which Python it was made with, and why."""

ROUNDS = 6
LOOPS = 5
QUICKER = 1.1
"""How many times as quick as the default a Python must be to be chosen for that alone."""

DEBIAN = "--with-wheel-pkg-dir=/usr/share/python-wheels"
DEBIAN_PROFILED = {"x86_64", "aarch64"}
"""Debian and Ubuntu build with a profile on these processors, and `CONFIG_ARGS` does not show it.

Evidence: their changelog of `python3.8` ("Enable LTO/PGO builds on some architectures", "Enable
pgo/lto builds on arm64", "Don't propagate lto flags to the _sysconfigdata module"). And the static
library of `libpython3.11-dev` has 269 sections `.text.hot`, where a build without a profile has 6
(`readelf -SW`). It runs a loop 1.3 times as quickly.
"""


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter: what proves that its build is optimised, or nothing, and the seconds of a
    loop.
    """

    path: str
    version: str
    proof: str
    seconds: float


def profile_proof(flags: str | None = None, processor: str | None = None) -> str:
    """Return what proves that a Python was built with its own profile, or nothing.

    Without arguments: this Python.
    """
    if flags is None:
        flags = " ".join(
            str(sysconfig.get_config_var(name)) for name in ("CONFIG_ARGS", "PY_CORE_CFLAGS")
        )
    for flag in ("--enable-optimizations", "-fprofile-use"):
        if flag in flags:
            return flag
    is_debian = DEBIAN in flags and (processor or platform.machine()) in DEBIAN_PROFILED
    return "Debian's build" if is_debian else ""


def choose(default: Python, others: Iterable[Python]) -> tuple[Python, str]:
    """Return the Python to take, and why: an optimised one before the others, and the default
    unless one is quicker.
    """
    known = [default, *others]
    proven = [python for python in known if python.proof]
    quickest = min(proven or known, key=lambda python: python.seconds)
    ratio = default.seconds / quickest.seconds
    if default in (proven or known) and ratio < QUICKER:
        return default, f"the default, {_build(default)}; no other is {QUICKER} times as quick"
    return (
        quickest,
        f"{_build(quickest)}, {ratio:.2f} times as quick in a loop as the default, {default.path}",
    )


def _build(python: Python) -> str:
    return f"optimised ({python.proof})" if python.proof else "not known to be optimised"


def reason() -> str:
    """Return why the running Python was chosen; nothing where it was not chosen here."""
    path = Path(sys.prefix) / REASON
    return path.read_text().strip() if path.exists() else ""


def installed() -> Iterator[Path]:
    """Return the programs on the `PATH` that are called like a Python 3."""
    for folder in os.get_exec_path():
        yield from (
            path for path in sorted(Path(folder).glob("python3*")) if NAME.fullmatch(path.name)
        )


def examined(paths: Sequence[str]) -> list[Python]:
    """Return the Pythons behind these paths that are new enough, each once and with the quickest of
    its rounds.

    They take turns, so that a busy moment of the machine slows all of them.
    """
    found: dict[str, Python] = {}
    names = list(paths)
    for _ in range(ROUNDS):
        for python in filter(None, map(_examined, names)):
            known = found.get(python.path)
            found[python.path] = (
                python if known is None or python.seconds < known.seconds else known
            )
        names = list(found)
    return list(found.values())


def _examined(path: str) -> Python | None:
    command = [path, "-m", "bench.interpreter"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
        )
        return Python(**json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        # too old, without its module `venv`, or a name with nothing behind it, such as a shim of
        # pyenv
        return None


def _this() -> Python:
    path = os.path.realpath(sys.executable)
    seconds = min(_loop() for _ in range(LOOPS))
    return Python(path, platform.python_version(), profile_proof(), seconds)


def _loop() -> float:
    """Return the seconds of a little of what a server does: objects, calls, text, JSON."""
    began = time.process_time()
    for number in range(3_000):
        python = Python(f"python{number}", str(number), "", float(number))
        values = {
            name: value.upper()
            for name, value in (("path", python.path), ("version", python.version))
            if value
        }
        json.loads(json.dumps({"seconds": python.seconds, "values": values}))
    return time.process_time() - began


def main() -> None:
    """Make the virtual environment; without an argument print what this Python is, for the one that
    chooses.
    """
    if len(sys.argv) == 1:
        if sys.version_info < OLDEST or find_spec("ensurepip") is None:
            sys.exit(1)
        print(json.dumps(asdict(_this())))
        return
    if path := os.environ.get("PYTHON"):
        why = "PYTHON names it"
    else:
        default, *others = examined([os.path.realpath(sys.executable), *map(str, installed())])
        chosen, why = choose(default, others)
        path = chosen.path
    subprocess.run(
        [ROOT / "scripts/make-venv", sys.argv[1]], env={**os.environ, "PYTHON": path}, check=True
    )
    (Path(sys.argv[1]) / REASON).write_text(f"{path}: {why}\n")
    print(f"antiphon: the bench runs on {path}: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
