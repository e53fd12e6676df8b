"""uvicorn's HTTP/1.1, with the bounds that it lacks: on what is no body, on time, and on how many come at once."""

import asyncio
import sys
from typing import Any

import msgspec
from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from antiphon.server.crowd import Crowd

HEAD_TIMEOUT = 10.0
"""Seconds from a connection, or a request's first byte, to the end of its headers."""

MAX_HEAD = 64 * 1024
"""Bytes of a request's line and headers (node.js: 16 kB, nginx: 32 kB)."""

MAX_HEADERS = 100
"""Headers of a request."""

MAX_PIPELINED = 16
"""Requests of a connection that wait for the reply to an earlier one."""

PIECES = 16
"""Of a body that comes in chunks, bytes for each byte of their framing: a million chunks of one byte cost a second."""

UNREAD = 120.0
"""Seconds that a client may leave unread what it was sent."""

LAST_WORDS = 5.0
"""Seconds that a client has to read a refusal while it is still sending."""

MAX_LEAVING = 256
"""Connections that are given this time at once, and that may be told that they are too many."""

STATUS_LINES = {
    400: b"HTTP/1.1 400 Bad Request\r\n",
    408: b"HTTP/1.1 408 Request Timeout\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
    503: b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n",
}

FRAMING = {b"content-length", b"transfer-encoding"}

OVERLOADED = "The server has as many connections as it can take. Please try again later."


