"""uvicorn's WebSocket, with an end for what it would wait for without end."""

from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LAST_WORDS = 5.0
"""Seconds that a client has to take what was said last, and to close its side."""


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A client that reads nothing more holds its connection for `LAST_WORDS` seconds and no longer.

    uvicorn closes a connection when its buffer is empty, which may be never; and it closes at once where a message
    breaks the protocol, though the client is still sending, so that the reason would be lost on the way.
    """

    _is_refused = False

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
        if message["type"] == "websocket.close" and self.close_timer is not None:
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

    def _end_soon(self) -> Any:
        return self.loop.call_later(LAST_WORDS, self.transport.abort)
