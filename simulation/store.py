"""The store of a simulation: a real SQLite database, which all simulated processes share, and a
performer without threads that decides by the seed when an operation is performed, and how it fails.

Each operation is a transaction of the one connection, within one callback, so no two overlap: that
is what SQLite's lock makes of several processes. What differs from a file is time: an operation is
performed some time after the call, and acknowledged some time later. A process can be killed or
paused at any point of it, and between any two statements of the transaction, which is then rolled
back.
"""

import asyncio
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from antiphon import ids
from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.storage.act import Act
from antiphon.storage.operations.step import R
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite import rows
from antiphon.storage.sqlite.clock import ClockMarks
from antiphon.storage.sqlite.file import migrate
from antiphon.storage.sqlite.reserve import Reserve
from antiphon.storage.sqlite.rows import A, Doing
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.sqlite.writer import MOST_WAITING, Writer, _deliver, _Job, store_error
from antiphon.storage.store import Store
from simulation.loop import Process, SimulatedLoop

BATCH = 16
"""The most writes of one process in a transaction."""

HINT_LATENCY = 0.25
"""The longest time until another process hears of a change, in seconds."""

CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)


class Killed(BaseException):
    """The process was killed between two statements."""


@dataclass(slots=True)
class Temper:
    """How the store behaves now. Latencies are the longest ones, in seconds, before and after an
    operation.
    """

    latency: float = 0.01
    reads_at_once: bool = True
    """Whether a read is performed within its call, as in a file."""
    fails: float = 0.0
    """The chance that a statement fails."""
    loses_reply: float = 0.0
    """The chance that a transaction that was committed is reported as failed."""
    kills: float = 0.0
    """The chance that the process is killed before a statement."""
    loses_hint: float = 0.0
    """The chance that another process is not told of a change."""


@cache
def _template() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, migrations("sqlite"))
        return connection.serialize()


