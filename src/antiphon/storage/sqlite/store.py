"""The store in one SQLite file, with a write-ahead log, one writing thread and concurrent reads.

Small reads run in the event loop's thread, because they take less time than a switch to another
thread, and in WAL mode no writer delays them. A read that announces a larger size (`ReadSize`) runs
in a thread of `Readers`. A store in memory has only one connection, so all its reads run in the
writing thread.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon import ids
from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.act import Act
from antiphon.storage.large_reads import shared_reads
from antiphon.storage.operations import clock
from antiphon.storage.operations.step import LargeReadError, R
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sqlite import rows
from antiphon.storage.sqlite.clock import ClockMarks
from antiphon.storage.sqlite.file import (
    blobs_next_to,
    open_file,
    open_memory,
    open_reader,
    open_writer,
    path_of,
)
from antiphon.storage.sqlite.forks import forks
from antiphon.storage.sqlite.heartbeat import SqliteHeartbeat
from antiphon.storage.sqlite.readers import Readers
from antiphon.storage.sqlite.reserve import Reserve, reserve_next_to
from antiphon.storage.sqlite.wakes import WakeSockets
from antiphon.storage.sqlite.writer import Writer, store_error
from antiphon.storage.store import HeartbeatConnection, Store

if TYPE_CHECKING:
    from antiphon.storage.sqlite.blobs import BlobFile

PARTS_AT_ONCE = 16
"""Parts of a blob that one step deletes, so that other writes can run between the steps."""

POLL_INTERVAL = 0.2
"""Seconds between checks for writes of other processes."""


def ticks() -> float:
    """Return the seconds of a monotonic clock, if possible one that continues while the machine
    sleeps.
    """
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SqliteStore(Store):
    """A `Store` in an SQLite file or in memory. Create it with `SqliteStore.open`."""

    def __init__(
        self,
        url: str,
        writer: sqlite3.Connection,
        reader: sqlite3.Connection | None,
        now: Clock,
        renew: Callable[[float], sqlite3.Connection] | None = None,
        busy_timeout: float = 5.0,
        path: Path | None = None,
        readers: Readers | None = None,
    ) -> None:
        super().__init__(url, now)
        self._path = path
        self._file = None if path is None else _identity(path)
        self._renew = renew
        self._reserve = Reserve(None if path is None else reserve_next_to(path))
        self._writer = Writer(
            writer, None if renew is None else partial(renew, busy_timeout), self._reserve
        )
        self._reader = reader
        self._name = ids.new_id("store")
        self._marks = ClockMarks(self._name)
        self._readers = readers
        self._polling: asyncio.Task[None] | None = None
        self._wakes: WakeSockets | None = None
        self._blobs: BlobFile | None = None
        self._gate = forks.new_gate()

    @classmethod
    def open(
        cls,
        url: str,
        *,
        busy_timeout: float = 5.0,
        now: Clock = ids.now,
        reads: FairScheduler | None = None,
    ) -> "SqliteStore":
        """Open `sqlite:///absolute/path`, `sqlite:///~/path`, or `sqlite://` for a temporary store
        in memory.

        The file and its folders are created if they do not exist, with owner-only permissions, and
        an older schema is migrated. `busy_timeout` is how many seconds a write waits for another
        program that is writing. `reads` is the scheduler that shares large reads between tenants.
        Raises `ConfigError`, without changes, if the URL is invalid or the file is a folder,
        read-only, locked, damaged, from another program, or from a newer Antiphon.
        """
        path = path_of(url)
        if path is None:
            with forks.new_gate():
                return cls(url, open_memory(), None, now)
        with forks.new_gate():
            writer, reader = open_file(path, busy_timeout)
        readers = Readers(partial(open_reader, path), reads or shared_reads())
        return cls(
            url, writer, reader, now, partial(open_writer, path), busy_timeout, path, readers
        )

    def on_change(self, listener: Callable[[str], None]) -> None:
        """See `Store.on_change`.

        The processes of a file notify each other of changes, and also check for writes of
        others several times a second.
        """
        super().on_change(listener)
        if self._polling is None and self._path is not None:
            self._wakes = WakeSockets(self._path, self._name, super()._announce)
            self._wakes.open()
            self._polling = asyncio.get_running_loop().create_task(self._poll(self._wakes))

    def _announce(self, changed: str) -> None:
        super()._announce(changed)
        if self._wakes is not None and self._wakes.others:
            self._wakes.notify(changed)

    def heartbeat_connection(self, worker: str) -> HeartbeatConnection | None:
        """See `Store.heartbeat_connection`. All workers of a store in memory run here."""
        return None if self._renew is None else SqliteHeartbeat(partial(self._renew, 0.0), worker)

    async def inspect(self) -> Mapping[str, int]:
        """See `Store.inspect`. Checks every page and index of the file."""
        self._refuse_closed()
        found = await self._writer.submit(rows.integrity, None, frees=True)  # it only reads
        if found != "ok":
            raise StoreError(f"The store's file is damaged: {found}")

        if self._path is not None and blobs_next_to(self._path).exists():
            found = await self._blob_file().check()
            if found != "ok":
                raise StoreError(f"The file with the content of files is damaged: {found}")
        return await super().inspect()

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """See `Store.put_blob_part`. Content is stored in a separate file."""
        await self._observed(
            "put_blob_part",
            "write",
            lambda: self._blob_file().put(blob, number, data, is_last=is_last),
        )

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """See `Store.blob_part`."""
        return await self._observed(
            "blob_part", "read", lambda: self._blob_file().part(blob, number)
        )

    async def delete_blob_parts(self, blob: str) -> None:
        """See `Store.delete_blob_parts`."""
        deleted = PARTS_AT_ONCE
        while deleted == PARTS_AT_ONCE:
            deleted = await self._observed(
                "delete_blob_parts", "write", lambda: self._blob_file().delete(blob, PARTS_AT_ONCE)
            )

    def _blob_file(self) -> "BlobFile":
        self._refuse_closed()
        if self._blobs is None:
            from antiphon.storage.sqlite.blobs import BlobFile  # noqa: PLC0415 - only if files are stored

            self._blobs = BlobFile(
                None if self._path is None else blobs_next_to(self._path), reserve=self._reserve
            )
        return self._blobs

    async def merge_words(self) -> None:
        """See `Store.merge_words`. The next change continues a merge that was interrupted."""
        from antiphon.storage.sqlite import words  # noqa: PLC0415 - only for servers with vector stores

        with suppress(StoreError):
            for _ in range(words.MOST_STEPS):
                if not await self._writer.submit(words.merge, None):
                    return

    async def close(self) -> None:
        """See `Store.close`. A close that was cancelled is finished by the next."""
        await super().close()
        await self._writer.close()

    async def _release(self) -> None:
        if self._blobs is not None:
            await self._blobs.close()
        if self._polling is not None:
            self._polling.cancel()
        if self._wakes is not None:
            self._wakes.close()
        if self._reader:
            self._reader.close()
        if self._readers:
            await self._readers.close()

    async def _measure_skew(self) -> float | None:
        """Compare the clocks. Other processes write their time into the file."""
        if self._reader is None:
            return 0.0
        at, writer, requested = await self._perform_read(Act(clock.read, self.clock))
        now = self.clock.process_now()
        verdict = self._marks.judge((at, writer), requested, now, ticks())
        if verdict.writes:
            await self._perform_write(Act(clock.write, self.clock, (now, self._name)), frees=True)
        elif verdict.requests_time:
            await self._perform_write(Act(clock.request, self.clock), frees=True)
        if verdict.skew is not None:
            # It is unknown which clock is right, so nothing expires before both clocks agree
            # that it has.
            self.clock.correct(verdict.skew, min(0.0, -verdict.skew))
        return verdict.skew

    async def _try_to_write(self) -> None:
        """Write a value. Writes to a file that was deleted or replaced would be lost."""
        if self._path is not None and _identity(self._path) != self._file:
            raise StoreError("The store's file was deleted or replaced.")
        await super()._try_to_write()

    async def _search_room(self) -> bool:
        """Check the disk, and keep the reserve, which a store that no server uses does not need."""
        if self._writer.found_full:
            self._writer.found_full = False
            self._is_disk_full = True
        return await asyncio.to_thread(self._reserve.save) and await super()._search_room()

    def _save_plainly(self, response: StoredResponse) -> Awaitable[None]:
        if self._closed:
            self._refuse_closed()
        return self._writer.submit(rows.save, response)

    def _perform_write(self, act: Act[R], *, frees: bool) -> Awaitable[R]:
        if self._closed:
            self._refuse_closed()
        return self._writer.submit(rows.perform, act, frees=frees)

    async def _perform_read(self, act: Act[R]) -> R:
        if self._closed:
            self._refuse_closed()
        if self._reader is None:
            return await self._perform_write(act, frees=True)
        try:
            with self._gate, self._reader:
                self._reader.execute("BEGIN")
                return rows.run(self._reader, act, is_patient=False)
        except LargeReadError:
            return await self._read_much(act)
        except (sqlite3.Error, UnicodeError) as error:
            raise store_error(error) from error

    async def _read_much(self, act: Act[R]) -> R:
        if self._readers is None:
            raise AssertionError("a store in memory reads in its writing thread")
        try:
            return await self._readers.read(act)
        except (sqlite3.Error, UnicodeError) as error:
            raise store_error(error) from error

    async def _poll(self, wakes: WakeSockets) -> None:
        """Notify listeners when `data_version` changes.

        Commits of the writing connection itself do not change it.
        """
        seen: int | None = None
        while True:
            wakes.refresh()
            with suppress(StoreError):
                found = await self._writer.submit(
                    rows.data_version, None, frees=True
                )  # it only reads
                if seen not in (None, found):
                    super()._announce("")
                seen = found
            await asyncio.sleep(POLL_INTERVAL)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, or None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
