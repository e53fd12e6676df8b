"""The two ends of the trace: a scripted backend and a client, both on this process's loop, over
real sockets.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from bench.backend import END, EVENTS, Replay
from bench.wire import EVENT_STREAM, LAST_CHUNK, chunked, content_length

STEPS = "drip"
"""The model whose deltas come one by one, each after the client has received the one before."""

_DELTA = b"event: response.output_text.delta\n"


class SteppedBackend(Replay):
    """Replays as the bench's backend does, but sends the next delta of `STEPS` on `step`."""

    deltas = len(EVENTS)
    """How many deltas a stepped stream has."""

    sending: "SteppedBackend | None" = None
    """The connection that has a stepped stream under way."""

    _sent: int

    def answer(self, head: bytes, body: bytes) -> None:
        """See `Replay.answer`."""
        if b'"stream":true' in body and b'"%b"' % STEPS.encode() in body:
            SteppedBackend.sending = self
            self._sent = 1
            self.transport.write(EVENT_STREAM + chunked(EVENTS[0]))
        else:
            super().answer(head, body)

    @classmethod
    def step(cls) -> None:
        """Send the next delta of the stepped stream, or its end after the last.

        Does nothing where there is none.
        """
        if (one := cls.sending) is None:
            return
        if one._sent < cls.deltas:
            one.transport.write(chunked(EVENTS[one._sent]))
            one._sent += 1
        else:
            cls.sending = None
            one.transport.write(chunked(END) + LAST_CHUNK)


class Client(asyncio.Protocol):
    """A client's connection, which is kept for all requests."""

    first = 0.0
    """Seconds from the last request to the first byte of its answer."""

    _transport: asyncio.Transport
    _on_delta: Callable[[], None]

    def __init__(self) -> None:
        self._received = b""
        self._began = 0.0
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self._transport = transport

    def send(self, request: bytes, on_delta: Callable[[], None]) -> "asyncio.Future[bytes]":
        """Send a request; return a future of the body of the answer.

        `on_delta` is called for each delta.
        """
        self._received = b""
        self._on_delta = on_delta
        self._answer = asyncio.get_running_loop().create_future()
        self._began = time.perf_counter()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if not self._received:
            self.first = time.perf_counter() - self._began
        self._received += data
        for _ in range(data.count(_DELTA)):
            self._on_delta()
        head, found, body = self._received.partition(b"\r\n\r\n")
        if found and self._is_whole(head, body) and self._answer and not self._answer.done():
            self._end(head, body)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        if self._answer and not self._answer.done():
            self._answer.set_exception(
                ConnectionError("the server closed the connection of the trace")
            )

    def _is_whole(self, head: bytes, body: bytes) -> bool:
        length = content_length(head)
        return len(body) >= length if length else body.endswith(LAST_CHUNK)

    def _end(self, head: bytes, body: bytes) -> None:
        assert self._answer
        if head.startswith(b"HTTP/1.1 200 "):
            self._answer.set_result(body)
        else:
            self._answer.set_exception(RuntimeError((head + body).decode(errors="replace")))


async def settle(turns: int = 100) -> None:
    """Let the loop turn until what follows an answer is done, without a call that would be
    counted.
    """
    loop = asyncio.get_running_loop()
    for _ in range(turns):
        turned = loop.create_future()
        loop.call_soon(turned.set_result, None)
        await turned
