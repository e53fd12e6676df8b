"""uvicorn's WebSocket, with an end for what it would wait for, or take, without end."""

from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from antiphon.server.uvicorn.closing import ConnectionLimits

LAST_WORDS = 5.0
"""Seconds that a client has to take what was said last, and to close its side."""

MAX_FRAGMENTS = 10_000
"""Fragments of a message: an empty one costs a client six bytes, and is kept until the last."""

AT_ONCE = 1024
"""Bytes that are inflated at once: they may become a thousand times as many, and be several messages."""

TOO_BIG, TRY_AGAIN_LATER = 1009, 1013
"""Close codes."""


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A client that reads nothing more holds its connection for `LAST_WORDS` seconds and no longer.

    uvicorn closes a connection when its buffer is empty, which may be never; and it closes at once where a message
    breaks the protocol, though the client is still sending, so that the reason would be lost on the way.
    What has come and was not received by the application is bounded in each connection, and in all together. Bytes
    that have come behind a whole message stay as they are until the application has received that message.
    """

    def __init__(self, *args: Any, limits: ConnectionLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._is_refused = False
        self._pending = 0
        self._queued = 0
        """Bytes of whole messages that the application has not received."""
        self._unread = bytearray()
        """Bytes that have come behind these messages."""

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._unread += data
        self._read()

    def _read(self) -> None:
        while self._unread and not self.read_paused:
            piece = bytes(self._unread[:AT_ONCE])
            del self._unread[:AT_ONCE]
            super().data_received(piece)
        self._count(self._bytes_left())
        if len(self.frames) > MAX_FRAGMENTS:
            self._end_for(TOO_BIG, "the message has too many fragments")
        elif self._limits.pending > self._limits.room:
            self._end_for(TRY_AGAIN_LATER, "the server has no room for a message of this size now")

    def send_receive_event_to_app(self) -> None:
        """A message is whole."""
        size, waiting = sum(map(len, self.frames)), self.queue.qsize()
        super().send_receive_event_to_app()
        if self.queue.qsize() > waiting:
            self._queued += size

    async def receive(self) -> Any:
        """See the ASGI specification."""
        message = await super().receive()
        if (self._queued or self._unread) and self.queue.empty():
            self._queued = 0
            self._read()
        return message

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._unread.clear()
        self._count(0)
        super().connection_lost(exc)

    def handle_ping(self) -> None:
        """A ping; who reads no answers gets no more of them."""
        answer = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(answer)

    def keepalive_timeout(self) -> None:
        """No answer came to a ping."""
        super().keepalive_timeout()
        self._end_soon()

    async def send(self, message: Any) -> None:
        """See the ASGI specification."""
        try:
            await super().send(message)
        except RuntimeError:
            if self.close_sent:
                raise ClientDisconnected from None  # it was refused while somebody had still something to say
            raise
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # with a refusal; else uvicorn logs each as an application's error
        elif message["type"] == "websocket.close" and self.close_timer is not None:
            self.close_timer.cancel()
            self.close_timer = self._end_soon()

    def handle_parser_exception(self) -> None:
        """A message is too large, or no message: say so, and let pass what still comes."""
        if self._is_refused:
            return
        self._is_refused = self.close_sent = True
        self.stop_keepalive()
        closed = self.conn.close_sent
        if closed is not None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": closed.code, "reason": closed.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self._end_soon()

    def _bytes_left(self) -> int:
        return len(self._unread) + len(self.conn.reader.buffer) + sum(map(len, self.frames)) + self._queued

    def _count(self, pending: int) -> None:
        self._limits.pending += pending - self._pending
        self._pending = pending

    def _end_for(self, code: int, reason: str) -> None:
        if not self.close_sent:
            self.conn.fail(code, reason)
            self.handle_parser_exception()
            self.frames = []
            self._count(0)

    def _end_soon(self) -> Any:
        return self.loop.call_later(LAST_WORDS, self.transport.abort)
