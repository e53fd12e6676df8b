"""The application on a port: uvicorn, with the bounds on a request's head that it lacks."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_TIMEOUT = 10.0
"""Seconds from a connection, or a request's first byte, to the end of its headers."""

MAX_HEAD = 64 * 1024
"""Bytes of a request's line and headers (node.js: 16 kB, nginx: 32 kB)."""

GRACE = 10.0
"""Seconds that running requests have to finish after the first signal to stop; a second signal ends them at once."""

STATUS_LINES = {
    400: b"HTTP/1.1 400 Bad Request\r\n",
    408: b"HTTP/1.1 408 Request Timeout\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
}


class Host(uvicorn.Server):
    """Serves an application until a signal asks it to stop, and then returns."""

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                backlog=2048,
                access_log=False,
                log_config=None,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=int(GRACE),
            )
        )
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so by `listening`."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM without raising them again: what follows the server is still to be closed."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for name in signals:
            loop.add_signal_handler(name, self.handle_exit, name, None)
        try:
            yield
        finally:
            for name in signals:
                loop.remove_signal_handler(name)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1, with a deadline and a limit for a request's head (threats: slow and endless headers)."""

    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = False

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._clear_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        super().data_received(data)
        if self._in_head:
            # Only now: most heads come whole, and need no timer.
            self._set_deadline()
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD:
                self._refuse(431, f"The request's headers are larger than {MAX_HEAD} bytes.")

    def on_message_begin(self) -> None:
        """A request's first byte."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """The last byte of a request's head."""
        self._in_head = False
        self._clear_deadline()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, msg)

    def _refuse(self, status: int, message: str) -> None:
        if self.transport.is_closing():
            return
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        body = msgspec.json.encode({"error": error})
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINES[status] + head + body)
        self.transport.close()

    def _set_deadline(self) -> None:
        if self._deadline is None:
            text = "The request's headers came too slowly."
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self._refuse, 408, text)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