class FaultyConnection(sqlite3.Connection):
    """A connection whose statements can fail: `before` is called with each."""

    before: Callable[[], None] | None = None

    def execute(self, *args: Any) -> sqlite3.Cursor:
        if self.before is not None:
            self.before()
        return super().execute(*args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        if self.before is not None:
            self.before()
        return super().executemany(*args)


class Database:
    """The database that all processes share."""

    def __init__(self, loop: SimulatedLoop, dice: random.Random) -> None:
        self.loop = loop
        self.dice = dice
        self.temper = Temper()
        self.kill: Callable[[Process], None] = loop.kill
        self.stores: list[SimulatedStore] = []
        self.connection = sqlite3.connect(
            ":memory:", isolation_level=None, factory=FaultyConnection
        )
        self.connection.deserialize(_template())
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.connection.execute("PRAGMA recursive_triggers = ON")

    def open(self, now: Clock) -> "SimulatedStore":
        """Return the store of the running process."""
        store = SimulatedStore(self, self.loop.here, now)
        self.stores.append(store)
        return store

    def latency(self) -> float:
        """Return the time that one half of an operation takes."""
        return self.dice.random() * self.temper.latency

    def faults(self, process: Process) -> Callable[[], None] | None:
        """Return what happens before each statement of a process."""
        temper, dice = self.temper, self.dice
        if not (temper.fails or temper.kills):
            return None

        def before() -> None:
            if temper.kills and dice.random() < temper.kills:
                raise Killed
            if temper.fails and dice.random() < temper.fails:
                error = sqlite3.OperationalError("simulated")
                error.sqlite_errorcode = dice.choice(CODES)
                raise error

        return before

    def transact(self, process: Process, act: Callable[[], R]) -> R | None:
        """Run a transaction of a process; None if the process was killed within it."""
        self.connection.before = self.faults(process)
        try:
            return act()
        except Killed:
            self.connection.before = None
            if self.connection.in_transaction:
                self.connection.rollback()
            self.kill(process)
            return None
        finally:
            self.connection.before = None

    def committed(self, source: "SimulatedStore") -> None:
        """A process has changed something: as in a file, a write that changes nothing is not
        seen.
        """
        for store in self.stores:
            if store is not source and not store.process.is_dead:
                store.poll_soon()

    def hint(self, source: "SimulatedStore", changed: str) -> None:
        """Tell the other processes of a change."""
        for store in self.stores:
            if store is source or store.process.is_dead:
                continue
            if self.dice.random() >= self.temper.loses_hint:
                delay = self.dice.random() * HINT_LATENCY / 10
                self.loop.call_later(delay, store.receive, changed, context=store.context)


class PerformedWriter(Writer):
    """The writer without its thread: a callback performs each batch."""

    def __init__(self, database: Database, store: "SimulatedStore") -> None:
        self._database = database
        self._store = store
        self._connection = database.connection
        self._renew = None
        self._reserve = Reserve(None)
        self.found_full = False
        self._gate = nullcontext()  # type: ignore[assignment]
        self._waiting: list[_Job] = []
        self._turn: asyncio.TimerHandle | None = None

    def submit(self, act: Doing[A, R], argument: A, *, frees: bool = False) -> asyncio.Future[R]:
        loop = self._database.loop
        future: asyncio.Future[R] = loop.create_future()
        if len(self._waiting) >= MOST_WAITING:
            raise StoreError("The store is overloaded: too many writes are waiting.")
        self._waiting.append(_Job(act, argument, future, frees))
        self._schedule()
        return future

    async def close(self) -> None:
        while self._turn is not None:  # noqa: ASYNC110 - simulated time
            await asyncio.sleep(0.01)

    def _schedule(self) -> None:
        if self._turn is None and self._waiting:
            database = self._database
            self._turn = database.loop.call_later(
                database.latency(), self._perform, context=self._store.context
            )

    def _perform(self) -> None:
        self._turn = None
        database = self._database
        jobs, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        process = self._store.process
        if database.loop.trace is not None:
            database.loop.note(f"writes {', '.join(map(_described, jobs))}")
        changes = database.connection.total_changes
        results: Sequence[Any] | None = database.transact(
            process, lambda: self._commit_in_room(jobs)
        )
        if results is None:
            return
        for result in results:
            if isinstance(result, StoreError):
                database.loop.note(f"fails: {result}")
        if database.connection.total_changes != changes:
            database.committed(self._store)
        self._waiting = [*jobs[len(results) :], *self._waiting]
        if database.dice.random() < database.temper.loses_reply:
            database.loop.note("loses the reply")
            results = [StoreError("The connection to the store was lost.") for _ in results]
        done = jobs[: len(results)]
        database.loop.call_later(
            database.latency(), _deliver, done, results, context=self._store.context
        )
        self._schedule()


def _described(job: _Job) -> str:
    """Describe a write, for the trace."""
    argument = job.argument
    if not isinstance(argument, Act):
        return f"save {getattr(argument, 'id', '')}"
    name = argument.operation.__qualname__
    found = [str(getattr(getattr(one, "response", one), "id", one)) for one in argument.args[:3]]
    return f"{name}({', '.join(found)[:120]})"


class SimulatedStore(SqliteStore):
    """The store of one simulated process."""

    def __init__(self, database: Database, process: Process, now: Clock) -> None:
        Store.__init__(self, "sqlite://", now)  # that of `SqliteStore` starts a thread
        self._database = database
        self.process = process
        self.context = database.loop.context_of(process)
        self._is_polling = False
        self._path = self._file = self._renew = None
        self._reserve = Reserve(None)
        self._writer = PerformedWriter(database, self)
        self._reader = database.connection
        self._name = ids.new_id("store")
        self._marks = ClockMarks(self._name)
        self._readers = None
        self._polling = self._wakes = self._blobs = None

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def receive(self, changed: str) -> None:
        """Another process announced a change."""
        for listener in self._listeners:
            listener(changed)

    def poll_soon(self) -> None:
        """Another process has written: see it at the next poll."""
        if not self._is_polling:
            self._is_polling = True
            delay = self._database.dice.random() * HINT_LATENCY
            self._database.loop.call_later(delay, self._poll_others, context=self.context)

    def _poll_others(self) -> None:
        self._is_polling = False
        self.receive("")

    def _announce(self, changed: str) -> None:
        self.receive(changed)
        self._database.hint(self, changed)

    async def _perform_read(self, act: Act[R]) -> R:
        if self._closed:
            self._refuse_closed()
        database = self._database
        if not database.temper.reads_at_once:
            await asyncio.sleep(database.latency())
        try:
            found = database.transact(
                self.process, lambda: rows.perform_alone(database.connection, act, is_patient=True)
            )
        except (sqlite3.Error, UnicodeError) as error:
            raise store_error(error) from error
        if self.process.is_dead:
            await asyncio.Event().wait()
        if not database.temper.reads_at_once:
            await asyncio.sleep(database.latency())
        return found  # type: ignore[return-value]  # None is the result of an operation here

    async def _release(self) -> None:
        if self in self._database.stores:
            self._database.stores.remove(self)
