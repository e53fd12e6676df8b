"""One connection to a backend, and the reader of the response that arrives on it.

bytes ──> Connection ──> ResponseParser ──> parts ──> ResponseReader ──> the iterator of the body

Without a reader the connection is idle, and any byte closes it. Two limits apply to a response:
`MAX_BUFFERED` bytes that no reader has consumed pause the reading, and silence beyond its time
limit fails it.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from antiphon.upstream.http1.filters import MASK, Inflate, Mask
from antiphon.upstream.http1.response import (
    BODY,
    DONE,
    HEAD,
    BrokenError,
    ProtocolError,
    ResponseParser,
    SilenceError,
    UncleanEndError,
)

MAX_BUFFERED = 256 * 1024
"""Bytes of a body that can wait for their reader before reading from the connection pauses."""

RACE = 1.0
"""Seconds after a request within which the end of its connection is a race with it, not a crash."""

POLL_INTERVAL = 1.0
"""Seconds between two checks for silence while no reader waits for bytes."""

TAIL = 64
"""Minimum bytes at the end of a body that are retained: its last line can arrive in several
parts.
"""

Fault = Callable[[Exception], Exception]
"""Converts a failure to the error that the reader of the body receives."""


class Beginning(Protocol):
    """Knows whether an answer has begun: its first bytes can be without content."""

    @property
    def has_begun(self) -> Callable[[], bool]: ...


class Pool(Protocol):
    """Holds connections while they are idle."""

    def opened(self, connection: "BackendConnection") -> None: ...
    def freed(self, connection: "BackendConnection", keep_alive: str) -> None: ...
    def closed(self, connection: "BackendConnection") -> None: ...


class BackendConnection(asyncio.Protocol):
    """A connection to a backend, as an asyncio protocol."""

    __slots__ = (
        *("expires", "is_reused", "retained", "is_cut", "is_paused", "last", "loop"),
        *("pool", "reader", "transport"),
    )

    transport: asyncio.Transport

    def __init__(self, pool: Pool, loop: asyncio.AbstractEventLoop) -> None:
        self.pool = pool
        self.loop = loop
        self.reader: ResponseReader | None = None
        self.is_reused = False
        self.retained = 0
        self.is_paused = False
        self.is_cut = False
        """Whether the end of the connection would be unclean: TLS has not sent `close_notify`."""
        self.last = 0.0
        """When the response received its last bytes, in the loop's time; 0 before its first."""
        self.expires = 0.0
        """When it has been idle for too long."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.is_cut = transport.get_extra_info("ssl_object") is not None
        self.pool.opened(self)

    def data_received(self, data: bytes) -> None:
        reader = self.reader
        if reader is None:
            # a response without a request: it must not become the response to the next one
            self.abort()
            return
        response = reader.response
        try:
            response.feed(data)
        except ProtocolError as error:
            reader.fail(error)
            return
        self.last = self.loop.time()
        if response.phase == BODY:
            self.retained += len(data)
            if self.retained > MAX_BUFFERED and not reader.is_leaving:
                self.pause()
        waiter = reader.waiter
        if waiter is not None and response.phase != HEAD:
            reader.waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def eof_received(self) -> None:
        """The backend sends no more; the transport then closes. uvloop calls this for TLS only
        after a clean end.
        """
        if self.is_cut:
            self.is_cut = not _has_ended(self.transport.get_extra_info("ssl_object"))

    def connection_lost(self, error: Exception | None) -> None:
        self.pool.closed(self)
        if self.reader is not None:
            self.reader.lost(error)

    def abort(self) -> None:
        """Close at once."""
        self.transport.abort()

    def pause(self) -> None:
        """Pause reading until `resume`."""
        if not self.is_paused and not self.transport.is_closing():
            self.is_paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        self.is_paused = False
        self.last = self.loop.time()  # this side caused the silence
        if not self.transport.is_closing():
            self.transport.resume_reading()


class ResponseReader:
    """The response to one request: its connection feeds it, one reader consumes its body part by
    part or at once.

    `fault` converts an error for its reader. `watch` knows when the answer has begun: until then
    the first bytes have until `deadline`, afterwards each silence can last `idle` seconds.
    """

    __slots__ = (
        *(
            "connection",
            "response",
            "waiter",
            "error",
            "watch",
            "fault",
            "is_leaving",
            "may_repeat",
        ),
        *("_deadline", "_idle", "_inflate", "_is_begun", "_mask", "_sent", "_tail", "_timer"),
    )

    def __init__(self, connection: BackendConnection, deadline: float) -> None:
        self.connection: BackendConnection | None = connection
        self.response = ResponseParser()
        self.error: Exception | None = None
        self.is_leaving = False
        """Whether the body is no longer read: only the end of the response is awaited."""
        self.may_repeat = False
        """Whether the request was lost in a race: its connection was reused, and closed before any
        byte arrived.
        """
        self.watch: Beginning | None = None
        self.fault: Fault = _as_it_is
        self._mask: Mask | None = None
        self._inflate: Inflate | None = None
        self._deadline = deadline
        self._idle = 0.0
        self._is_begun = False
        self._tail = b""
        loop = connection.loop
        connection.reader = self
        connection.retained = 0
        connection.last = 0.0
        self._sent = loop.time()
        self._timer = loop.call_at(deadline, self._poll)
        self.waiter: asyncio.Future[None] | None = loop.create_future()

    def __aiter__(self) -> "ResponseReader":
        return self

    async def __anext__(self) -> bytes:
        response = self.response
        parts = response.parts
        while True:
            connection = self.connection
            if connection is None:
                raise StopAsyncIteration
            if parts or self._inflate is not None:
                part = b""
                if self._inflate is None or not self._inflate.has_more:
                    part = parts[0] if len(parts) == 1 else b"".join(parts)
                    parts.clear()
                    connection.retained = 0
                    if connection.is_paused:
                        connection.resume()
                if self._inflate is not None:
                    part = self._inflated(self._inflate, part)
                mask = self._mask
                if mask is not None and (mask.retained or part[-1:] != b"\n" or mask.key in part):
                    part = mask.feed(part)  # most parts end with a line, and no key does
                if part:
                    self._tail = part if len(part) >= TAIL else self._tail[-TAIL:] + part
                    return part
            if self.error is not None:
                self._raise(self.error)
            if response.phase == DONE:
                return self._rest()
            if (
                not self._is_begun
                and self._tail
                and self.watch is not None
                and self.watch.has_begun()
            ):
                self._begin(connection)
            self.waiter = waiter = connection.loop.create_future()
            await waiter

    async def read(self, limit: int) -> bytes | None:
        """Return the whole body; None if it is larger than `limit` bytes."""
        if self.response.phase == DONE and self._inflate is None and not self._tail:
            body = b"".join(self.response.parts)
            self.response.parts.clear()
            if self._mask is not None and self._mask.key in body:
                body = body.replace(self._mask.key, MASK)
            self._tail = body
            return body if len(body) <= limit else None
        parts = []
        size = 0
        async for part in self:
            parts.append(part)
            size += len(part)
            if size > limit:
                return None
        return b"".join(parts)

    def fail(self, error: Exception) -> None:
        """The response failed: its connection is not reused, its reader receives the error."""
        connection = self.connection
        if self.error is not None or connection is None:
            return
        self.error = error
        connection.abort()
        self._wake()

    def lost(self, error: Exception | None) -> None:
        """The connection was closed."""
        self.response.keeps_alive = False
        connection = self.connection
        if self.error is not None or connection is None or self.response.phase == DONE:
            return
        is_end = error is None and not connection.is_cut and self.response.end()
        if not is_end:
            self.error = self._broken(connection, error)
            is_soon = connection.loop.time() - self._sent < RACE
            self.may_repeat = connection.is_reused and not connection.last and is_soon
        self._wake()

    def _inflated(self, inflate: Inflate, part: bytes) -> bytes:
        try:
            inflated = inflate.feed(part)
            if not inflated and self.response.phase == DONE:
                inflate.check_end()
                self._inflate = None
        except ProtocolError as error:
            raise self.fault(error) from error
        return inflated

    def _rest(self) -> bytes:
        """Return the bytes that the mask held back at the end, once."""
        rest = self._mask.rest() if self._mask is not None else b""
        if not rest:
            raise StopAsyncIteration
        self._tail += rest
        return rest

    def _raise(self, error: Exception) -> None:
        """Raise unless the body is complete by its own framing, although its end was unclean."""
        is_json = "json" in self.response.headers.get("content-type", "")
        end = self._tail.rstrip()
        if isinstance(error, UncleanEndError) and (
            end.endswith(b"[DONE]") or (is_json and end.endswith(b"}"))
        ):
            raise StopAsyncIteration
        raise self.fault(error) from error

    # Silence.

    def _begin(self, connection: BackendConnection) -> None:
        """The answer has begun: from now on each silence is measured separately."""
        self._is_begun = True
        self._timer.cancel()
        self._timer = connection.loop.call_at(connection.last + self._idle, self._poll)

    def _poll(self) -> None:
        """One timer that checks when the last byte arrived: resetting it for every read costs more
        than the read.
        """
        connection = self.connection
        if connection is None or self.error is not None or self.response.phase == DONE:
            return
        now = connection.loop.time()
        due = connection.last + self._idle if self._is_begun else self._deadline
        if self.waiter is None:
            self._timer = connection.loop.call_later(
                POLL_INTERVAL, self._poll
            )  # its reader is slow, not the backend
        elif due > now:
            self._timer = connection.loop.call_at(due, self._poll)
        else:
            self.fail(SilenceError(has_begun=self._is_begun))

    def _broken(self, connection: BackendConnection, error: Exception | None) -> BrokenError:
        response = self.response
        if error is None and response.phase == BODY and not response.is_delimited:
            return UncleanEndError("TLS ended without a close_notify")
        broken = BrokenError("the connection was closed before the response")
        broken.__cause__ = error
        return broken

    def _wake(self) -> None:
        waiter = self.waiter
        self.waiter = None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _has_ended(tls: ssl.SSLObject) -> bool:
    """Return whether the other side announced by `close_notify` that it sends no more."""
    try:
        return not tls.read(1)
    except ssl.SSLZeroReturnError:
        return True
    except ssl.SSLError:
        return False


def _as_it_is(error: Exception) -> Exception:
    return error
