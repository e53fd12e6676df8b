"""A worker's heartbeat in PostgreSQL, over a separate connection and event loop."""

import asyncio
from typing import Any

import asyncpg

from antiphon.storage.postgres.address import read_address
from antiphon.storage.postgres.link import STATEMENT_TIMEOUT, TROUBLE, settle, store_error
from antiphon.storage.sql import QUERIES


class PostgresHeartbeat:
    """See `HeartbeatConnection`. The first heartbeat opens it, and the next after a failure."""

    def __init__(self, url: str, worker: str) -> None:
        self._url = url
        self._worker = worker
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Any = None

    def beat(self) -> None:
        """See `HeartbeatConnection.beat`."""
        if self._loop is None:
            self._loop = asyncio.SelectorEventLoop()
        try:
            self._loop.run_until_complete(self._beat())
        except TROUBLE as error:
            self._drop()
            raise store_error(error) from error

    def close(self) -> None:
        """See `HeartbeatConnection.close`."""
        self._drop()
        if self._loop is not None:
            self._loop.run_until_complete(
                asyncio.sleep(0)
            )  # the transport closes in the next step of the loop
            self._loop.close()
            self._loop = None

    async def _beat(self) -> None:
        if self._connection is None:
            address = read_address(self._url)
            self._connection = await asyncpg.connect(
                address.dsn,
                timeout=address.connect_timeout,
                command_timeout=STATEMENT_TIMEOUT,
                statement_cache_size=0,
            )
            await settle(self._connection)
        async with (
            self._connection.transaction()
        ):  # behind a pooler, a connection lasts for one transaction
            await self._connection.execute(QUERIES["beat"], self._worker)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
