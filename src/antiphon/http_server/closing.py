"""How an HTTP connection ends: a request is rejected, the client disconnects, is too slow, or stops
reading.

After a rejection the server reads and discards input for a moment: closing a socket while the
client still sends would discard the reply.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from antiphon.http_server.asgi import ConnectionSlots
from antiphon.http_server.cycle import RequestCycle

HEAD_TIMEOUT = 10.0
"""Seconds from a connection, or a request's first byte, to the end of its headers."""

UNREAD = 120.0
"""Seconds for which a client may leave sent data unread."""

LAST_WORDS = 5.0
"""Seconds for a client to read a rejection while it is still sending."""

MAX_LEAVING = 256
"""Connections that can have this time at once, to receive the error that too many are open."""

STATUS_LINES = {
    400: b"HTTP/1.1 400 Bad Request\r\n",
    408: b"HTTP/1.1 408 Request Timeout\r\n",
    426: b"HTTP/1.1 426 Upgrade Required\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
    500: b"HTTP/1.1 500 Internal Server Error\r\n",
    503: b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n",
}

KINDS: Mapping[int, dict[str, str]] = {
    500: {"type": "server_error"},
    503: {"type": "service_unavailable_error", "code": "server_is_overloaded"},
}
"""What the error of a status has instead of the type of a client's mistake."""


class RejectedRequest(Exception):  # noqa: N818 - the client's error, which the parser only forwards
    """Valid HTTP that is rejected with `status`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(slots=True)
class ConnectionLimits:
    """The shared state of a process's connections."""

    most: int
    """The limit of connections."""
    room: int
    """The limit for received bytes of incomplete WebSocket messages."""
    leaving: int = 0
    """Connections that are only open until the client has read their final error."""
    pending: int = 0
    """Received bytes of incomplete WebSocket messages."""


class ClosingConnection(asyncio.Protocol):
    """A connection with its requests, and its ways to end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: ConnectionLimits) -> None:
        self.loop = loop
        self._limits = limits
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self.tenant = ""
        """The tenant of the last request with an API key."""
        self._slots: ConnectionSlots | None = None
        """The count of this tenant's connections."""
        self.cycle: RequestCycle | None = None
        """The last request."""
        self._answered: RequestCycle | None = None
        """The running request."""
        self._pipeline: deque[RequestCycle] = deque()
        self._retained = b""
        """Bytes after the waiting requests, unparsed while requests wait."""
        self.is_read_paused = False
        self.writable: asyncio.Event | None = None
        """Set when the client reads again; None while it does."""
        self._in_head = self._in_body = self._is_leaving = self._is_one_too_many = False
        self._idle_until = 0.0
        """When a connection without a request is closed; 0 while there is one."""
        self._idle_timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None

    def resume_reading(self) -> None:
        """Resume reading from the client, unless unparsed bytes are left."""
        if self._retained:
            return
        self.is_read_paused = False
        self.transport.resume_reading()
        if self._in_head:
            self._set_deadline()

    def belong(self, tenant: str, slots: ConnectionSlots) -> bool:
        """Count for this tenant until the connection ends; return whether the tenant may have one
        more.
        """
        if self.transport.is_closing():
            return True
        if not slots.take(tenant):
            return False
        self._leave_tenant()
        self.tenant = tenant
        self._slots = slots
        return True

    def close(self) -> None:
        """End the connection after a reply, and let the client read the reply while it may still be
        sending.
        """
        if self._is_leaving or self.transport.is_closing():
            return
        if self._in_body:
            self._leave()
        else:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._limits.leaving -= self._is_leaving
        self._leave_tenant()
        self._clear_deadline()
        self._clear_end()
        self._clear_idle()
        self._disconnect()
        if self.cycle is not None:
            self.cycle.wake()
        self._resume_sending()
        self.cycle = None  # breaks a reference cycle that would keep the request
        if exc is None:
            self.transport.close()

    def eof_received(self) -> None:
        """The client has stopped sending: asyncio closes the connection after the client has read
        the sent data.
        """
        if not self._is_leaving:
            self._abort_in(UNREAD)

    def pause_writing(self) -> None:
        """The client does not read the sent data."""
        if self.writable is None:
            self.writable = asyncio.Event()
        self._abort_in(UNREAD)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._resume_sending()
        if not (self._is_leaving or self.transport.is_closing()):
            self._clear_end()

    def _leave_tenant(self) -> None:
        if self._slots is not None:
            self._slots.leave(self.tenant)
        self.tenant = ""
        self._slots = None

    def _resume_sending(self) -> None:
        if self.writable is not None:
            self.writable.set()
            self.writable = None

    # A connection or a request is rejected.

    def _open(self, count: int) -> None:
        """Wait for a request, unless the connections are too many; `count` are open."""
        too_many = count - self._limits.most
        if too_many <= 0:
            self._set_deadline()
        elif too_many <= MAX_LEAVING:
            # The error follows the client's first request: a client does not read an earlier one
            # as its answer.
            self._is_one_too_many = True
            self._abort_in(LAST_WORDS)
        else:
            self.transport.abort()

    def _refuse(self, status: int, message: str) -> None:
        if self._is_leaving or self.transport.is_closing():
            return
        can_be_reported = self._can_be_notified()
        self._disconnect()
        if not can_be_reported:
            self._finish()
            return
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        error |= KINDS.get(status, {})
        body = msgspec.json.encode({"error": error})
        head = (
            b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
            % len(body)
        )
        self.transport.write(STATUS_LINES[status] + head + body)
        self._leave()

    def _can_be_notified(self) -> bool:
        """Whether the client would read a reply now as the reply to the invalid request."""
        if self.cycle is None or self.cycle.response_complete:
            return not (self._in_body and self.cycle is not None)
        return self._in_body and not self.cycle.response_started and not self._pipeline

    def _disconnect(self) -> None:
        """Notify the application that the client has disconnected."""
        self._drop_waiting()
        for cycle in (self._answered, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnect()
        self._answered = None

    def _drop_waiting(self) -> None:
        self._pipeline.clear()
        self._retained = b""

    def _leave(self) -> None:
        self._is_leaving = True
        self._limits.leaving += 1
        self._clear_deadline()
        self._clear_idle()
        self._drop_waiting()
        self._in_head = False
        if self._limits.leaving > MAX_LEAVING or not self.transport.can_write_eof():
            self._finish()
            return
        if self.is_read_paused:
            self.resume_reading()
        self.transport.write_eof()
        self._abort_in(LAST_WORDS)

    def _finish(self) -> None:
        self.transport.close()
        self._abort_in(UNREAD)

    # Time limits of clients.

    def _expire(self) -> None:
        """Close a connection without another request.

        One timer serves many waits: it checks again.
        """
        self._idle_timer = None
        if not self._idle_until:
            return
        if self.loop.time() < self._idle_until:
            self._idle_timer = self.loop.call_at(self._idle_until, self._expire)
            return
        if not self.transport.is_closing():
            self.transport.close()
        self._abort_in(UNREAD)

    def _clear_idle(self) -> None:
        self._idle_until = 0.0
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _set_deadline(self) -> None:
        if self._deadline is None:
            text = "The request timed out: its headers arrived too slowly. Try again."
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self._refuse, 408, text)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort_in(self, seconds: float) -> None:
        self._clear_end()
        self._end = self.loop.call_later(seconds, self.transport.abort)

    def _clear_end(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
