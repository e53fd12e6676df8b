"""One thread that owns the writing connection, and commits all pending writes in one transaction.

Theory of operation.

SQLite permits one writer, and each commit waits for the disk. So all writes of a process go through
one queue to one thread. While a commit waits for the disk, more writes arrive, and they share the
next commit. The event loop pays for a future and a queue entry, and is woken once per batch.

    submit ──> queue ── at most `_BATCH` ───> commit ──> resolve the futures
                            ^                      └─ those that came too late: the next transaction
                            └─ after a shared batch, wait `_PAUSE`: more arrive, in fewer and larger batches

A transaction takes no further job once it has run for `LONGEST`, so the first write of a batch
hardly waits for the last. Tenants take turns in what then still waits: a flood of one delays a
write of another by about one transaction. How a batch is committed:

1. Together: jobs of one kind as statements with many rows, which is the fast way.
2. If that fails because of a job, nothing of it remains, and all are done again, each within a
   savepoint. So only the job that is at fault fails.
3. If it fails because of the disk or of a lock (`_TROUBLE`), each job would fail, so all of them
   do.

Errors of the disk change more than one batch:

- A full disk: SQLite needs space even to delete. The first job that frees space releases the
  `reserve`. From then on jobs are committed one by one: those that free space are done, and others
  are refused, in every process, until there is enough space for the reserve again.
- An I/O error: after a failed write the kernel may have dropped data, so the old handle is not
  reliable. The thread continues with a new connection. If it cannot be opened, the next error tries
  again.

What holds always:

- A future is resolved after the commit, never before: what was acknowledged is on disk.
- The jobs of a tenant are done in the order of their arrival, and so are those of none. Each takes
  effect once or not at all. A caller that needs another order waits for the first result.
- Cancelling a future does not undo a job: its client may have disconnected while the disk was
  writing.
- An error of the disk fails all jobs of a commit, so the first result shows it.
- No more than `MOST_WAITING` jobs wait. An overloaded store says so at once.
- The thread holds its gate while it is inside SQLite, and a fork waits for that (`forks.py`).
"""  # noqa: E501 - a table, a diagram or an example

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby
from queue import Empty, SimpleQueue
from typing import Any

from antiphon.errors import StoreError
from antiphon.sharing.turns import in_turns
from antiphon.storage.operations.step import R
from antiphon.storage.sqlite.forks import forks
from antiphon.storage.sqlite.reserve import Reserve
from antiphon.storage.sqlite.rows import A, Doing

_BATCH = 256  # maximum jobs in a transaction
_PAUSE = 0.001  # seconds to collect jobs: fewer, larger batches cost a busy event loop less

LONGEST = 0.02
"""Seconds after which a transaction takes no further job: the first does not wait long for the
last.
"""

_SHORT = 256  # pages of the log after which it is checkpointed, once the disk was full

MOST_WAITING = 10_000
"""Maximum number of waiting jobs. Further jobs are rejected immediately, which bounds memory and
waiting time.
"""

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
    error.is_disk_full = _code(cause) == sqlite3.SQLITE_FULL
    error.__cause__ = cause
    return error


def disk_full() -> StoreError:
    """Return the error for a write that is refused while the reserve is released."""
    error = StoreError(_TROUBLE[sqlite3.SQLITE_FULL])
    error.is_disk_full = True
    return error


def _code(error: BaseException) -> int:
    return (
        getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    )  # the other bits are details of the same error


def _is_of_the_disk(result: Any) -> bool:
    return (
        isinstance(result, StoreError) and _code(result.__cause__ or result) == sqlite3.SQLITE_IOERR
    )


@dataclass(slots=True, eq=False)
class _Job:
    act: Doing[Any, Any]
    argument: Any
    future: asyncio.Future[Any]
    frees: bool


