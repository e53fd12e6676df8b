"""The store in a PostgreSQL database, which many replicas can share.

Plain saves that arrive together share one statement; every other operation is a separate
transaction. Replicas notify each other of changes with LISTEN and NOTIFY on a separate connection.
Behind a pooler that does not forward notifications, everything still works, because each waiting
task also polls.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from antiphon import ids
from antiphon.errors import StoreError, log
from antiphon.ids import Clock
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.sharing.turns import in_turns
from antiphon.storage.act import Act
from antiphon.storage.large_reads import OVERLOADED, shared_reads
from antiphon.storage.operations import files
from antiphon.storage.operations.responses import fitting
from antiphon.storage.operations.responses import save_dated as save_alone
from antiphon.storage.operations.step import LargeReadError, R
from antiphon.storage.postgres.address import read_address
from antiphon.storage.postgres.heartbeat import PostgresHeartbeat
from antiphon.storage.postgres.link import (
    CHANNEL,
    TROUBLE,
    connect,
    is_about_data,
    is_worth_a_retry,
    listen,
    prepare,
    store_error,
)
from antiphon.storage.postgres.performing import Attempt, performing, use
from antiphon.storage.postgres.saving import save_together
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.store import HeartbeatConnection, Store, StorePosition

PARTS_AT_ONCE = 16
"""Parts of a blob that one step deletes, so that other writes can run between the steps."""

TRIES = 4
"""Maximum attempts of an operation that conflicted with another one or lost its connection."""

BATCH = 256
"""Maximum number of responses in one statement."""

BATCH_ITEMS, BATCH_BYTES = 2_500, 2 * 1024 * 1024
"""Maximum number of items in one statement, and of their bytes: the driver encodes them in one
step. A response that exceeds them is saved alone.
"""

MOST_WAITING = 10_000
"""Maximum number of saves that wait for a slow database. Further saves are rejected immediately."""

PATIENCE = 5.0
"""Seconds that an operation waits for a connection."""

SLOW = 5.0
"""Maximum seconds for reading the database's clock. Half of the time taken is the uncertainty of
the result.
"""

_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"

_POSITION = """
SELECT ('x' || left(pg_walfile_name(place), 8))::bit(32)::int, (place - '0/0')::bigint
FROM pg_current_wal_lsn() place
"""

_NO_POSITION = (
    asyncpg.FeatureNotSupportedError,
    asyncpg.UndefinedFunctionError,
    asyncpg.InsufficientPrivilegeError,
)
"""What databases answer that speak PostgreSQL's protocol and have another log."""

_Save = tuple[StoredResponse, asyncio.Future[None]]


