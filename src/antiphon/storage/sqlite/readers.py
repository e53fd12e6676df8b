"""Threads for large reads. Each has its own connection, so that it blocks neither the event loop
nor the writer.

A fair scheduler decides how many reads run concurrently, and which tenant is next.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from antiphon.errors import StoreError
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.storage.act import Act
from antiphon.storage.large_reads import OVERLOADED
from antiphon.storage.operations.step import R
from antiphon.storage.sqlite import rows
from antiphon.storage.sqlite.forks import forks


class Readers:
    """Runs large reads. `connect` opens a connection. Threads are started on demand."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], reads: FairScheduler) -> None:
        self._connect = connect
        self._reads = reads
        self._threads = ThreadPoolExecutor(
            reads.capacity or None, thread_name_prefix="antiphon-read"
        )
        self._own = threading.local()
        self._open: list[sqlite3.Connection] = []

    async def read(self, act: Act[R]) -> R:
        """Run an operation on a consistent snapshot of the database.

        Raises `sqlite3.Error` and `StoreError`.
        """
        tenant = act.tenant or ""
        try:
            await self._reads.enter(tenant)
        except NoRoomError as error:
            raise StoreError(OVERLOADED) from error
        reading = asyncio.get_running_loop().run_in_executor(self._threads, self._perform, act)
        reading.add_done_callback(lambda done: self._end(tenant, done))
        await asyncio.wait([reading])  # it continues if the caller is cancelled
        return reading.result()

    async def close(self) -> None:
        """Finish pending reads and close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._open:
            connection.close()

    def _perform(self, act: Act[R]) -> R:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            gate = self._own.gate = forks.new_gate()
            with gate:
                connection = self._own.connection = self._connect()
            self._open.append(connection)
        with self._own.gate:
            return rows.perform_alone(connection, act, is_patient=True)

    def _end(self, tenant: str, done: "asyncio.Future[Any]") -> None:
        self._reads.leave(tenant)
        with suppress(asyncio.CancelledError):
            # retrieved, so that asyncio does not log it if the caller was cancelled
            done.exception()
