"""The requests to one backend, and the connections that serve them one after the other.

ConnectionPool.send() ──> Exchange, with a connection of its own ──> aclose() ──> idle, or closed

The newest idle connection is used first: it is the least likely to be closed.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Self

from antiphon.upstream.http1.connect import ConnectError, Connector
from antiphon.upstream.http1.connection import BackendConnection, Beginning, Fault, ResponseReader
from antiphon.upstream.http1.filters import Mask, inflate_of
from antiphon.upstream.http1.response import BODY, DONE, BrokenError, ProtocolError

IDLE = 4.0
"""Seconds that a connection can be idle: uvicorn, Node and llama.cpp close theirs after five."""

MARGIN = 1.0
"""Seconds before a backend's own limit (`Keep-Alive: timeout`) at which a connection is not reused
any more.
"""

MAX_IDLE = 60.0
"""Maximum seconds that a connection can be idle, regardless of the backend's limit."""

LEAVE_TIMEOUT = 1.0
"""Seconds that a backend has between `[DONE]` and the end of its response."""

_TIMEOUT = re.compile(r"timeout\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


class BackendExchange(ResponseReader):
    """A request and its response on one connection.

    It owns the connection from the request until `aclose`, which returns it to the pool if it can
    be reused, and closes it otherwise.
    """

    __slots__ = ()

    async def head(self) -> Self:
        """Wait for the head of the response. Raises the error of the connection."""
        try:
            if self.waiter is not None:
                await self.waiter
            if self.error is not None:
                raise self.error
        except BaseException:
            self.abort()
            raise
        return self

    def read_as(self, key: bytes, watch: Beginning | None, idle: float, fault: Fault) -> None:
        """Set how the body is read. Raises `ProtocolError` if its encoding is unknown."""
        self.fault = fault
        self.watch = watch
        self._idle = idle
        if key:
            self._mask = Mask(key)
        headers = self.response.headers
        if "content-encoding" in headers:
            try:
                self._inflate = inflate_of(headers["content-encoding"])
            except ProtocolError:
                self.abort()
                raise

    async def aclose(self) -> None:
        """End the exchange, whether or not the body was read to its end."""
        connection = self.connection
        if connection is None or self.is_leaving:
            return
        self.waiter = None
        if (
            self.response.phase == BODY
            and self.error is None
            and self._tail.rstrip().endswith(b"[DONE]")
        ):
            self._leave(connection)
        else:
            self._finish(connection)

    def abort(self) -> None:
        """End the exchange and its connection."""
        connection = self.connection
        if connection is not None:
            self._detach(connection)
            connection.abort()

    def _leave(self, connection: BackendConnection) -> None:
        """Only the end of the response is missing: wait for it briefly, so that the connection can
        be reused.
        """
        self.is_leaving = True
        self._timer.cancel()
        self._timer = connection.loop.call_later(LEAVE_TIMEOUT, self.abort)
        self._await_end(connection)
        if connection.is_paused:
            connection.resume()

    def _await_end(self, connection: BackendConnection) -> None:
        self.response.parts.clear()
        connection.retained = 0
        self.waiter = waiter = connection.loop.create_future()
        waiter.add_done_callback(self._has_left)

    def _has_left(self, waiter: "asyncio.Future[None]") -> None:
        """Bytes arrived after `[DONE]`, or the connection was closed."""
        connection = self.connection
        if connection is None:
            return
        if self.response.phase == BODY and self.error is None:
            self._await_end(connection)
        else:
            self._finish(connection)

    def _finish(self, connection: BackendConnection) -> None:
        """Return the connection to the pool, or close it."""
        response = self.response
        is_free = (
            response.phase == DONE
            and response.keeps_alive
            and self.error is None
            and not connection.is_paused
            and not connection.transport.get_write_buffer_size()
        )
        self._detach(connection)
        if is_free:
            connection.pool.freed(connection, response.headers.get("keep-alive", ""))
        else:
            connection.abort()

    def _detach(self, connection: BackendConnection) -> None:
        self._timer.cancel()
        self.waiter = self.watch = None
        self.response.release()
        self.connection = connection.reader = None


class ConnectionPool:
    """Sends requests to one backend, with as many connections as needed."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._loop = asyncio.get_running_loop()
        self._idle: list[BackendConnection] = []
        self._open: set[BackendConnection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._all_closed: asyncio.Future[None] | None = None

    @property
    def idle(self) -> int:
        """How many connections wait for a request."""
        return len(self._idle)

    async def send(self, data: Sequence[bytes], limit: float) -> BackendExchange:
        """Send a request; return once the head of its response has arrived, within `limit` seconds.

        It is sent again only if the connection had been used before and was closed before any byte
        arrived: some servers close an idle connection at any time. Nothing is sent after `close`
        was called. Raises an error of this package.
        """
        deadline = self._loop.time() + limit
        connection = self._take()
        if connection is not None:
            exchange = BackendExchange(connection, deadline)
            connection.transport.writelines(data)
            try:
                return await exchange.head()
            except BrokenError:
                if not exchange.may_repeat or self._is_closed:
                    raise
        connection = await self._connect()
        exchange = BackendExchange(connection, deadline)
        connection.transport.writelines(data)
        return await exchange.head()

    async def close(self) -> None:
        """Close every connection, and wait until they are."""
        self._is_closed = True
        self._connector.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._idle.clear()
        if self._open:
            self._all_closed = self._loop.create_future()
            for connection in self._open:
                connection.abort()
            await self._all_closed

    # Called by connections.

    def opened(self, connection: BackendConnection) -> None:
        self._open.add(connection)

    def freed(self, connection: BackendConnection, keep_alive: str) -> None:
        """A response is complete, and its connection can be reused, for the time in its
        `Keep-Alive`.
        """
        if self._all_closed is not None or connection.transport.is_closing():
            connection.abort()
            return
        connection.is_reused = True
        connection.expires = self._loop.time() + (_patience(keep_alive) if keep_alive else IDLE)
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(IDLE, self._sweep)

    def closed(self, connection: BackendConnection) -> None:
        self._open.discard(connection)
        if connection.reader is None and connection in self._idle:
            self._idle.remove(connection)
        if not self._open and self._all_closed is not None and not self._all_closed.done():
            self._all_closed.set_result(None)

    def _take(self) -> BackendConnection | None:
        idle = self._idle
        while idle:
            connection = idle.pop()
            if connection.expires > self._loop.time() and not connection.transport.is_closing():
                return connection
            connection.abort()
        return None

    async def _connect(self) -> BackendConnection:
        created: list[BackendConnection] = []

        def make() -> BackendConnection:
            created.append(BackendConnection(self, self._loop))
            return created[-1]

        try:
            self._check_open()
            connection = await self._connector.connect(make)
            self._check_open()
            return connection
        except BaseException:
            for connection in self._open.intersection(
                created
            ):  # opened at the moment when the last waiting request ended
                connection.abort()
            raise

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConnectError("the client is closed")

    def _sweep(self) -> None:
        """Close connections that were idle for too long."""
        now = self._loop.time()
        for connection in [one for one in self._idle if one.expires <= now]:
            self._idle.remove(connection)
            connection.abort()
        self._sweeper = self._loop.call_later(IDLE, self._sweep) if self._idle else None


def _patience(keep_alive: str) -> float:
    """Return for how many seconds a connection can be idle."""
    found = _TIMEOUT.search(keep_alive)
    return min(int(found[1]) - MARGIN, MAX_IDLE) if found else IDLE
