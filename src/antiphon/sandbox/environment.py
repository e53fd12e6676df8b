"""The operator's Python inside a machine: the directories that it needs, and their paths there."""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.sandbox.contract import SandboxError

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
"""Directories that every machine has."""
FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime")
"""Files that system programs need, without secrets."""

PREFIXES = (
    "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.exec_prefix, "
    "sys.base_exec_prefix]))"
)
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """A Python that runs in machines."""

    executable: str
    binds: Sequence[str]
    """Directories in addition to those of the system, read-only at the same place in the
    machine.
    """
    links: Sequence[tuple[str, str]]
    """Symbolic links outside these directories: the path of each one, and its target."""

    @property
    def path(self) -> str:
        """PATH of the programs in a machine."""
        return f"{Path(self.executable).parent}:/usr/local/bin:/usr/bin:/bin"


def find_environment(python: str) -> PythonEnvironment:
    """Return what the Python at this path needs; an empty path is the base Python of this server.

    Starts that Python once, so call it in a thread. Raises `SandboxError`.
    """
    executable = os.path.abspath(Path(python).expanduser()) if python else _own()  # noqa: PTH100 - keeps links
    binds = list(_directories(_prefixes(executable)))
    links = [
        (link, target)
        for link, target in _links(Path(executable))
        if not any(is_below(link, each) for each in binds)
    ]
    links = [
        (link, target) for link, target in links if not any(is_below(link, each) for each in SYSTEM)
    ]
    return PythonEnvironment(executable, binds, links)


def is_below(path: str, directory: str) -> bool:
    """Whether the path is the directory, or is in it."""
    return path == directory or path.startswith(f"{directory}/")


def _own() -> str:
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def _prefixes(executable: str) -> list[str]:
    try:
        answer = subprocess.run(  # noqa: S603 - the operator's own program
            [executable, "-I", "-c", PREFIXES], capture_output=True, check=True, timeout=SECONDS
        )
        return [str(prefix) for prefix in json.loads(answer.stdout)]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxError(
            f"Cannot start the Python for code, {executable}: {error}. "
            "Set `code_python` to the `python` of a working environment."
        ) from error


def _directories(prefixes: Sequence[str]) -> Iterator[str]:
    """Yield the directories to bind: the prefixes, as named and resolved, outermost first."""
    wanted = {name for prefix in prefixes for name in (prefix, os.path.realpath(prefix))}
    found: list[str] = []
    for name in sorted(wanted, key=len):
        if name == "/" or any(is_below(name, each) for each in (*SYSTEM, *found)):
            continue
        if Path(name).is_symlink() or not Path(name).is_dir():
            continue
        found.append(name)
        yield name


def _links(path: Path) -> Iterator[tuple[str, str]]:
    """Yield every symbolic link in a path, and its target."""
    current = Path("/")
    names = deque(path.parts[1:])
    while names:
        name = names.popleft()
        step = current.parent if name == ".." else current / name
        if step.is_symlink():
            target = str(step.readlink())
            yield str(step), target
            parts = Path(target).parts
            current = Path("/") if target.startswith("/") else current
            names.extendleft(reversed(parts[1:] if target.startswith("/") else parts))
        else:
            current = step
