"""The store: it performs operations in a database, one transaction each.

`storage/operations/` has the operations, and their docstrings what they promise. What takes several
transactions is a function over a store: `upkeep.py`, `chunk_writer.py`, `containers.py`,
`answers.py`, `input_pages.py`. What only the database can do is in a subclass of each:
`sqlite/store.py` and `postgres/store.py`. `open.py` opens the one of a URL.
"""

import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from secrets import token_bytes
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct

from antiphon.errors import StoreError
from antiphon.ids import Clock
from antiphon.storage.act import Act
from antiphon.storage.clock import StoreClock
from antiphon.storage.operations import chains, health, responses
from antiphon.storage.operations.step import P, R, Read, Write
from antiphon.storage.records.responses import ChainExtent, StoredResponse
from antiphon.storage.records.tenants import StoredReply

if TYPE_CHECKING:
    from antiphon.storage.terms import TermThread

Kind = Literal["read", "write"]

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Upper bounds of durations that are counted together: half a millisecond to 5 s."""


class Durations(Struct):
    """How long operations took, for metrics."""

    counts: list[int]
    """How many took how long, by `SECONDS`; the last number is of those above all bounds."""
    total: float = 0.0
    """Their seconds in sum."""


class StorePosition(NamedTuple):
    """How far the log of a database is, in which a commit is an entry."""

    timeline: int
    """A standby that takes over begins another one."""
    place: int
    """In bytes."""


class HeartbeatConnection(Protocol):
    """A worker's heartbeat over a separate connection.

    Used by one thread, which needs no event loop.
    """

    def beat(self) -> None:
        """Record that the worker is alive.

        Blocks for a few seconds at most. Raises `StoreError`.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Store(ABC):
    """A durable store. Every method raises `StoreError` if the storage fails.

    Guarantees: when a method that writes returns, its changes are durable, and they are applied
    entirely or not at all. Reads see every completed write of this store. Many tasks of one event
    loop can call the methods concurrently, and several processes can open the same storage. No
    method reveals one tenant's data to another tenant.
    """

    def __init__(self, url: str, now: Clock) -> None:
        self.url = url
        """The URL of the storage, as the operator wrote it, without user information."""
        self.clock = StoreClock(now)
        """This process's clock, corrected by that of the store: it decides what has expired."""
        self.durations: Mapping[Kind, Durations] = {
            "read": Durations([0] * (len(SECONDS) + 1)),
            "write": Durations([0] * (len(SECONDS) + 1)),
        }
        """How long whatever the store did took."""
        self.failures: Counter[str] = Counter()
        """How often it failed, by the names of operations."""
        self._listeners: list[Callable[[str], None]] = []
        self._measured: chains.Measured = {}
        self._term_thread: TermThread | None = None
        self._closed = False
        self._is_disk_full = False
        """Whether a write failed for it; `has_room` checks again."""

    async def read(self, operation: Read[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of an operation that only reads, in one snapshot of the storage."""
        act = Act(operation.begin, self.clock, args, kwargs, operation.is_of_all)
        began = time.monotonic()
        try:  # as in `_observed`, with a call fewer for each operation
            return await self._perform_read(act)
        except StoreError:
            self.failures[operation.name] += 1
            raise
        finally:
            self._count("read", began)

    async def write(self, operation: Write[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of an operation that writes, in one transaction.

        It may run more than once.

        It completes even if the caller is cancelled.
        """
        act = Act(operation.begin, self.clock, args, kwargs, operation.is_of_all)
        began = time.monotonic()
        try:
            result = await self._perform_write(act, frees=operation.frees)
        except StoreError:
            self.failures[operation.name] += 1
            raise
        finally:
            self._count("write", began)
        for name in act.changed:
            self._announce(name)
        return result

    async def save(
        self, response: StoredResponse, *, append: bool = False, reply: StoredReply | None = None
    ) -> bool:
        """Store or replace a response that has ended. It is durable when this returns.

        If the response belongs to a conversation, this unlocks the conversation; with `append`, the
        response's items are first appended to the conversation. Return False, and store nothing, if
        the response no longer holds the lock. `reply` is stored for its `Idempotency-Key` in the
        same transaction. A save that has begun completes even if the caller is cancelled.
        """
        is_plain = response.conversation_id is None and reply is None
        for item in (*response.input, *response.output):
            is_plain = is_plain and item.blob is None
        if not is_plain:
            return await self.write(responses.save, response, append=append, reply=reply)

        # Most responses: without a conversation, a key or a blob, many of them share a statement
        # and a commit.
        dated = responses.dated(response, self.clock.shift) if self.clock.shift else response
        await self._observed("save", "write", self._save_plainly, dated)
        return True

    async def measure_chain(self, tenant: str, response_id: str, most: int) -> ChainExtent:
        """Measure the chain that `history` would read, this response included, up to `most`
        responses.

        The length is 0 if this response is unknown. If an ancestor is unknown, only the responses
        below it are counted. A chain longer than `most` is not whole; its number of items and bytes
        is a lower bound. Every turn calls this, so the store remembers its measurements, until data
        of the tenant is deleted.
        """
        return await self.read(chains.measure_chain, tenant, response_id, most, self._measured)

    @abstractmethod
    def heartbeat_connection(self, worker: str) -> HeartbeatConnection | None:
        """Return a heartbeat that needs neither the event loop nor its connections.

        Return None if all workers of the store run in this process: `leases.beat` is sufficient for
        them.
        """

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call a listener on the event loop soon after a response or its job has changed, with the
        response's id.

        The id is `JOBS` if a job waits to be claimed, and empty if it is unknown which response
        changed. A change can be announced more than once, and a change by another process may not
        be announced at all, so also poll.
        """
        self._listeners.append(listener)

    async def clock_skew(self) -> float | None:
        """Return the seconds by which this process's clock is ahead of the store's clock, or None
        if not yet known.

        The store's clock decides what has expired: from now on, every operation corrects this
        process's clock by the measured difference. Call this every few seconds, and do not purge
        while the clocks differ or the difference is unknown.
        """
        return await self._observed("clock_skew", "read", self._measure_skew)

    async def position(self) -> StorePosition | None:
        """Return how far the log of the database is, or None if it has no such log."""
        return await self._observed("position", "read", self._find_position)

    async def check_writable(self) -> None:
        """Raise `StoreError` unless a write succeeds now and is durable.

        The written value is never read.
        """
        await self._observed("check_writable", "write", self._try_to_write)

    async def has_room(self) -> bool:
        """Return whether the disk of the storage has room, and keep space there for deletions, if
        the storage can.

        On a full disk, writes raise a `StoreError` with `is_disk_full`. If the space is kept,
        deletions, changes of API keys and purges succeed.
        """
        return await self._observed("has_room", "read", self._search_room)

    async def inspect(self) -> Mapping[str, int]:
        """Check all of the storage; return the number of rows of each table.

        Raises `StoreError` if it is damaged.
        """
        return await self.read(health.count_rows)

    @abstractmethod
    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Store one part of a blob. When the last part is stored, the whole blob is durable."""

    @abstractmethod
    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """Return one part of a blob, or None."""

    @abstractmethod
    async def delete_blob_parts(self, blob: str) -> None:
        """Delete the bytes of a blob, a few parts at a time, so that other writes can run in
        between.
        """

    @property
    def terms(self) -> "TermThread":
        """The thread that computes the terms of chunks for this store.

        It is loaded and started on first use.
        """
        if self._term_thread is None:
            from antiphon.storage.terms import TermThread  # noqa: PLC0415 - only if chunks are written or deleted

            self._term_thread = TermThread()
        return self._term_thread

    async def merge_words(self) -> None:  # noqa: B027 - PostgreSQL needs nothing
        """Do what the keyword index of the database needs after a change, in transactions of its
        own.
        """

    async def close(self) -> None:
        """Finish pending writes and release the storage.

        After that, every other method raises `StoreError`. Closing a closed store does nothing.
        """
        if not self._closed:
            self._closed = True
            if self._term_thread is not None:
                self._term_thread.close()
            await self._release()

    @abstractmethod
    def _perform_read(self, act: Act[R]) -> Awaitable[R]:
        """Run an operation that only reads.

        If the database supports row security, it sees only the rows of its tenant.
        """

    @abstractmethod
    def _perform_write(self, act: Act[R], *, frees: bool) -> Awaitable[R]:
        """Run an operation that writes.

        It is durable when this returns, and sees the same rows as a read.

        The operation may run more than once. If it `frees` space or changes a key, a full disk must
        not prevent it.
        """

    @abstractmethod
    def _save_plainly(self, response: StoredResponse) -> Awaitable[None]:
        """Store a response without a conversation or a key.

        Many concurrent saves share a transaction.
        """

    @abstractmethod
    async def _measure_skew(self) -> float | None:
        """Compare the clocks for `clock_skew`, and correct `clock`."""

    @abstractmethod
    async def _release(self) -> None:
        """Release what `close` releases, once."""

    async def _find_position(self) -> StorePosition | None:
        self._refuse_closed()
        return None

    async def _try_to_write(self) -> None:
        await self._perform_write(
            Act(health.try_to_write, self.clock, (token_bytes(8),)), frees=False
        )

    async def _search_room(self) -> bool:
        if self._is_disk_full:
            try:
                await self._try_to_write()
            except StoreError as error:
                return not error.is_disk_full
            self._is_disk_full = False
        return True

    async def _observed(
        self,
        name: str,
        kind: Kind,
        act: Callable[P, Awaitable[R]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Do what is not an operation, and measure it as if it were one."""
        began = time.monotonic()
        try:
            return await act(*args, **kwargs)
        except StoreError:
            self.failures[name] += 1
            raise
        finally:
            self._count(kind, began)

    def _count(self, kind: Kind, began: float) -> None:
        took = time.monotonic() - began
        durations = self.durations[kind]
        durations.counts[bisect_left(SECONDS, took)] += 1
        durations.total += took

    def _announce(self, changed: str) -> None:
        for listener in self._listeners:
            listener(changed)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")
