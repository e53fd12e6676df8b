"""Stops all processes of a machine between two calls, from outside: code that continues would use
CPU and memory.
"""

import errno
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

from antiphon.sandbox.cgroup import Cgroup

PATIENCE = 2.0
"""Seconds for processes to stop, on a busy host too. One that has stopped starts no other."""

STILL = b"TtZXD"
"""States of threads that run no code: stopped, ended, or waiting in the kernel, as a process does
after vfork() until its child, which is stopped, begins another program.
"""

ROUND = 0.0005
"""Seconds between two checks."""


def stop(processes: int, cgroup: Cgroup | None) -> None:
    """Stop the processes of a machine. `processes` is its own /proc. Blocks for a moment.

    Raises `OSError`: some may still run. On a very busy host some may run until they notice that
    they should stop.
    """
    if cgroup is not None and cgroup.freeze(is_frozen=True):
        return
    signalled: set[str] = set()
    end = time.monotonic() + PATIENCE
    while new := _running(processes, signalled):
        if time.monotonic() > end:
            if new <= signalled:
                return
            raise OSError(
                errno.EAGAIN, "its processes start others faster than they can be stopped"
            )
        for process in new - signalled:
            _signal(processes, process, signal.SIGSTOP)
        signalled |= new
        time.sleep(ROUND)


def resume(processes: int, cgroup: Cgroup | None) -> None:
    """Let stopped processes continue.

    Blocks for a moment. Raises `OSError`: some may be stopped still.
    """
    if cgroup is not None and cgroup.freeze(is_frozen=False):
        return
    for process in _numbers(processes):
        _signal(processes, process, signal.SIGCONT)


def _running(processes: int, signalled: set[str]) -> set[str]:
    """Return those that were not signalled, or do not obey yet.

    A process that is in fork() obeys after it, and its child was not there to be signalled.
    """
    found = set(_numbers(processes))
    return (found - signalled) or {each for each in found if not _is_still(processes, each)}


def _is_still(processes: int, process: str) -> bool:
    """Whether no thread of a process runs code, or will without a signal."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        threads = os.open(f"{process}/task", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
        try:
            return all(_state(threads, thread) in STILL for thread in _numbers(threads))
        finally:
            os.close(threads)
    return True


def _state(threads: int, thread: str) -> bytes:
    with suppress(FileNotFoundError, ProcessLookupError):
        file = os.open(f"{thread}/stat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=threads)
        try:
            return os.read(file, 4096).rpartition(b")")[2].split()[0]
        finally:
            os.close(file)
    return b"X"


def _numbers(folder: int) -> Iterator[str]:
    for name in os.listdir(folder):
        if name.isdigit():
            yield name


def _signal(processes: int, process: str, which: signal.Signals) -> None:
    with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        directory = os.open(process, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=processes)
        try:
            signal.pidfd_send_signal(directory, which)
        finally:
            os.close(directory)