class Refused(Exception):  # noqa: N818 - the error is the client's, and the parser only passes it on
    """What came is HTTP, and is refused with `status`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class BoundedProtocol(HttpToolsProtocol):
    """One connection (threats: slow and endless heads, tiny chunks, trailers, pipelines, floods of connections).

    Who is refused is heard for a moment longer, and nothing of it looked at: whoever closes while the other side sends
    takes back what was said last.
    """

    def __init__(self, *args: Any, crowd: Crowd, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._crowd = crowd
        self._deadline: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None
        self._refused: Refused | None = None
        self._in_head = self._in_body = self._is_leaving = self._is_one_too_many = False
        self._is_resuming = False
        self._begun = self._wire = self._body = 0
        self._data = b""
        self._answered: Any = None
        """The request that is being answered; `cycle` is the last one that came."""

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        too_many = len(self.connections) - self._crowd.most
        if too_many <= 0:
            self._set_deadline()
        elif too_many <= MAX_LEAVING:
            # It is told when it asks: who hears something before does not take it for an answer.
            self._is_one_too_many = True
            self._abort_in(LAST_WORDS)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._crowd.leaving -= self._is_leaving
        self._clear_deadline()
        self._clear_end()
        self._disconnect()
        super().connection_lost(exc)
        if self.cycle is not None:
            self.cycle.transport = self.transport  # else they would hold each other, and the request with them

    def pause_writing(self) -> None:
        """The client does not read what it is sent."""
        super().pause_writing()
        self._abort_in(UNREAD)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if not self._is_leaving:
            self._clear_end()

    def timeout_keep_alive_handler(self) -> None:
        """The client asks for nothing more."""
        super().timeout_keep_alive_handler()
        self._abort_in(UNREAD)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._is_leaving:
            return
        if self._is_one_too_many:
            self._refuse(503, OVERLOADED)
            return
        was_idle = not (self._in_head or self._in_body)
        self._begun, self._data = 0, data
        super().data_received(data)
        self._data = b""
        if self._in_head or self._in_body:
            if self._begun == was_idle:  # all of it belongs to this request
                self._wire += len(data)
            self._check_size()

    def on_message_begin(self) -> None:
        """A request's first byte."""
        if self._is_resuming:
            return
        super().on_message_begin()
        self._in_head, self._begun = True, self._begun + 1
        self._wire = self._body = 0

    def on_url(self, url: bytes) -> None:
        """A part of a request's URL."""
        if not self._is_resuming:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. Trailers are left out: to the application they would look as if they had been at the beginning."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The last byte of a request's head."""
        if self._is_resuming:
            return
        self._clear_deadline()
        if len(self.headers) > MAX_HEADERS:
            raise self._refusal(431, f"The request has more than {MAX_HEADERS} headers.")
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD:
            raise self._too_large()
        if len(self.pipeline) >= MAX_PIPELINED:
            raise self._refusal(400, "Too many requests wait for the reply to an earlier one.")
        self._in_head, self._in_body = False, True
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self.cycle.transport = _Courteous(self)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        """A part of a request's body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request's last byte."""
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A reply's last byte."""
        if not self._is_leaving:
            super().on_response_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        """Pass over an upgrade that is not offered (Java's client asks for HTTP/2 each time).

        The parser takes what follows for the other protocol's and would lose the request's body, or, where that comes
        later, take it for another request. So one that is new is told how the body is framed, and goes on from there.
        """
        upgrade = sys.exception()
        framing = [b"%s: %s\r\n" % header for header in self.headers if header[0] in FRAMING]
        if framing:
            self._in_body = self.cycle.more_body = True
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
            self._is_resuming = True
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
            self._is_resuming = False
        if isinstance(upgrade, HttpParserUpgrade) and (rest := self._data[upgrade.args[0] :]):
            self._data = rest
            super().data_received(rest)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or what was refused while it was read."""
        refused = self._refused or Refused(400, msg)
        self._refuse(refused.status, refused.message)

    def close(self) -> None:
        """End the connection after a reply, and let the client read it though it may be sending still."""
        if self._in_body:
            self._leave()
        else:
            self._finish()

    def _check_size(self) -> None:
        framing = self._wire - self._body
        if self._in_head:
            # Only now: most heads come whole, and need no timer.
            self._set_deadline()
            if framing > MAX_HEAD:
                refused = self._too_large()
                self._refuse(refused.status, refused.message)
        elif framing > 2 * MAX_HEAD + self._body // PIECES:
            self._refuse(400, "The request's body comes in pieces that are too small.")

    def _too_large(self) -> Refused:
        return self._refusal(431, f"The request's headers are larger than {MAX_HEAD} bytes.")

    def _refusal(self, status: int, message: str) -> Refused:
        self._refused = Refused(status, message)
        return self._refused

    def _refuse(self, status: int, message: str) -> None:
        if self._is_leaving or self.transport.is_closing():
            return
        can_be_told = self._can_be_told()
        self._disconnect()
        if not can_be_told:
            self._finish()
            return
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        if status == 503:
            error |= {"type": "service_unavailable_error", "code": "server_is_overloaded"}
        body = msgspec.json.encode({"error": error})
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINES[status] + head + body)
        self._leave()

    def _can_be_told(self) -> bool:
        """Whether the client would take what is said now for the reply to the request at fault."""
        if self.cycle is None or self.cycle.response_complete:
            return not (self._in_body and self.cycle is not None)
        return self._in_body and not self.cycle.response_started and not self.pipeline

    def _leave(self) -> None:
        self._is_leaving = True
        self._crowd.leaving += 1
        self._clear_deadline()
        self._unset_keepalive_if_required()
        self.pipeline.clear()
        if self._crowd.leaving > MAX_LEAVING or not self.transport.can_write_eof():
            self._finish()
            return
        self.flow.resume_reading()
        self.transport.write_eof()
        self._abort_in(LAST_WORDS)

    def _disconnect(self) -> None:
        """Have the application notice that nobody waits for its reply any more."""
        self.pipeline.clear()
        for cycle in (self._answered, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self._answered = None

    def _finish(self) -> None:
        self.transport.close()
        self._abort_in(UNREAD)

    def _abort_in(self, seconds: float) -> None:
        self._clear_end()
        self._end = self.loop.call_later(seconds, self.transport.abort)

    def _clear_end(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def _set_deadline(self) -> None:
        if self._deadline is None:
            text = "The request's headers came too slowly."
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self._refuse, 408, text)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Courteous:
    """A connection as a reply sees it."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        self._protocol.close()
