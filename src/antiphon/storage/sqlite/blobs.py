"""The second SQLite file: the content of files, in rows of 1 MiB, beside the database that has everything else.

So the first file stays small and quick to back up, and a large upload never holds up a response that is saved. The file
is opened when it is first needed. Parts are committed one by one without waiting for the disk; the commit of the last
part waits, and with it all parts are durable, since they are in the same log.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from antiphon.errors import StoreError
from antiphon.storage.operations import files
from antiphon.storage.sqlite import file, rows
from antiphon.storage.sqlite.file import connect, is_ours, make_file, mark
from antiphon.storage.sqlite.forks import new_gate
from antiphon.storage.sqlite.writer import store_error

READERS = 2
"""Threads that read; one row takes a millisecond."""

PAGE = 16 * 1024
"""Bytes of a page: a row of 1 MiB then has 64 of them, and not 256."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS blob_parts (
    id INTEGER PRIMARY KEY,
    blob TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (blob, number)
)
"""
"""Of the file: one table with row IDs, since one without would cost half as much time again."""

_CHECKPOINT_PAGES = 1024
"""Of 16 KiB: how much log is copied into the file at once."""

T = TypeVar("T")


def blobs_beside(path: Path) -> Path:
    """Return the file with the content of files that belongs to a store's file."""
    return path.with_name(f"{path.stem}-files{path.suffix}")


class BlobFile:
    """Parts of blobs in a file, or in memory without a path. Every method raises `StoreError`."""

    def __init__(self, path: Path | None, busy_timeout: float = 5.0) -> None:
        self._path, self._busy_timeout = path, busy_timeout
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="antiphon-blob-write")
        self._reading = self._writing
        if path is not None:
            self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="antiphon-blob-read")
        self._own = threading.local()
        self._open: list[sqlite3.Connection] = []

    async def put(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Keep a part; with the last one all of the blob is on disk."""
        await self._run(self._writing, lambda: self._put(blob, number, data, is_last))

    async def part(self, blob: str, number: int) -> bytes | None:
        """Return a part, or None."""
        return await self._run(
            self._reading, lambda: rows.perform_alone(self._connection(), lambda: files.part(blob, number))
        )

    async def delete(self, blob: str, limit: int) -> int:
        """Delete at most `limit` parts of a blob; return how many there were."""
        return await self._run(self._writing, lambda: self._delete(blob, limit))

    async def check(self) -> str:
        """Read every page and index; return `ok`, or the first thing that is wrong."""
        return await self._run(
            self._writing, lambda: str(self._connection().execute("PRAGMA integrity_check(1)").fetchone()[0])
        )

    async def close(self) -> None:
        """Finish what was begun and close the file."""
        for threads in {self._writing, self._reading}:
            await asyncio.to_thread(threads.shutdown)
        for connection in self._open:
            connection.close()

    async def _run(self, threads: ThreadPoolExecutor, act: Callable[[], T]) -> T:
        """Perform an act in a thread; once begun it is finished, also if its caller leaves."""
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, self._perform, act)
        except (sqlite3.Error, OSError) as error:
            raise store_error(error) from error
        except RuntimeError as error:  # the threads were shut down
            raise StoreError("The store is closed.") from error

    def _perform(self, act: Callable[[], T]) -> T:
        gate: threading.Lock | None = getattr(self._own, "gate", None)
        if gate is None:
            gate = self._own.gate = new_gate()
        with gate:
            return act()

    def _put(self, blob: str, number: int, data: bytes, is_last: bool) -> None:
        connection = self._connection()
        connection.execute(f"PRAGMA synchronous = {file.SYNCHRONOUS if is_last else 'NORMAL'}")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            rows.perform(connection, [lambda: files.put_part(blob, number, data)])

    def _delete(self, blob: str, limit: int) -> int:
        connection = self._connection()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            (gone,) = rows.perform(connection, [lambda: files.delete_parts(blob, limit)])
            return int(gone)

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._connect()
            self._open.append(connection)
        return connection

    def _connect(self) -> sqlite3.Connection:
        if self._path is not None:
            make_file(self._path)
        connection = connect(":memory:" if self._path is None else str(self._path), self._busy_timeout)
        if not is_ours(connection):
            connection.close()
            raise StoreError(f"{self._path} belongs to another program. Move it away, then try again.")
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(SCHEMA)
            mark(connection, 1)
        return connection
