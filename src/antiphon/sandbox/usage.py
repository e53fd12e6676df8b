"""Memory and CPU time of a machine, counted from outside by directories that its kernel program
sent at its start.
"""

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress

from antiphon.sandbox import counting, pausing
from antiphon.sandbox.cgroup import Cgroup
from antiphon.sandbox.cpu import CpuTime

FILE = 1200
"""Bytes of memory that the kernel needs for each file of a tmpfs, in addition to its content, which
has a limit.
"""


class MachineUsage:
    """Counts what one machine uses.

    `processes` is the machine's own /proc, `disks` are its writable places.

    Its processes run while a call runs, unless they are paused.
    """

    def __init__(self, processes: int, disks: Sequence[int], cgroup: Cgroup | None = None) -> None:
        self._processes = processes
        self._disks = disks
        self._cgroup = cgroup
        self._lock = threading.Lock()
        """The files are not closed while they are read in a thread."""
        self._is_closed = self._is_called = False
        self._time = CpuTime()
        self._locks = 0
        """Bytes of the kernel for locks, at the last count."""
        self.cpu = 0.0
        """CPU seconds of all processes together since the start, at the last count."""
        self.is_paused = False

    @property
    def is_enforced(self) -> bool:
        """Whether the kernel limits the memory."""
        return self._cgroup is not None

    def memory(self) -> int:
        """Return the bytes that all processes use together, 0 once they have ended.

        Blocks for a moment.
        """
        with self._lock, suppress(OSError, ValueError):
            if not self._is_closed:
                return self._cgroup.memory() if self._cgroup else self._counted()
        return 0

    def count_cpu(self) -> None:
        """Count the CPU time. Blocks for a moment."""
        with self._lock, suppress(OSError, ValueError):
            if not self._is_closed:
                self.cpu = self._cgroup.cpu() if self._cgroup else self._time.read(self._processes)

    def count_locks(self) -> None:
        """Count the locks of files, which are a part of the memory.

        Blocks: Linux waits for all CPUs first, 10 ms.
        """
        with self._lock, suppress(OSError, ValueError):
            if not self._is_closed and not self._cgroup:
                self._locks = counting.locks(self._processes)

    def has_killed(self) -> bool:
        """Whether the kernel ended the machine because it exceeded its memory limit."""
        return self._cgroup is not None and self._cgroup.has_killed()

    def _counted(self) -> int:
        found = counting.processes(self._processes)
        retained = sum(one.memory for one in found) + counting.pipes(
            sum(one.files for one in found)
        )
        created = sum(facts.f_files - facts.f_ffree for facts in map(os.statvfs, self._disks))
        return retained + self._locks + created * FILE

    def stop(self) -> None:
        """Stop all processes of the machine until `resume`.

        Blocks for a moment. Raises `OSError`.
        """
        self.count_cpu()
        with self._lock:
            self._is_called = False
            self._apply()

    def halt(self) -> None:
        """Stop all processes of a machine that is about to be ended.

        Blocks for a moment. Raises `OSError`.
        """
        with self._lock:
            if not self._is_closed:
                pausing.stop(self._processes, self._cgroup)

    def resume(self) -> None:
        """Let the processes continue.

        Blocks for a moment. Raises `OSError`, for example without a free file.

        The time is counted before: what begins now has not run while all others were stopped.
        """
        self.count_cpu()
        with self._lock:
            self._is_called = True
            self._apply()

    def pause(self, *, is_paused: bool) -> None:
        """Stop the processes also while a call runs, or no longer.

        Blocks for a moment. Raises `OSError`.
        """
        with self._lock:
            self.is_paused = is_paused
            self._apply()

    def _apply(self) -> None:
        change = pausing.resume if self._is_called and not self.is_paused else pausing.stop
        with suppress(FileNotFoundError, ProcessLookupError):  # the machine has ended
            if not self._is_closed:
                change(self._processes, self._cgroup)

    def close(self) -> None:
        """Close the directories of a machine that has ended, and delete its group.

        Blocks for a moment.
        """
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
