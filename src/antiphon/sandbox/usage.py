"""The memory of a machine, counted from outside through directories that its kernel program sent at its start."""

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress

from antiphon.sandbox.cgroup import Cgroup

PAGE = os.sysconf("SC_PAGE_SIZE")
FILE = 1200
"""Bytes of memory that the kernel needs for each file of a tmpfs, in addition to its content, which has a limit."""


class Usage:
    """Counts the memory of one machine. `processes` is the machine's own /proc, `disks` are its writable places."""

    def __init__(self, processes: int, disks: Sequence[int], cgroup: Cgroup | None = None) -> None:
        self._processes = processes
        self._disks = disks
        self._cgroup = cgroup
        self._lock = threading.Lock()
        """The files are not closed while they are read in a thread."""
        self._is_closed = False

    @property
    def is_enforced(self) -> bool:
        """Whether the kernel limits the memory."""
        return self._cgroup is not None

    def memory(self) -> int:
        """Return the bytes that all processes use together, 0 once they have ended. Blocks for a moment."""
        with self._lock, suppress(OSError, ValueError):
            if not self._is_closed:
                return self._cgroup.memory() if self._cgroup else self._counted()
        return 0

    def has_killed(self) -> bool:
        """Whether the kernel ended the machine because it exceeded its memory limit."""
        return self._cgroup is not None and self._cgroup.has_killed()

    def _counted(self) -> int:
        resident = sum(map(self._resident, os.listdir(self._processes)))  # noqa: PTH208 - of an open directory
        made = sum(facts.f_files - facts.f_ffree for facts in map(os.statvfs, self._disks))
        return resident + made * FILE

    def _resident(self, process: str) -> int:
        if not process.isdigit():
            return 0
        with suppress(OSError):  # it has just ended
            file = os.open(f"{process}/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
            try:
                return int(os.read(file, 200).split()[1]) * PAGE
            finally:
                os.close(file)
        return 0

    def close(self) -> None:
        """Close the directories of a machine that has ended, and delete its group. Blocks for a moment."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                close_all((self._processes, *self._disks))
                if self._cgroup is not None:
                    self._cgroup.remove()


def close_all(files: Iterable[int]) -> None:
    """Close files."""
    for file in files:
        os.close(file)
