"""The memory of one process, with what the kernel holds for it: counted without a control group,
from its /proc.

Where the kernel shows no bytes, the most that there can be is counted: a pipe is as if full.
"""

import os
from contextlib import suppress
from math import inf

KIB = 1024

MAPPING = 256
"""Bytes of the kernel for a mapping (`mmap`)."""
LOCK = 256
"""Bytes of the kernel for a lock of a file."""
PIPE = 64 * KIB
"""Bytes of a full pipe, which has two open files. All pipes of a user have at most `PIPES`, and
then two pages each.
"""
PIPES = 64 * KIB * KIB
SMALL_PIPE = 8 * KIB
MOST_MAPPINGS = 65_530
"""Mappings that a process can have, as Linux is set by default."""
MOST_LINES = 100_000
"""Mappings of a machine that are read for one count, which takes 30 ms. Then each further process
is as if full.
"""
MOST_LOCKS = 20_000
"""Locks of a machine that are read for one count. Linux goes through all earlier ones for each page
that is read: 50,000 take 0.9 s and 200,000 take 21 s, in which no other machine is counted.
"""
FULL = 1 << 50
"""Bytes that no machine may have."""
WATCHED = 200
"""Bytes of the kernel for a file that an `epoll` watches; half of a process's files can watch the
other half.
"""

_PART = 64 * KIB
_DISPLAYED = (b"VmRSS:", b"VmPTE:", b"VmSwap:")


class Process:
    """The counts of one process: `memory` without its pipes, in bytes, and its open `files`, or a
    few more.
    """

    __slots__ = ("files", "memory")

    def __init__(self, status: bytes, mappings: int) -> None:
        self.files = 0
        self.memory = mappings * MAPPING
        for line in status.splitlines():
            if line.startswith(_DISPLAYED):
                self.memory += int(line.split()[1]) * KIB
            elif line.startswith(b"FDSize:"):
                self.files = int(line.split()[1])
        self.memory += (self.files // 2) ** 2 * WATCHED


def processes(folder: int) -> list[Process]:
    """Return the counts of all processes in a machine's own /proc. Raises `OSError`."""
    found = []
    left = MOST_LINES
    for number in os.listdir(folder):
        if number.isdigit():
            with suppress(OSError):  # it has just ended
                mappings = _lines(folder, f"{number}/maps") if left > 0 else MOST_MAPPINGS
                found.append(Process(_read(folder, f"{number}/status"), mappings))
                left -= mappings
    return found


def pipes(files: int) -> int:
    """Return the most bytes that the pipes of a machine with so many open files have."""
    return min(PIPES, files // 2 * PIPE) + files // 2 * SMALL_PIPE


def locks(folder: int) -> int:
    """Return the bytes of the locks that the processes of a machine hold; `FULL` for more than
    `MOST_LOCKS`.
    """
    count = _lines(folder, "locks", MOST_LOCKS)
    return count * LOCK if count <= MOST_LOCKS else FULL


def _read(folder: int, name: str) -> bytes:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(file, _PART)
    finally:
        os.close(file)


def _lines(folder: int, name: str, most: float = inf) -> int:
    """Return how many lines a file has, or some more than `most`; 0 if this server may not read
    it.
    """
    with suppress(OSError):
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            count = 0
            while count <= most and (part := os.read(file, _PART)):
                count += part.count(b"\n")
            return count
        finally:
            os.close(file)
    return 0
