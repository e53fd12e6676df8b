"""One connection to a backend. Without an exchange it is idle, and any byte ends it."""

import asyncio
import ssl
from typing import Protocol, cast

from antiphon.upstream.http1.errors import ProtocolError
from antiphon.upstream.http1.response import BODY, HEAD, ResponseParser

MAX_HELD = 256 * 1024
"""Bytes of a body that may wait for their reader before the connection is read no further."""


class Pool(Protocol):
    """Keeps connections while they are idle."""

    def opened(self, connection: "Connection") -> None: ...
    def freed(self, connection: "Connection", keep_alive: str) -> None: ...
    def closed(self, connection: "Connection") -> None: ...


class Receiver(Protocol):
    """The exchange that a connection is used by."""

    response: ResponseParser
    waiter: asyncio.Future[None] | None

    def fail(self, error: Exception) -> None: ...
    def lost(self, error: Exception | None) -> None: ...
    def is_behind(self) -> None: ...


class Connection(asyncio.Protocol):
    """A connection to a backend, as asyncio reports on it."""

    __slots__ = (
        *("exchange", "has_served", "held", "is_cut", "is_paused", "last", "loop"),
        *("expires", "pool", "transport"),
    )

    transport: asyncio.Transport

    def __init__(self, pool: Pool, loop: asyncio.AbstractEventLoop) -> None:
        self.pool = pool
        self.loop = loop
        self.exchange: Receiver | None = None
        self.has_served = False
        self.held = 0
        self.is_paused = False
        self.is_cut = False
        """Whether the end of the connection would not be an end in order: TLS has not said that it is."""
        self.last = 0.0
        """When the exchange got its last bytes, in the loop's time; 0 before its first."""
        self.expires = 0.0
        """When it is idle for too long."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.is_cut = transport.get_extra_info("ssl_object") is not None
        self.pool.opened(self)

    def data_received(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            self.abort()  # a response to no request: it must not become that of the next one
            return
        response = exchange.response
        try:
            response.feed(data)
        except ProtocolError as error:
            exchange.fail(error)
            return
        self.last = self.loop.time()
        if response.phase == BODY:
            self.held += len(data)
            if self.held > MAX_HELD:
                exchange.is_behind()
        waiter = exchange.waiter
        if waiter is not None and response.phase != HEAD:
            exchange.waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def eof_received(self) -> None:
        """The backend sends no more; the transport closes then. uvloop says so of TLS only if it ended in order."""
        if self.is_cut:
            self.is_cut = not _has_ended(self.transport.get_extra_info("ssl_object"))

    def connection_lost(self, error: Exception | None) -> None:
        self.pool.closed(self)
        exchange = self.exchange
        if exchange is not None:
            exchange.lost(error)

    def abort(self) -> None:
        """Close at once."""
        self.transport.abort()

    def pause(self) -> None:
        """Read nothing until `resume`."""
        if not self.is_paused and not self.transport.is_closing():
            self.is_paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        self.is_paused = False
        self.last = self.loop.time()  # this silence was ours
        if not self.transport.is_closing():
            self.transport.resume_reading()


def _has_ended(tls: ssl.SSLObject) -> bool:
    """Return whether the other side said by `close_notify` that it sends no more."""
    try:
        return not tls.read(1)
    except ssl.SSLZeroReturnError:
        return True
    except ssl.SSLError:
        return False
