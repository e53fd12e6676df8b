"""Stops all processes of a machine between two calls, from outside: code that continues would use
CPU and memory.
"""

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

from antiphon.sandbox.cgroup import Cgroup

MOST_ROUNDS = 100
"""Checks for processes that were started while others were stopped; one that is stopped starts
none.
"""


def stop(processes: int, cgroup: Cgroup | None) -> None:
    """Stop the processes of a machine. `processes` is its own /proc. Blocks for a moment.

    Raises `OSError`: some may still run.
    """
    if cgroup is not None and cgroup.freeze(is_frozen=True):
        return
    stopped: set[str] = set()
    for _ in range(MOST_ROUNDS):
        new = set(_numbers(processes)) - stopped
        if not new:
            return
        for process in new:
            _signal(processes, process, signal.SIGSTOP)
        stopped |= new
    raise OSError(errno.EAGAIN, "its processes start others faster than they can be stopped")


def resume(processes: int, cgroup: Cgroup | None) -> None:
    """Let stopped processes continue.

    Blocks for a moment. Raises `OSError`: some may be stopped still.
    """
    if cgroup is not None and cgroup.freeze(is_frozen=False):
        return
    for process in _numbers(processes):
        _signal(processes, process, signal.SIGCONT)


def _numbers(processes: int) -> Iterator[str]:
    for name in os.listdir(processes):
        if name.isdigit():
            yield name


def _signal(processes: int, process: str, which: signal.Signals) -> None:
    with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        directory = os.open(process, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=processes)
        try:
            signal.pidfd_send_signal(directory, which)
        finally:
            os.close(directory)