class Writer:
    """Runs operations in the order of their arrival; tenants take turns where many wait.

    A failed operation does not affect others. Owns the connection.

    After a disk error it continues with a new connection from `renew`: after a failed write the
    kernel may have dropped data, so the old handle is not reliable. On a full disk, only operations
    that free space may use the `reserve`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        renew: Callable[[], sqlite3.Connection] | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self._connection = connection
        self._renew = renew
        self._reserve = reserve or Reserve(None)
        self.found_full = False
        """Whether the disk was full since this was last set to False."""
        self._gate = forks.new_gate()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._taken = 0  # jobs that were taken from the queue, and wait for the next transaction
        # A daemon thread, so that a program can exit without closing its store: acknowledged writes
        # are on disk.
        self._thread = threading.Thread(target=self._run, name="antiphon-store", daemon=True)
        self._thread.start()

    def submit(self, act: Doing[A, R], argument: A, *, frees: bool = False) -> asyncio.Future[R]:
        """Return a future for the operation's result, set after its commit.

        Cancelling it does not undo the operation.

        If it `frees` space, or revokes a key, it is performed on a full disk too. Raises
        `StoreError` if too many writes are waiting.
        """
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if self._jobs.qsize() + self._taken >= MOST_WAITING:
            raise StoreError("The store is overloaded: too many writes are waiting.")
        self._jobs.put(_Job(act, argument, future, frees))
        return future

    async def close(self) -> None:
        """Finish all submitted operations, then close the connection."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._finish([job, *self._arrived()])
            del job  # it can be large, and the next one can be far away
        with self._gate:
            self._connection.close()

    def _finish(self, jobs: list[_Job]) -> None:
        """Do these jobs, and those that arrive meanwhile."""
        is_shared = len(jobs) > 1
        while jobs:
            batch = jobs[:_BATCH]
            self._taken = len(jobs) - len(batch)
            with self._gate:
                results = self._commit_in_room(batch)
                if _is_of_the_disk(results[0]):  # such an error fails all of a commit
                    self._open_again()
            _deliver(batch[: len(results)], results)
            if jobs := jobs[len(results) :]:
                jobs = in_turns(chain(jobs, self._arrived()), _tenant)
        if is_shared:
            time.sleep(_PAUSE)

    def _open_again(self) -> None:
        if self._renew is not None:
            with suppress(
                sqlite3.Error
            ):  # the old connection stays, and the next error tries again
                connection = self._renew()
                self._connection.close()
                self._connection = connection

    def _arrived(self) -> Iterator[_Job]:
        """Yield the jobs in the queue."""
        with suppress(Empty):
            while (job := self._jobs.get_nowait()) is not None:
                yield job
            self._jobs.put(None)  # the next round finds the end of the queue

    def _commit_in_room(self, jobs: Sequence[_Job]) -> Sequence[Any]:
        """Commit like `_commit`.

        On a full disk, release the reserve for a job that frees space, and refuse others.
        """
        if self._reserve.refill():
            results = self._commit(jobs)
            is_full = (
                isinstance(results[0], StoreError) and results[0].is_disk_full
            )  # fails all of a commit
            self.found_full |= is_full
            if not (is_full and any(job.frees for job in jobs) and self._reserve.release()):
                return results
            make_room(self._connection)
        return self._commit(jobs[:1]) if jobs[0].frees else [disk_full()]

    def _commit(self, jobs: Sequence[_Job]) -> Sequence[Any]:
        """Return the outcome of each job, its result or the `StoreError`: of the first ones, if all
        take too long.
        """
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                if len(jobs) == 1:
                    return [self._result(jobs[0])]
                return _until_late(self._together(jobs))
        except Exception as error:
            if len(jobs) == 1 or _code(error) in _TROUBLE:
                return [store_error(error) for _ in jobs]
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                return _until_late([self._alone(job)] for job in jobs)
        except Exception as error:
            return [store_error(error) for _ in jobs]

    def _together(self, jobs: Sequence[_Job]) -> Iterator[Sequence[Any]]:
        """Yield the results of what has just been done: a job that is done twice would undo another
        process's write.
        """
        for act, group in groupby(jobs, key=lambda job: job.act):
            yield from act(self._connection, [job.argument for job in group])

    def _result(self, job: _Job) -> Any:
        ((result,),) = job.act(self._connection, [job.argument])
        return result

    def _alone(self, job: _Job) -> Any:
        self._connection.execute("SAVEPOINT job")
        try:
            result = self._result(job)
        except Exception as error:
            if _code(error) in _TROUBLE:
                raise
            self._connection.execute("ROLLBACK TO job")
            result = store_error(error)
        self._connection.execute("RELEASE job")
        return result


def make_room(connection: sqlite3.Connection) -> None:
    """Empty the log into the file after the reserve was released, and keep the log short from now
    on.
    """
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA wal_autocheckpoint = {_SHORT}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _until_late(parts: Iterable[Sequence[Any]]) -> Sequence[Any]:
    """Take parts of the results until a transaction has run for `LONGEST`."""
    taken: list[Any] = []
    began = time.monotonic()
    for part in parts:
        taken += part
        if time.monotonic() - began > LONGEST:
            break
    return taken


def _tenant(job: _Job) -> str | None:
    """Return the tenant of a job; those of none take turns with the tenants."""
    tenant: str | None = getattr(job.argument, "tenant", None)
    return tenant


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
