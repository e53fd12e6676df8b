"""One request and its reply on a connection, with ASGI's `receive` and `send`."""

import asyncio
import http
import logging
import re
from typing import Any, Protocol

from antiphon.http_server.asgi import AsgiApp, Message

NAME = re.compile(b'[\x00-\x1f\x7f()<>@,;:\\[\\]={} \t\\\\"]')
VALUE = re.compile(b"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that no header name or value can contain."""

STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in http.HTTPStatus
}

BODILESS = frozenset({204, 304})

UNCHUNKED = frozenset({"0.9", "1.0"})
"""HTTP versions without chunked encoding: a reply of unknown length ends with the connection."""

FAULT = b"Internal Server Error"

_log = logging.getLogger("uvicorn.error")


class RequestConnection(Protocol):
    """The methods of a connection that a request needs."""

    transport: asyncio.Transport
    is_read_paused: bool
    writable: asyncio.Event | None
    state: Any
    """uvicorn's state, with the headers of every reply, such as `date`."""

    def resume_reading(self) -> None:
        """Resume reading from the client."""
        ...

    def close(self) -> None:
        """End the connection after a reply."""
        ...

    def end_reply(self) -> None:
        """A reply is complete."""
        ...


class RequestCycle:
    """One request. `parts` of its body, of `size` bytes, wait for `receive`; `has_news` is set when
    it can return.
    """

    __slots__ = (
        *(
            "scope",
            "connection",
            "keep_alive",
            "expects_continue",
            "parts",
            "size",
            "more_body",
            "has_news",
            "event",
        ),
        *(
            "disconnected",
            "response_started",
            "response_complete",
            "_is_chunked",
            "_is_until_close",
            "_head",
            "_left",
        ),
    )

    def __init__(
        self,
        scope: dict[str, Any],
        connection: RequestConnection,
        *,
        keep_alive: bool,
        expects_continue: bool,
    ) -> None:
        self.scope = scope
        self.connection = connection
        self.keep_alive = keep_alive
        self.expects_continue = expects_continue
        self.parts: list[bytes] = []
        self.size = 0
        self.more_body = True
        self.has_news = self.disconnected = self.response_started = self.response_complete = False
        self.event: asyncio.Event | None = None
        self._is_chunked = self._is_until_close = False
        self._head = b""
        """The head of the reply: it is sent with the first part of the body, in one write, as ASGI
        allows.
        """
        self._left = 0

    def wake(self) -> None:
        """Wake `receive`."""
        self.has_news = True
        if self.event is not None:
            self.event.set()

    def add(self, body: bytes) -> None:
        """A part of the body has arrived; most bodies have one."""
        self.parts.append(body)
        self.size += len(body)
        self.has_news = True
        if self.event is not None:
            self.event.set()

    def disconnect(self) -> None:
        """The client no longer waits for the reply, nor for permission to send the body."""
        self.disconnected = True
        self.expects_continue = False
        self.wake()

    async def run(self, app: AsgiApp) -> None:
        """Run the application. A reply that it aborts ends by closing the connection."""
        try:
            await app(self.scope, self.receive, self.send)
        except BaseException as error:
            _log.error("Exception in ASGI application\n", exc_info=error)
        else:
            if self.response_complete or self.disconnected:
                return
            if not self.response_started:
                _log.error("ASGI callable returned without starting response.")
        if not self.response_started:
            await self._send_fault()
            return
        if self._head:
            self.connection.transport.write(self._head)
        self.connection.close()

    async def receive(self) -> Message:
        """See the ASGI specification."""
        connection = self.connection
        if self.expects_continue and not connection.transport.is_closing():
            connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.expects_continue = False
        if not self.disconnected and not self.response_complete:
            if connection.is_read_paused:
                connection.resume_reading()
            while not self.has_news:
                await self._wait()
            self.has_news = False
            if self.event is not None:
                self.event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body = b"".join(self.parts)
        self.parts.clear()
        self.size = 0
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: Message) -> None:
        """See the ASGI specification. Waits while the client does not read."""
        while self.connection.writable is not None and not self.disconnected:
            await self.connection.writable.wait()
        if self.disconnected:
            return
        kind = message["type"]
        wanted = "http.response.body" if self.response_started else "http.response.start"
        if self.response_complete:
            raise RuntimeError(
                f"Unexpected ASGI message '{kind}' sent, after response already completed."
            )
        if kind != wanted:
            raise RuntimeError(f"Expected ASGI message '{wanted}', but got '{kind}'.")
        if not self.response_started:
            self._start(message["status"], message.get("headers", ()))
            return
        body = message.get("body", b"")
        more_body = message.get("more_body", False)
        if self.scope["method"] == "HEAD":
            self._left = 0
            body = b""
        elif self._is_chunked:
            chunk = (b"%x\r\n" % len(body), body, b"\r\n") if body else ()
            body = b"".join((self._head, *chunk, b"" if more_body else b"0\r\n\r\n"))
            self._head = b""
        elif not self._is_until_close:
            self._left -= len(body)
            if self._left < 0:
                raise RuntimeError("Response content longer than Content-Length")
        if self._head:
            body = self._head + body
            self._head = b""
        self.connection.transport.write(body)
        if more_body:
            return
        if self._left:
            raise RuntimeError("Response content shorter than Content-Length")
        self.response_complete = self.has_news = True
        if self.event is not None:
            self.event.set()
        if not self.keep_alive:
            self.connection.close()
        self.connection.end_reply()

    async def _wait(self) -> None:
        if self.event is None:
            self.event = asyncio.Event()
        await self.event.wait()

    def _start(self, status: int, headers: Any) -> None:
        self.response_started = True
        self.expects_continue = False
        lines = [STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status]
        length: bytes | None = None
        is_closing = False
        headers = (*self.connection.state.default_headers, *headers)
        names, values = map(b"".join, zip(*headers, strict=True)) if headers else (b"", b"")
        if NAME.search(names) or VALUE.search(values):
            raise RuntimeError("Invalid HTTP header.")
        for name, value in headers:
            lower = name.lower()
            if lower == b"content-length":
                length = value
            elif lower == b"transfer-encoding":
                if self.scope["http_version"] in UNCHUNKED:
                    continue
                self._is_chunked = value.lower() == b"chunked"
            elif lower == b"connection" and b"close" in [
                token.strip() for token in value.lower().split(b",")
            ]:
                self.keep_alive = False
                is_closing = True
            lines.append(b"%b: %b\r\n" % (lower, value))
        if not self.keep_alive and not is_closing:
            lines.append(b"connection: close\r\n")
        if length is not None:
            self._left = int(length)
        elif not self._is_chunked and self.scope["method"] != "HEAD" and status not in BODILESS:
            self._is_until_close = self.scope["http_version"] in UNCHUNKED
            self._is_chunked = not self._is_until_close
            if self._is_chunked:
                lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)

    async def _send_fault(self) -> None:
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(FAULT)),
        ]
        headers.append((b"connection", b"close"))
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": FAULT, "more_body": False})
