"""Makes it safe to open a database in a forked child, even a database that the parent has open.

SQLite keeps mutexes and the state of its file locks per process. A child that is forked while another thread is inside
SQLite waits forever for a mutex. A child that inherits an open connection assumes that it holds the file locks of its
parent, but it does not: its commits are lost once the parent deletes the write-ahead log. So a fork waits until no
thread is inside SQLite, and the child closes the inherited connections.
"""

import os
import sqlite3
import threading
import time
from contextlib import suppress
from weakref import WeakSet

PATIENCE = 5.0
"""Seconds that a fork waits for threads that are inside SQLite."""


class Connection(sqlite3.Connection):
    """A connection that forked children close."""

    __slots__ = ("__weakref__",)


_connections: "WeakSet[Connection]" = WeakSet()
_gates: "WeakSet[threading.Lock]" = WeakSet()
_forking = threading.RLock()
_held: list[threading.Lock] = []
_busy: list[threading.Lock] = []
"""The locks of threads that did not leave SQLite in time."""


def new_gate() -> threading.Lock:
    """Return a lock that one thread holds while it is inside SQLite. Only a fork competes for it."""
    gate = threading.Lock()
    _gates.add(gate)
    return gate


def opened(connection: Connection) -> None:
    """Register a connection to be closed in forked children."""
    _connections.add(connection)


def _close_gates() -> None:
    _forking.acquire()
    until = time.monotonic() + PATIENCE
    for gate in list(_gates):
        is_free = gate.acquire(timeout=max(0.0, until - time.monotonic()))
        (_held if is_free else _busy).append(gate)


def _open_gates() -> None:
    _busy.clear()
    while _held:
        _held.pop().release()
    _forking.release()


def _leave_connections() -> None:
    # The parent's locks prevent SQLite from writing here, and closing the connection releases none of them.
    if not _busy:
        for connection in list(_connections):
            with suppress(sqlite3.Error):
                connection.close()
    _open_gates()


os.register_at_fork(before=_close_gates, after_in_parent=_open_gates, after_in_child=_leave_connections)
