"""A control group (v2) for each machine, if the system permits the server to create them: the
kernel enforces limits.

systemd permits it for a unit with `Delegate=yes`. Otherwise `Usage` counts a machine's memory.
"""

import os
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from antiphon.sandbox.arguments import ENDED_FIRST
from antiphon.sandbox.contract import MachineLimits
from antiphon.sharing.cores import OWN, ROOT, own_groups

SUPERVISOR = "supervisor"
"""The group that the server moves itself to: a group with its own processes cannot limit groups
below it.
"""
CONTROLLERS = "+memory +pids +cpu"
ENTER = f'echo $$ > "$0" || exit 1; {ENDED_FIRST}; exec "$@"'
"""A shell program that enters a group and then executes another program."""
SPARE = 4
"""Processes of bubblewrap in addition to those of the code."""
TRIES = 20


def delegated(root: Path = ROOT, own: Path = OWN) -> Path | None:
    """Return the parent group of machines; None if the system delegates none to the server."""
    try:
        group = own_groups(root, own)[0]
        if group.name == SUPERVISOR:
            group = group.parent
        if not _is_delegated(group):
            return None
        (group / SUPERVISOR).mkdir(exist_ok=True)
        for process in (group / "cgroup.procs").read_text().split():
            (group / SUPERVISOR / "cgroup.procs").write_text(process)
        (group / "cgroup.subtree_control").write_text(CONTROLLERS)
    except (OSError, IndexError):
        return None
    return group


def _is_delegated(group: Path) -> bool:
    """Whether systemd delegates the group; as root, write permission does not prove that."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    return False


class Cgroup:
    """The control group of one machine."""

    def __init__(self, parent: Path, limits: MachineLimits) -> None:
        self._path = parent / f"machine-{secrets.token_hex(8)}"
        self._path.mkdir()
        self._write("memory.max", limits.memory + limits.disk)  # files in a machine are memory, too
        self._write("pids.max", limits.processes + SPARE)
        with suppress(OSError):  # not in every kernel
            self._write("memory.swap.max", 0)
            self._write("memory.oom.group", 1)
            self._write("cpu.weight", 20)

    def entry(self) -> Sequence[str]:
        """Return the beginning of a command line that runs in the group."""
        return ("/bin/sh", "-c", ENTER, str(self._path / "cgroup.procs"))

    def memory(self) -> int:
        """Return the bytes that the machine uses now."""
        return int((self._path / "memory.current").read_text())

    def cpu(self) -> float:
        """Return the CPU seconds that the machine has used since its start."""
        lines = (self._path / "cpu.stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("usage_usec ")) / 1e6

    def freeze(self, *, is_frozen: bool) -> bool:
        """Stop all processes, or let them continue; return False if the kernel cannot do it to a
        group.
        """
        with suppress(OSError):
            self._write("cgroup.freeze", int(is_frozen))
            return True
        return False

    def has_killed(self) -> bool:
        """Whether the kernel ended the machine because it exceeded its memory limit."""
        with suppress(OSError, ValueError):
            lines = (self._path / "memory.events").read_text().splitlines()
            return any(int(line.split()[1]) > 0 for line in lines if line.startswith("oom_kill "))
        return False

    def remove(self) -> None:
        """End all processes in the group, and delete it. Blocks for a moment."""
        with suppress(OSError):
            self._write("cgroup.kill", 1)
        for _ in range(TRIES):
            try:
                self._path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)
            else:
                return

    def _write(self, name: str, value: int) -> None:
        (self._path / name).write_text(str(value))
