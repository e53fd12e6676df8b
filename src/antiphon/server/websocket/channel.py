"""One WebSocket for an ASGI application: receives texts, sends JSON objects (specification section
8).
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from antiphon.errors import AntiphonError, ClientError
from antiphon.http_server.asgi import BODY
from antiphon.protocol.events import Event
from antiphon.server.exchange import HttpExchange
from antiphon.server.request import ClientDisconnected
from antiphon.server.websocket.session_memory import Lane

GOING_AWAY = 1001
"""Close code: the server ends, or the connection is too old; clients reconnect."""

UNSUPPORTED = 1003
"""Close code: a binary message."""

TOO_BIG = 1009
"""Close code: a message above the size limit."""

BROKEN = 1011
"""Close code: a fault in the server."""


class Unheard(Exception):  # noqa: N818 - the client's error is inside
    """The message ends the connection: send `error`, then close with `code`."""

    def __init__(self, error: ClientError, code: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.code = code


_encode = msgspec.json.Encoder().encode


class EventChannel:
    """Its methods can be called from several tasks; the messages of one call stay together.

    Sending waits for the client to read, which slows down the sender. Raises `ClientDisconnected`
    after it disconnected.
    """

    def __init__(self, exchange: HttpExchange) -> None:
        self._exchange = exchange
        self._receive = exchange.receive
        self._send = exchange.send
        self._limit = exchange.limits.body
        self._lock = asyncio.Lock()

    async def accept(self) -> None:
        """Accept the connection."""
        try:
            await self._exchange.accept()
        except OSError as error:
            raise ClientDisconnected from error

    async def receive_event(self) -> bytes | None:
        """Return the next message, None after the client disconnected. Raises `Unheard`."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        if (body := message.get(BODY)) is not None:
            return self._checked(body)
        if text is None:
            reported = "Binary messages are not supported. Send JSON as text."
            raise Unheard(ClientError(reported, code="unsupported_message"), UNSUPPORTED)
        return self._checked(text.encode("utf-8", "surrogatepass"))

    def _checked(self, body: bytes) -> bytes:
        if len(body) > self._limit:
            reported = f"The message is larger than {self._limit} bytes."
            raise Unheard(ClientError(reported, status=413, code="request_too_large"), TOO_BIG)
        return body

    async def report(self, events: Sequence[Event], lane: Lane = None) -> None:
        """Send events, each as one message."""
        if not events:
            return
        end = "}" if lane is None else f',"stream_id":"{lane}"}}'
        async with self._lock:
            for event in events:
                await self._emit(_encode(event)[:-1].decode() + end)

    async def refuse(self, error: AntiphonError, lane: Lane = None) -> None:
        """Send an error that ends one request only."""
        inner = error.body()
        headers = {name: value for name, value in error.headers.items() if name != "connection"}
        if headers:
            inner["headers"] = headers
        reported = {"type": "error", "status": error.status, "error": inner}
        if lane is not None:
            reported["stream_id"] = lane
        async with self._lock:
            await self._emit(_encode(reported).decode())

    async def close(self, code: int) -> None:
        """End the connection."""
        async with self._lock:
            with suppress(OSError):  # the client disconnected
                await self._send({"type": "websocket.close", "code": code})

    async def _emit(self, text: str) -> None:
        try:
            await self._send({"type": "websocket.send", "text": text})
        except OSError as error:
            raise ClientDisconnected from error
