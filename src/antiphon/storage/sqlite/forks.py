"""Makes it safe to open a database in a forked child, even a database that the parent has open.

SQLite keeps mutexes and the state of its file locks per process. A child that is forked while
another thread is inside SQLite waits forever for a mutex. A child that inherits an open connection
assumes that it holds the file locks of its parent, but it does not: its commits are lost once the
parent deletes the write-ahead log. So a fork waits until no thread is inside SQLite, and the child
closes the inherited connections.
"""

import os
import sqlite3
import threading
import time
from contextlib import suppress
from weakref import WeakSet

PATIENCE = 5.0
"""Seconds that a fork waits for threads that are inside SQLite."""


class ForkSafeConnection(sqlite3.Connection):
    """A connection that forked children close."""

    __slots__ = ("__weakref__",)


class Forks:
    """The connections and threads of a process that a fork concerns."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._connections: WeakSet[ForkSafeConnection] = WeakSet()
        self._gates: WeakSet[threading.Lock] = WeakSet()
        self._forking = threading.RLock()
        self._retained: list[threading.Lock] = []
        self._busy: list[threading.Lock] = []
        """The locks of threads that did not leave SQLite in time."""

    def new_gate(self) -> threading.Lock:
        """Return a lock that one thread holds while it is inside SQLite.

        Only a fork competes for it.
        """
        gate = threading.Lock()
        self._gates.add(gate)
        return gate

    def opened(self, connection: ForkSafeConnection) -> None:
        """Register a connection to be closed in forked children."""
        self._connections.add(connection)

    def begin(self) -> None:
        """Wait until no thread is inside SQLite, and let none enter until the fork ends."""
        self._forking.acquire()
        until = time.monotonic() + self._patience
        for gate in list(self._gates):
            is_free = gate.acquire(timeout=max(0.0, until - time.monotonic()))
            (self._retained if is_free else self._busy).append(gate)

    def end(self) -> None:
        """Let the threads enter SQLite again."""
        self._busy.clear()
        while self._retained:
            self._retained.pop().release()
        self._forking.release()

    def end_in_child(self) -> None:
        """Close the inherited connections, unless a thread of the parent was inside SQLite.

        The parent's locks prevent SQLite from writing here, and closing the connection releases
        none of them.
        """
        if not self._busy:
            for connection in list(self._connections):
                with suppress(sqlite3.Error):
                    connection.close()
        self.end()


forks = Forks()
"""Those of this process."""

os.register_at_fork(
    before=forks.begin, after_in_parent=forks.end, after_in_child=forks.end_in_child
)
