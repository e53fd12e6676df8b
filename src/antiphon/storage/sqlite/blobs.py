"""The second SQLite file: the content of files, in rows of 1 MiB, next to the database with all
other data.

So the first file stays small and quick to back up, and a large upload never delays a save of a
response. The file is opened on first use. Parts are committed one by one without waiting for the
disk. The commit of the last part waits for the disk and makes all parts durable, because they are
in the same log.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from antiphon import ids
from antiphon.errors import ConfigError, StoreError
from antiphon.storage.act import Act
from antiphon.storage.clock import StoreClock
from antiphon.storage.operations import files
from antiphon.storage.sqlite import file, rows
from antiphon.storage.sqlite.file import connect, foreign, make_file, mark
from antiphon.storage.sqlite.forks import forks
from antiphon.storage.sqlite.reserve import Reserve
from antiphon.storage.sqlite.writer import disk_full, make_room, store_error

READERS = 2
"""Number of reading threads. Reading one row takes a millisecond."""

PAGE = 16 * 1024
"""Page size in bytes. A row of 1 MiB then has 64 pages instead of 256."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS blob_parts (
    id INTEGER PRIMARY KEY,
    blob TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (blob, number)
)
"""
"""The schema of the file: one table with row IDs. Without row IDs, writing would take half as much
time again.
"""

_CHECKPOINT_PAGES = 1024
"""Number of log pages (16 KiB each) after which the log is checkpointed into the file."""

_CLOCK = StoreClock(ids.now)  # no operation on parts asks for the time

T = TypeVar("T")


class BlobFile:
    """Parts of blobs in a file, or in memory if there is no path.

    Every method raises `StoreError`.
    """

    def __init__(
        self, path: Path | None, busy_timeout: float = 5.0, reserve: Reserve | None = None
    ) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._reserve = reserve or Reserve(None)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="antiphon-blob-write")
        self._reading = self._writing
        if path is not None:
            self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="antiphon-blob-read")
        self._own = threading.local()
        self._open: list[sqlite3.Connection] = []

    async def put(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Store a part. When the last part is stored, the whole blob is on disk."""
        await self._run(self._writing, lambda: self._put(blob, number, data, is_last))

    async def part(self, blob: str, number: int) -> bytes | None:
        """Return a part, or None."""
        return await self._run(
            self._reading,
            lambda: rows.perform_alone(self._connection(), Act(files.part, _CLOCK, (blob, number))),
        )

    async def delete(self, blob: str, limit: int) -> int:
        """Delete up to `limit` parts of a blob; return the number of deleted parts."""
        return await self._run(self._writing, lambda: self._delete(blob, limit))

    async def check(self) -> str:
        """Check every page and index; return `ok`, or the first problem."""
        return await self._run(
            self._writing,
            lambda: str(self._connection().execute("PRAGMA integrity_check(1)").fetchone()[0]),
        )

    async def close(self) -> None:
        """Finish pending operations and close the file."""
        for threads in {self._writing, self._reading}:
            await asyncio.to_thread(threads.shutdown)
        for connection in self._open:
            connection.close()

    async def _run(self, threads: ThreadPoolExecutor, act: Callable[[], T]) -> T:
        """Run an operation in a thread. It completes even if the caller is cancelled."""
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, self._perform, act)
        except (sqlite3.Error, OSError) as error:
            raise store_error(error) from error
        except RuntimeError as error:  # the threads were shut down
            raise StoreError("The store is closed.") from error

    def _perform(self, act: Callable[[], T]) -> T:
        gate: threading.Lock | None = getattr(self._own, "gate", None)
        if gate is None:
            gate = self._own.gate = forks.new_gate()
        with gate:
            return act()

    def _put(self, blob: str, number: int, data: bytes, is_last: bool) -> None:
        if not self._reserve.refill():
            raise disk_full()
        connection = self._connection()
        connection.execute(f"PRAGMA synchronous = {file.SYNCHRONOUS if is_last else 'NORMAL'}")
        # One statement, and so one transaction.
        rows.run(connection, Act(files.put_part, _CLOCK, (blob, number, data)))

    def _delete(self, blob: str, limit: int) -> int:
        try:
            return self._delete_some(blob, limit)
        except sqlite3.Error as error:
            if not (store_error(error).is_disk_full and self._reserve.release()):
                raise
        make_room(self._connection())
        return self._delete_some(blob, limit)

    def _delete_some(self, blob: str, limit: int) -> int:
        return rows.run(self._connection(), Act(files.delete_parts, _CLOCK, (blob, limit)))

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._connect()
            self._open.append(connection)
        return connection

    def _connect(self) -> sqlite3.Connection:
        if self._path is not None:
            make_file(self._path)
        connection = connect(
            ":memory:" if self._path is None else str(self._path), self._busy_timeout
        )
        if reason := foreign(connection):
            connection.close()
            raise StoreError("The store cannot be used.") from ConfigError(
                f"{self._path} {reason}."
            )
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(SCHEMA)
            mark(connection, 1)
        return connection