class PostgresStore(Store):
    """A `Store` in PostgreSQL. Create it with `await PostgresStore.open`."""

    def __init__(
        self, url: str, pool: "asyncpg.Pool[Any]", now: Clock, reads: FairScheduler | None = None
    ) -> None:
        super().__init__(url, now)
        self._pool = pool
        self._reads = reads or shared_reads()
        self._saves: list[_Save] = []
        self._is_saving = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._dsn = ""
        self._is_pooled = False
        self._news: list[str] = []

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        connections: int = 10,
        now: Clock = ids.now,
        reads: FairScheduler | None = None,
        is_written: bool = False,
    ) -> "PostgresStore":
        """Open `postgresql://user@host/database` and migrate an older schema.

        `connections` is the maximum number of this process's connections, in addition to one that
        listens. `reads` is the scheduler that shares large reads between tenants. Raises
        `ConfigError` if the database is unreachable, refuses the connection, or is from a newer
        Antiphon; with `is_written`, also if its role lacks a privilege that a server needs.
        """
        displayed, pool = await connect(url, connections)
        try:
            await prepare(pool, displayed, is_written=is_written)
        except BaseException:
            await pool.close()
            raise
        store = cls(displayed, pool, now, reads)
        store._dsn, store._is_pooled = url, read_address(url).is_pooled
        return store

    def on_change(self, listener: Callable[[str], None]) -> None:
        """See `Store.on_change`."""
        super().on_change(listener)
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(
                listen(self._dsn, self._receive)
            )

    def heartbeat_connection(self, worker: str) -> HeartbeatConnection | None:
        """See `Store.heartbeat_connection`."""
        return PostgresHeartbeat(self._dsn, worker)

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """See `Store.put_blob_part`. Every part is durable at once."""
        await self.write(files.put_part, blob, number, data)

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """See `Store.blob_part`."""
        return await self.read(files.part, blob, number)

    async def delete_blob_parts(self, blob: str) -> None:
        """See `Store.delete_blob_parts`."""
        while await self.write(files.delete_parts, blob, PARTS_AT_ONCE) == PARTS_AT_ONCE:
            pass

    async def _measure_skew(self) -> float | None:
        """Compare this process's clock with the database's."""
        self._refuse_closed()

        async def read(connection: Any, _: Attempt) -> tuple[float, float]:
            async with (
                connection.transaction()
            ):  # behind a pooler, a connection lasts for one transaction
                before = self.clock.process_now()
                theirs = float(await connection.fetchval(_CLOCK))
                after = self.clock.process_now()
            return (before + after) / 2 - theirs, after - before

        skew, took = await self._retrying(read)
        if took > SLOW:
            return None
        self.clock.correct(skew, -skew)
        return float(skew)

    async def _find_position(self) -> StorePosition | None:

        async def read(connection: Any, _: Attempt) -> StorePosition | None:
            try:
                return StorePosition(*await connection.fetchrow(_POSITION))
            except _NO_POSITION:
                return None

        self._refuse_closed()
        found: StorePosition | None = await self._retrying(read)
        return found

    async def _release(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await self._pool.close()
        self._pool.terminate()

    async def _save_plainly(self, response: StoredResponse) -> None:
        self._refuse_closed()
        if len(self._saves) >= MOST_WAITING:
            raise StoreError("The store is overloaded: too many writes are waiting.")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._saves.append((response, future))
        if not self._is_saving:
            self._is_saving = True
            self._save(self._save_all())
        await future

    async def _save_all(self) -> None:
        """Save in batches: saves that arrive during one batch form the next batch."""
        try:
            while self._saves:
                count = self._count_fitting()
                if count < len(self._saves):
                    self._saves = in_turns(self._saves, lambda save: save[0].tenant)
                    count = self._count_fitting()
                batch = self._saves[:count]
                self._saves = self._saves[count:]
                try:
                    await self._together([response for response, _ in batch])
                except StoreError as error:
                    await self._one_by_one(batch, error)
                for _, future in batch:
                    if not future.done():
                        future.set_result(None)
        finally:
            self._is_saving = False

    def _count_fitting(self) -> int:
        return max(1, _fitting([response for response, _ in self._saves[:BATCH]]))

    async def _one_by_one(self, batch: Sequence[_Save], trouble: StoreError) -> None:
        """Save each response alone.

        If one has invalid data, only that one fails; if the database fails, all fail.
        """
        is_everybodys = len(batch) == 1 or not is_about_data(trouble)
        for response, future in batch:
            try:
                if is_everybodys:
                    raise trouble
                await self._together([response])
            except StoreError as error:
                if not future.done():
                    future.set_exception(error)

    async def _together(self, responses: Sequence[StoredResponse]) -> None:
        newest = {response.id: response for response in responses}
        new = await self._save_new(list(newest.values())) if _fitting(responses) else set()
        for known in newest.keys() - new:
            response = newest[known]
            act = Act(save_alone, self.clock, (response, False, None))
            await self._in_transaction(performing(act), response.tenant)

    async def _save_new(self, responses: Sequence[StoredResponse]) -> set[str]:
        tenants = {response.tenant for response in responses}
        tenant = tenants.pop() if len(tenants) == 1 else None

        async def save(connection: Any, _: Attempt) -> set[str]:
            if not self._is_pooled:
                await connection.see(tenant)
                return await save_together(connection, responses)
            async with connection.transaction():
                await connection.see_here(tenant)
                return await save_together(connection, responses)

        saved: set[str] = await self._retrying(save)
        return saved

    async def _perform_write(self, act: Act[R], *, frees: bool) -> R:
        """Run an operation that completes even if its caller is cancelled."""
        self._refuse_closed()
        return await asyncio.shield(self._save(self._in_transaction(performing(act), act.tenant)))

    async def _perform_read(self, act: Act[R]) -> R:
        try:
            return await self._read_by(performing(act, is_patient=False), act.tenant)
        except LargeReadError:
            return await self._read_much(act)

    async def _read_much(self, act: Act[R]) -> R:
        """Wait for a turn without holding a connection, then read."""
        tenant = act.tenant
        try:
            async with self._reads.slot(tenant or ""):
                return await self._read_by(performing(act), tenant)
        except NoRoomError as error:
            raise StoreError(OVERLOADED) from error

    async def _read_by(self, read: Callable[[Any], Awaitable[R]], tenant: str | None) -> R:
        """Read over a connection, with any statements."""
        self._refuse_closed()
        if (
            self._is_pooled
        ):  # a prepared statement is only valid on its connection, which lasts for a transaction
            return await self._in_transaction(read, tenant)

        async def perform(connection: Any, _: Attempt) -> R:
            await connection.see(tenant)
            return await read(connection)

        result: R = await self._retrying(perform)
        return result

    async def _in_transaction(self, act: Callable[[Any], Awaitable[R]], tenant: str | None) -> R:
        async def perform(connection: Any, attempt: Attempt) -> R:
            if not self._is_pooled:
                await connection.see(tenant)
            transaction = connection.transaction()
            await transaction.start()
            try:
                if self._is_pooled:
                    await connection.see_here(tenant)
                result = await act(connection)
            except BaseException:
                with suppress(*TROUBLE):
                    await transaction.rollback()
                raise
            attempt.is_decided = True
            await transaction.commit()
            return result

        result: R = await self._retrying(perform)
        return result

    async def _retrying(self, act: Callable[[Any, "Attempt"], Awaitable[Any]]) -> Any:
        """Retry after a conflict or a broken connection, unless the operation may have been
        committed.
        """
        for left in reversed(range(TRIES)):
            attempt = Attempt()
            try:
                async with self._pool.acquire(timeout=PATIENCE) as connection:
                    return await use(connection, act, attempt)
            except TROUBLE as error:
                if not left or attempt.is_decided or not is_worth_a_retry(error):
                    failure = store_error(error)
                    self._is_disk_full |= failure.is_disk_full
                    raise failure from error
                await asyncio.sleep(0.02 * 2 ** (TRIES - left))
        raise AssertionError  # the last attempt returns or raises

    def _save(self, work: Coroutine[Any, Any, R]) -> "asyncio.Task[R]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # the waiting caller receives it; without one, there is nothing to report
            task.exception()

    def _announce(self, changed: str) -> None:
        super()._announce(changed)
        if self._listeners:
            self._news.append(changed)
            if len(self._news) == 1:
                self._save(self._notify())

    async def _notify(self) -> None:
        """Notify the other replicas of all pending changes together."""
        await asyncio.sleep(0)
        news = self._news
        self._news = []
        try:
            async with self._pool.acquire(timeout=5) as connection:
                report = "SELECT pg_notify($1, id) FROM unnest($2::text[]) AS id"
                await connection.execute(report, CHANNEL, list(dict.fromkeys(news)))
        except TROUBLE as error:
            log.debug("Failed to notify other replicas of a change: %s", error)

    def _receive(self, changed: str) -> None:
        super()._announce(changed)


def _fitting(responses: Sequence[StoredResponse]) -> int:
    """Return how many of the first responses fit into one statement."""
    return fitting(responses, BATCH_ITEMS, BATCH_BYTES)
