"""One thread that owns the writing connection, and commits all pending writes in one transaction.

Writes that arrive while one commit waits for the disk share the next commit. The event loop only pays for a future and
a queue entry, and is woken once per batch.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any

from antiphon.errors import StoreError
from antiphon.storage.operations.step import R
from antiphon.storage.sqlite.forks import forks
from antiphon.storage.sqlite.rows import A, Doing

_BATCH = 256  # maximum jobs in a transaction, which bounds how long the first waits for the last
_PAUSE = 0.001  # seconds to collect jobs: fewer, larger batches cost a busy event loop less

MOST_WAITING = 10_000
"""Maximum number of waiting jobs. Further jobs are rejected immediately, which bounds memory and waiting time."""

_TROUBLE = {
    sqlite3.SQLITE_BUSY: "The store is busy: another program is writing to it.",
    sqlite3.SQLITE_LOCKED: "The store is busy: another program is writing to it.",
    sqlite3.SQLITE_FULL: "The store's disk is full.",
    sqlite3.SQLITE_IOERR: "The store's disk failed.",
    sqlite3.SQLITE_READONLY: "The store is read-only.",
    sqlite3.SQLITE_CANTOPEN: "The store's file cannot be opened.",
    sqlite3.SQLITE_CORRUPT: "The store's file is damaged.",
    sqlite3.SQLITE_NOTADB: "The store's file is damaged.",
    sqlite3.SQLITE_NOMEM: "The store is out of memory.",
}


def store_error(cause: Exception) -> StoreError:
    """Return the error for the client, without a path or SQL. The cause is kept for the log."""
    if isinstance(cause, StoreError):  # raised by the operation itself
        return cause
    error = StoreError(_TROUBLE.get(_code(cause), "The store operation failed."))
    error.__cause__ = cause
    return error


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF  # the other bits are details of the same error


def _is_of_the_disk(result: Any) -> bool:
    return isinstance(result, StoreError) and _code(result.__cause__ or result) == sqlite3.SQLITE_IOERR


@dataclass(slots=True, eq=False)
class _Job:
    act: Doing[Any, Any]
    argument: Any
    future: asyncio.Future[Any]


class Writer:
    """Runs operations in the order of their arrival. A failed operation does not affect others. Owns the connection.

    After a disk error it continues with a new connection from `renew`: after a failed write the kernel may have dropped
    data, so the old handle is not reliable.
    """

    def __init__(self, connection: sqlite3.Connection, renew: Callable[[], sqlite3.Connection] | None = None) -> None:
        self._connection = connection
        self._renew = renew
        self._gate = forks.new_gate()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon thread, so that a program can exit without closing its store: acknowledged writes are on disk.
        self._thread = threading.Thread(target=self._run, name="antiphon-store", daemon=True)
        self._thread.start()

    def submit(self, act: Doing[A, R], argument: A) -> asyncio.Future[R]:
        """Return a future for the operation's result, set after its commit. Cancelling it does not undo the operation.

        Raises `StoreError` if too many writes are waiting.
        """
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if self._jobs.qsize() >= MOST_WAITING:
            raise StoreError("The store is overloaded: too many writes are waiting.")
        self._jobs.put(_Job(act, argument, future))
        return future

    async def close(self) -> None:
        """Finish all submitted operations, then close the connection."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while jobs := self._take():
            with self._gate:
                results = self._commit(jobs)
                if _is_of_the_disk(results[0]):  # such an error fails all of a commit
                    self._open_again()
            _deliver(jobs, results)
            if len(jobs) > 1:
                time.sleep(_PAUSE)
        with self._gate:
            self._connection.close()

    def _open_again(self) -> None:
        if self._renew is not None:
            with suppress(sqlite3.Error):  # the old connection stays, and the next error tries again
                connection = self._renew()
                self._connection.close()
                self._connection = connection

    def _take(self) -> list[_Job]:
        jobs: list[_Job] = []
        job = self._jobs.get()
        with suppress(Empty):
            while job is not None:
                jobs.append(job)
                if len(jobs) == _BATCH:
                    return jobs
                job = self._jobs.get_nowait()
            self._jobs.put(None)  # the next round finds the end of the queue
        return jobs

    def _commit(self, jobs: Sequence[_Job]) -> Sequence[Any]:
        """Return the outcome of each job: its result, or the `StoreError`."""
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                return self._together(jobs)
        except Exception as error:
            if len(jobs) == 1 or _code(error) in _TROUBLE:
                return [store_error(error) for _ in jobs]
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                return [self._alone(job) for job in jobs]
        except Exception as error:
            return [store_error(error) for _ in jobs]

    def _together(self, jobs: Sequence[_Job]) -> Sequence[Any]:
        results: list[Any] = []
        for act, group in groupby(jobs, key=lambda job: job.act):
            results += act(self._connection, [job.argument for job in group])
        return results

    def _alone(self, job: _Job) -> Any:
        self._connection.execute("SAVEPOINT job")
        try:
            (result,) = job.act(self._connection, [job.argument])
        except Exception as error:
            if _code(error) in _TROUBLE:
                raise
            self._connection.execute("ROLLBACK TO job")
            result = store_error(error)
        self._connection.execute("RELEASE job")
        return result


def _deliver(jobs: Sequence[_Job], results: Sequence[Any]) -> None:
    pairs = zip((job.future for job in jobs), results, strict=True)
    for loop, group in groupby(pairs, key=lambda pair: pair[0].get_loop()):
        with suppress(RuntimeError):  # the event loop is closed, so nothing waits
            loop.call_soon_threadsafe(_resolve, list(group))


def _resolve(pairs: Iterable[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        if future.done():  # cancelled, because the client disconnected
            continue
        if isinstance(result, StoreError):
            future.set_exception(result)
        else:
            future.set_result(result)
