"""A worker's heartbeat in the SQLite file, over a separate connection."""

import sqlite3
import time
from collections.abc import Callable

from antiphon.storage.sqlite.forks import forks
from antiphon.storage.sqlite.marks import bound
from antiphon.storage.sqlite.rows import statement
from antiphon.storage.sqlite.writer import store_error

PATIENCE = 5.0
"""Seconds that a heartbeat waits for other writers."""

POLL_INTERVAL = 0.001
"""Seconds between two attempts. SQLite itself waits up to 0.1 s, and would rarely hit the moment
between two commits of a busy writer.
"""


class SqliteHeartbeat:
    """See `HeartbeatConnection`. The first heartbeat opens it.

    `connect` opens a connection that does not wait for others.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], worker: str) -> None:
        self._connect = connect
        self._worker = worker
        self._connection: sqlite3.Connection | None = None
        self._gate = forks.new_gate()

    def beat(self) -> None:
        """See `HeartbeatConnection.beat`."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with self._gate:
                    self._beat()
                return
            except sqlite3.Error as error:
                if (error.sqlite_errorcode & 0xFF) != sqlite3.SQLITE_BUSY:
                    self.close()
                    raise store_error(error) from error
                if time.monotonic() > until:
                    raise store_error(error) from error
            time.sleep(POLL_INTERVAL)

    def close(self) -> None:
        """See `HeartbeatConnection.close`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _beat(self) -> None:
        if self._connection is None:
            self._connection = self._connect()
            # It does not wait for the disk: after a power failure, a heartbeat is useless anyway.
            self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(*bound(statement("beat"), (self._worker,)))
