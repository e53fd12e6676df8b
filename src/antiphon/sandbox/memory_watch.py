"""A thread that counts the memory of machines which no control group limits, and ends those that
are too large.

Code with processes on all CPUs fills gigabytes in a second, so a count that comes late is megabytes
above the limit. Therefore the thread waits for nothing of the event loop, and a machine that is too
large is stopped as a whole before it is ended: the first process of a machine ends the others only
when Linux lets it run, and it has a low priority.
"""

import os
import threading
import time
from collections.abc import Collection

from antiphon.sandbox.machine import BubblewrapMachine

LONGEST, SHORTEST = 0.2, 0.004
"""Seconds between two counts: the less memory a machine has left, the fewer, since code can fill it
meanwhile.
"""
FASTEST = 2.5e9 * len(os.sched_getaffinity(0))
"""Bytes that code is expected to fill in a second, with processes on all CPUs."""


class MemoryWatch:
    """Counts `machines`, which its owner changes, while calls run."""

    def __init__(self, machines: Collection[BubblewrapMachine]) -> None:
        self._machines = machines
        self._thread: threading.Thread | None = None
        self._begun = threading.Event()
        """Whether a call began since the last count."""
        self._is_closed = False

    def call_begins(self) -> None:
        """Count at once: code can fill a machine while the thread waits.

        A thread that has ended is replaced.
        """
        if self._thread is None or not self._thread.is_alive():
            self._is_closed = False
            self._thread = threading.Thread(
                target=self._run, name="antiphon-sandbox-memory", daemon=True
            )
            self._thread.start()
        self._begun.set()

    def close(self) -> None:
        """End the thread. Blocks for a moment."""
        self._is_closed = True
        self._begun.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        pause: float | None = None
        while True:
            self._begun.wait(pause)
            self._begun.clear()
            if self._is_closed:
                return
            pause = self._counted()

    def _counted(self) -> float | None:
        """Count the machines with a call; return the seconds until the next count, None without
        such machines.
        """
        began = time.monotonic()
        left = None
        for machine in tuple(self._machines):
            if machine.is_busy and not machine.is_enforced:
                its = machine.count_memory()
                left = its if left is None else min(left, its)
        if left is None:
            return None
        # Half of the time in which code could fill it, and not sooner than a count takes: code can
        # make that expensive.
        return max(
            min(LONGEST, max(SHORTEST, left / FASTEST / 2)), min(LONGEST, time.monotonic() - began)
        )
