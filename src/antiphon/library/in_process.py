"""One HTTP request to an ASGI application of this process: the reply's head, then its body as it
arrives.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.http_server.asgi import AsgiApp, Message, RawHeaders, Scope
from antiphon.library.asgi_app import AsgiApplication
from antiphon.server.request import TENANT

AHEAD = 16
"""Parts of a body that are buffered for the reader; then the application waits, as for a slow
client.
"""


class BrokenOff(Exception):  # noqa: N818 - the reader reports it in the terms of its library
    """The reply ended before it was complete."""


@dataclass(frozen=True, slots=True)
class InProcessRequest:
    """A request. `path` has no query; names of headers are in lower case.

    A body in pieces is read as the application asks for it. `extra` are additional keys of the ASGI
    scope.
    """

    method: str
    path: str
    query: bytes
    headers: RawHeaders
    body: bytes | AsyncGenerator[bytes, None]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def scope(self) -> Scope:
        """Return the request's scope.

        The program is the operator, so the request needs no API key.
        """
        _, mark, rest = self.path.partition("/v1/")
        path = f"/v1/{rest}" if mark else self.path
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "headers": self.headers,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": self.query,
            "server": ("antiphon", None),
            "client": None,
            "root_path": "",
            TENANT: "",
            **self.extra,
        }


class InProcessExchange:
    """A request and its reply.

    Call `begin`, then `read` until it returns nothing, and `leave` in the end.

    With a `timeout` in seconds, `TimeoutError` is raised if the application sends nothing for that
    time.
    """

    def __init__(self, app: AsgiApp, request: InProcessRequest, timeout: float | None) -> None:
        self._app = app
        self._request = request
        self._timeout = timeout
        self._parts: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(AHEAD)
        self._head: asyncio.Future[tuple[int, RawHeaders]] = (
            asyncio.get_running_loop().create_future()
        )
        self._left = asyncio.Event()
        self._is_sent = self._is_over = False
        self._unreadable: Exception | None = None
        self.task = asyncio.create_task(self._serve())

    async def begin(self) -> tuple[int, RawHeaders]:
        """Return status and headers of the reply.

        Raises `BrokenOff`, `TimeoutError`, what the application raises.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.shield(self._head)
        except BaseException:
            self.leave()
            raise

    async def read(self) -> bytes:
        """Return the bytes of the body since the last call; empty at its end. Raises as `begin`."""
        if self._is_over:
            return b""
        async with asyncio.timeout(self._timeout):
            part = await self._parts.get()
        found = []
        while isinstance(part, bytes):
            found.append(part)
            if self._parts.empty():
                return b"".join(found)
            part = self._parts.get_nowait()
        self._is_over = True
        if part is not None:
            raise part
        return b"".join(found)

    def leave(self) -> None:
        """Disconnect: the application notices it, if it is still working on the reply."""
        self._left.set()
        while not self._parts.empty():
            self._parts.get_nowait()

    async def _serve(self) -> None:
        error: Exception = BrokenOff("The reply was broken off.")
        try:
            await self._app(self._request.scope(), self._receive, self._send)
        except Exception as raised:
            error = raised
        error = self._unreadable or error
        if not self._head.done():
            self._head.set_exception(error)
            self._head.exception()  # there may be no waiter any more
        await self._put(error)
        if not isinstance(self._request.body, bytes):
            await self._request.body.aclose()

    async def _receive(self) -> Message:
        if not self._is_sent and not self._left.is_set():
            return await self._next_piece()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _next_piece(self) -> Message:
        """Return the next piece of the request's body: all of it, unless it comes in pieces."""
        body = self._request.body
        if not isinstance(body, bytes):
            try:
                piece = await anext(body, None)
            except Exception as error:
                self._unreadable = error
                return {"type": "http.disconnect"}
            if piece is not None:
                return {"type": "http.request", "body": piece, "more_body": True}
            body = b""
        self._is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not self._head.done():
                self._head.set_result((message["status"], message["headers"]))
            return
        if body := message.get("body"):
            await self._put(body)
        if not message.get("more_body"):
            await self._put(None)

    async def _put(self, part: bytes | Exception | None) -> None:
        if not self._left.is_set():
            await self._parts.put(part)


class InProcessServer:
    """An application with its running exchanges."""

    def __init__(self, app: AsgiApplication) -> None:
        self._app = app
        self._exchanges: set[InProcessExchange] = set()

    async def send(
        self, request: InProcessRequest, seconds: float | None
    ) -> tuple[InProcessExchange, int, RawHeaders]:
        """Send a request; return the exchange, with status and headers of the reply. Raises as
        `InProcessExchange.begin`.

        `seconds` is the longest time without a byte from the application.
        """
        exchange = InProcessExchange(self._app, request, seconds)
        self._exchanges.add(exchange)
        exchange.task.add_done_callback(lambda _: self._exchanges.discard(exchange))
        status, headers = await exchange.begin()
        return exchange, status, headers

    async def close(self) -> None:
        """End the running exchanges, then close the application."""
        await self.end()
        await self._app.close()

    async def end(self) -> None:
        """End the running exchanges."""
        under_way = [exchange.task for exchange in self._exchanges]
        for exchange in self._exchanges:
            exchange.leave()
        await asyncio.gather(*under_way, return_exceptions=True)
