"""One request and its response on a connection.

An exchange has its connection from the request until `aclose`, which returns the connection to the pool if another
request may follow, and closes it otherwise.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from antiphon.upstream.http1.connection import Connection
from antiphon.upstream.http1.errors import (
    BrokenError,
    ProtocolError,
    SilenceError,
    UncleanEndError,
)
from antiphon.upstream.http1.filters import MASK, Inflate, Mask, inflate_of
from antiphon.upstream.http1.response import BODY, DONE, ResponseParser

LEAVE_TIMEOUT = 1.0
"""Seconds that a backend has between `[DONE]` and the end of its response."""

RACE = 1.0
"""Seconds after a request within which the end of its connection is one that crossed it, and no crash."""

LOOK_AGAIN = 1.0
"""Seconds between two checks for silence while no reader waits for bytes."""

TAIL = 64
"""Bytes at the end of a body that are kept at least: its last line may come in several parts."""

Fault = Callable[[Exception], Exception]
"""Makes of what went wrong the error that a body's reader gets."""


class Beginning(Protocol):
    """Knows whether an answer has begun: its first bytes may say nothing yet."""

    @property
    def has_begun(self) -> Callable[[], bool]: ...


class Exchange:
    """A request and its response, whose body it gives part by part or at once.

    `fault` makes of an error what its reader shall get. `watch` knows when the answer has begun: until then the first
    bytes have until `deadline`, from then on each silence may last `idle` seconds.
    """

    __slots__ = (
        *("connection", "response", "waiter", "error", "watch", "fault", "may_repeat"),
        *("_deadline", "_idle", "_inflate", "_is_begun", "_is_leaving", "_mask", "_sent", "_tail", "_timer"),
    )

    def __init__(self, connection: Connection, data: Sequence[bytes], deadline: float) -> None:
        self.connection: Connection | None = connection
        self.response = ResponseParser()
        self.error: Exception | None = None
        self.may_repeat = False
        """Whether the request was lost in a race: its connection had served, and ended before any byte came."""
        self.watch: Beginning | None = None
        self.fault: Fault = _as_it_is
        self._mask: Mask | None = None
        self._inflate: Inflate | None = None
        self._deadline = deadline
        self._idle = 0.0
        self._is_begun = False
        self._is_leaving = False
        self._tail = b""
        loop = connection.loop
        connection.exchange = self
        connection.held = 0
        connection.last = 0.0
        self._sent = loop.time()
        self._timer = loop.call_at(deadline, self._look)
        self.waiter: asyncio.Future[None] | None = loop.create_future()
        connection.transport.writelines(data)

    async def head(self) -> "Exchange":
        """Wait for the head of the response. Raises what went wrong."""
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
        """Say how the body is to be read. Raises `ProtocolError` where it is encoded in an unknown way."""
        self.fault, self.watch, self._idle = fault, watch, idle
        if key:
            self._mask = Mask(key)
        headers = self.response.headers
        if "content-encoding" in headers:
            try:
                self._inflate = inflate_of(headers["content-encoding"])
            except ProtocolError:
                self.abort()
                raise

    def __aiter__(self) -> "Exchange":
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
                    connection.held = 0
                    if connection.is_paused:
                        connection.resume()
                if self._inflate is not None:
                    part = self._inflated(self._inflate, part)
                mask = self._mask
                if mask is not None and (mask.held or part[-1:] != b"\n" or mask.key in part):
                    part = mask.feed(part)  # most parts end with a line, and no key does
                if part:
                    self._tail = part if len(part) >= TAIL else self._tail[-TAIL:] + part
                    return part
            if self.error is not None:
                self._raise(self.error)
            if response.phase == DONE:
                return self._rest()
            if not self._is_begun and self._tail and self.watch is not None and self.watch.has_begun():
                self._begin(connection)
            self.waiter = waiter = connection.loop.create_future()
            await waiter

    async def read(self, limit: int) -> bytes | None:
        """Return the whole body; None where it is larger than `limit` bytes."""
        if self.response.phase == DONE and self._inflate is None and not self._tail:
            body = b"".join(self.response.parts)
            self.response.parts.clear()
            if self._mask is not None and self._mask.key in body:
                body = body.replace(self._mask.key, MASK)
            self._tail = body
            return body if len(body) <= limit else None
        parts, size = [], 0
        async for part in self:
            parts.append(part)
            size += len(part)
            if size > limit:
                return None
        return b"".join(parts)

    async def aclose(self) -> None:
        """End the exchange, whether or not the body was read to its end."""
        connection = self.connection
        if connection is None or self._is_leaving:
            return
        self.waiter = None
        if self.response.phase == BODY and self.error is None and self._tail.rstrip().endswith(b"[DONE]"):
            self._leave(connection)
        else:
            self._finish(connection)

    def abort(self) -> None:
        """End the exchange and its connection."""
        connection = self.connection
        if connection is not None:
            self._detach(connection)
            connection.abort()

    def fail(self, error: Exception) -> None:
        """The exchange went wrong: its connection serves no longer, its reader gets the error."""
        connection = self.connection
        if self.error is not None or connection is None:
            return
        if self._is_leaving:
            self.abort()
            return
        self.error = error
        connection.abort()
        self._wake()

    def lost(self, error: Exception | None) -> None:
        """The connection ended."""
        self.response.keeps_alive = False
        connection = self.connection
        if self.error is not None or connection is None or self.response.phase == DONE:
            return
        is_end = error is None and not connection.is_cut and self.response.end()
        if not is_end:
            self.error = self._broken(connection, error)
            is_soon = connection.loop.time() - self._sent < RACE
            self.may_repeat = connection.has_served and not connection.last and is_soon
        self._wake()

    def is_behind(self) -> None:
        """More came than its reader takes: read no further."""
        connection = self.connection
        if connection is not None and not self._is_leaving:
            connection.pause()

    # Reading.

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
        """Return what the mask held back at the end, once."""
        rest = self._mask.rest() if self._mask is not None else b""
        if not rest:
            raise StopAsyncIteration
        self._tail += rest
        return rest

    def _raise(self, error: Exception) -> None:
        """Raise unless the body is whole by what it says itself, though its end was unclean."""
        is_json = "json" in self.response.headers.get("content-type", "")
        end = self._tail.rstrip()
        if isinstance(error, UncleanEndError) and (end.endswith(b"[DONE]") or (is_json and end.endswith(b"}"))):
            raise StopAsyncIteration
        raise self.fault(error) from error

    # Silence.

    def _begin(self, connection: Connection) -> None:
        """The answer has begun: from now on each silence counts for itself."""
        self._is_begun = True
        self._timer.cancel()
        self._timer = connection.loop.call_at(connection.last + self._idle, self._look)

    def _look(self) -> None:
        """One timer that looks when the last byte came: to arm it anew for every read costs more than the read."""
        connection = self.connection
        if connection is None or self.error is not None or self.response.phase == DONE:
            return
        now = connection.loop.time()
        due = connection.last + self._idle if self._is_begun else self._deadline
        if self.waiter is None:
            self._timer = connection.loop.call_later(LOOK_AGAIN, self._look)  # its reader is slow, not the backend
        elif due > now:
            self._timer = connection.loop.call_at(due, self._look)
        else:
            self.fail(SilenceError("the backend is silent"))

    # Its end.

    def _broken(self, connection: Connection, error: Exception | None) -> BrokenError:
        response = self.response
        if error is None and response.phase == BODY and not response.is_delimited:
            return UncleanEndError("TLS ended without a close_notify")
        broken = BrokenError("the connection ended before the response")
        broken.__cause__ = error
        return broken

    def _leave(self, connection: Connection) -> None:
        """All was said but the end of the response: wait for it a moment, so that the connection serves again."""
        self._is_leaving = True
        self._timer.cancel()
        self._timer = connection.loop.call_later(LEAVE_TIMEOUT, self.abort)
        self._await_end(connection)
        if connection.is_paused:
            connection.resume()

    def _await_end(self, connection: Connection) -> None:
        self.response.parts.clear()
        connection.held = 0
        self.waiter = waiter = connection.loop.create_future()
        waiter.add_done_callback(self._has_left)

    def _has_left(self, waiter: "asyncio.Future[None]") -> None:
        """Bytes came behind `[DONE]`, or the connection ended."""
        connection = self.connection
        if connection is None:
            return
        if self.response.phase == BODY and self.error is None:
            self._await_end(connection)
        else:
            self._finish(connection)

    def _finish(self, connection: Connection) -> None:
        """Give the connection back, or close it."""
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

    def _detach(self, connection: Connection) -> None:
        self._timer.cancel()
        self.waiter = self.watch = None
        self.response.release()
        self.connection = connection.exchange = None

    def _wake(self) -> None:
        waiter, self.waiter = self.waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _as_it_is(error: Exception) -> Exception:
    return error
