"""The store in one SQLite file: write-ahead log, one writing thread, reads at once.

Reads run on the event loop's own thread: one takes less time than it would take to hand it to another thread, and in
WAL mode no writer holds it up. A store in memory has one connection only, so there the writing thread reads as well.
"""

import sqlite3

from antiphon.errors import StoreError
from antiphon.store import sqlite_rows as rows
from antiphon.store.base import StoredItem, StoredResponse
from antiphon.store.sqlite_file import open_file, open_memory, path_of
from antiphon.store.sqlite_rows import A, Act, R
from antiphon.store.sqlite_writer import Writer, store_error


class SqliteStore:
    """A `Store` in an SQLite file, or in memory. Make one with `SqliteStore.open`."""

    def __init__(self, url: str, writer: sqlite3.Connection, reader: sqlite3.Connection | None) -> None:
        self.url = url
        self._writer = Writer(writer)
        self._reader = reader
        self._closed = False

    @classmethod
    def open(cls, url: str, *, busy_timeout: float = 5.0) -> "SqliteStore":
        """Open `sqlite:///absolute/path`, `sqlite:///~/path`, or `sqlite://` for one in memory that ends with it.

        The file and its folders are made where there are none, for their owner alone, and an older schema is brought up
        to date. `busy_timeout` is how many seconds a write waits for another program that is writing.
        Raises `ConfigError`, having changed nothing, where the address is none or the file is a folder, read-only,
        locked, damaged, another program's, or of a newer Antiphon.
        """
        path = path_of(url)
        if path is None:
            return cls(url, open_memory(), None)
        return cls(url, *open_file(path, busy_timeout))

    async def save(self, response: StoredResponse) -> None:
        """Keep the response; it is kept even if the caller is cancelled meanwhile."""
        await self._write(rows.save, response)

    async def load(self, response_id: str) -> StoredResponse | None:
        """Return the response, its items as tuples, or None."""
        return await self._read(rows.load, response_id)

    async def delete(self, response_id: str) -> bool:
        """Forget the response and its items; False where it is unknown."""
        return await self._write(rows.delete, response_id)

    async def history(self, response_id: str) -> list[StoredItem] | None:
        """Return the items of the chain that ends here, or None where it has no head: a hole, or a circle."""
        return await self._read(rows.history, response_id)

    async def find_item(self, item_id: str) -> StoredItem | None:
        """Return the newest stored item of that id, or None."""
        return await self._read(rows.find_item, item_id)

    async def expire(self, before: int) -> int:
        """Forget responses created before this time, some hundreds at a time, so that saves come between."""
        gone, more = 0, True
        while more:
            step, more = await self._write(rows.expire, before)
            gone += step
        return gone

    async def close(self) -> None:
        """Finish what was begun and close the file; closing again does nothing."""
        if not self._closed:
            self._closed = True
            if self._reader:
                self._reader.close()
        await self._writer.close()

    async def _write(self, act: Act[A, R], argument: A) -> R:
        self._refuse_closed()
        return await self._writer.submit(act, argument)

    async def _read(self, act: Act[A, R], argument: A) -> R:
        self._refuse_closed()
        if self._reader is None:
            return await self._writer.submit(act, argument)
        try:
            return act(self._reader, [argument])[0]
        except (sqlite3.Error, UnicodeError) as error:
            raise store_error(error) from error

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")
