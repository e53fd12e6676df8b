"""uvicorn's WebSocket, with limits for time and size that it lacks."""

import asyncio
import logging
import zlib
from collections.abc import Sequence
from http import HTTPStatus
from io import BytesIO
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions.base import ServerExtensionFactory
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from antiphon.http_server.asgi import BODY
from antiphon.http_server.closing import ConnectionLimits, RejectedRequest
from antiphon.http_server.late_inflation import STEP, LateInflationFactory

LAST_WORDS = 5.0
"""Seconds for a client to read the last message, and to close its side."""

MAX_FRAME = 16 * 1024 * 1024
"""Bytes in a frame: the library copies and unmasks all of one in one step. Messages may have
several frames.
"""

LONGEST_HEADER = 14
"""Bytes of the longest header of a frame (RFC 6455, section 5.2)."""

MAX_FRAGMENTS = 10_000
"""Fragments of a message: an empty fragment costs a client six bytes, and is stored until the
last.
"""

AT_ONCE = 1024
"""Bytes that are parsed at once: they can be many messages."""

PROTOCOL_ERROR, ABNORMAL, INVALID_TEXT, TOO_BIG, TRY_AGAIN_LATER = 1002, 1006, 1007, 1009, 1013
"""Close codes. `ABNORMAL` is for the application alone: the connection ends without the client's
last word.
"""

NO_ROOM = "the server has no memory for a message of this size now"

RAW = "http_server.raw"
"""The type of a message that is not read yet, internal to this file."""

SMALL = 64 * 1024
"""Bytes up to which a text is a string for the application, as in ASGI; a larger one stays
bytes.
"""


class LimitedProtocol(ServerProtocol):
    """The protocol of one connection; it counts the bytes of the frame that has not arrived
    completely.

    Only documented methods are used, which version 15 of the library has, too: it has no limit for
    a frame yet.
    """

    incomplete = 0
    """Received bytes of this frame, or of the handshake."""

    def __init__(self, extensions: Sequence[ServerExtensionFactory], max_size: int) -> None:
        super().__init__(
            extensions=extensions, max_size=max_size, logger=logging.getLogger("uvicorn.error")
        )

    def accept(self, request: Request) -> Response:
        """Return the reply to a handshake. Raises `RejectedRequest` if it is invalid."""
        response = super().accept(request)
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            raise RejectedRequest(response.status_code, bytes(response.body).decode().strip())
        return response

    def receive_data(self, data: bytes | bytearray) -> None:
        """See `websockets`."""
        self.incomplete += len(data)
        super().receive_data(data)

    def events_received(self) -> list[Any]:
        """See `websockets`."""
        events = super().events_received()
        if events:
            self.incomplete = 0  # the next frame has at most as many bytes as were parsed at once
        return events


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A client that stops reading holds its connection for at most `LAST_WORDS` seconds.

    uvicorn closes a connection when its buffer is empty, which may be never; and it closes at once
    if a message violates the protocol, although the client is still sending, so that the reason
    would get lost. Bytes that the application has not received are bounded for each connection, and
    for all together. Bytes after a complete message stay unparsed until the application has
    received that message.
    """

    def __init__(self, *args: Any, limits: ConnectionLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._deflate = LateInflationFactory()
        extensions = [self._deflate] if self.config.ws_per_message_deflate else []
        self.conn: LimitedProtocol = LimitedProtocol(extensions, self.config.ws_max_size)
        self._is_refused = False
        self._pending = 0
        self._queued = 0
        """Bytes of complete messages that the application has not received."""
        self._unread = bytearray()
        """Bytes after these messages."""

    def open(self, transport: asyncio.Transport, head: bytes) -> None:
        """Take over a connection with this handshake. Raises `RejectedRequest` if it is invalid."""
        try:
            self.connection_made(transport)
            self.data_received(head)
            if not self.handshake_initiated:
                raise RejectedRequest(
                    HTTPStatus.BAD_REQUEST, "The WebSocket handshake is not a valid HTTP request."
                )
        except Exception:
            self.connections.discard(self)
            raise

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if (
            not self._is_refused
        ):  # else the client is still sending: its bytes are neither kept nor counted
            self._unread += data
            self._read()

    def _read(self) -> None:
        """Parse received bytes, up to the end of the next message."""
        while (
            self._unread
            and not self.read_paused
            and self.conn.incomplete <= MAX_FRAME + LONGEST_HEADER
        ):
            piece = bytes(self._unread[:AT_ONCE])
            del self._unread[:AT_ONCE]
            super().data_received(piece)
        self._count(self._bytes_left())
        if len(self.frames) > MAX_FRAGMENTS:
            self._end_for(TOO_BIG, "the message has too many fragments")
        elif self.conn.incomplete > MAX_FRAME + LONGEST_HEADER:
            self._end_for(TOO_BIG, f"the message has a frame of more than {MAX_FRAME} bytes")
        elif self._limits.pending > self._limits.room:
            self._end_for(TRY_AGAIN_LATER, NO_ROOM)

    def send_receive_event_to_app(self) -> None:
        """A message is complete: a small plain text is read at once, all others when the
        application receives them.
        """
        agreed = self._deflate.agreed
        late = agreed if agreed is not None and agreed.is_compressed else None
        size = sum(map(len, self.frames))
        if late is None and (size <= SMALL or self.curr_msg_data_type != "text"):
            waiting = self.queue.qsize()
            super().send_receive_event_to_app()
            self._queued += size if self.queue.qsize() > waiting else 0
            return
        frames = self.frames
        self.frames = []
        if self.close_sent:
            return
        self._queued += size
        pieces = iter(frames) if late is None else late.inflated(frames)
        raw: Any = {"type": RAW, "is_text": self.curr_msg_data_type == "text", "pieces": pieces}
        self.queue.put_nowait(raw)
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    async def receive(self) -> Any:
        """See the ASGI specification. A large text is under `BODY`, as bytes."""
        message: Any = await super().receive()
        if message["type"] == RAW:
            message = await self._inflated(message)
        if (self._queued or self._unread) and self.queue.empty():
            self._queued = 0
            self._read()
        return message

    async def _inflated(self, raw: Any) -> Any:
        """Return a message from its pieces; other tasks run meanwhile."""
        whole = BytesIO()
        most = self.config.ws_max_size
        try:
            for piece in raw["pieces"]:
                for start in range(0, len(piece), STEP):
                    whole.write(piece[start : start + STEP])
                    self._count(self._bytes_left() + whole.tell())
                    if self._limits.pending > self._limits.room:
                        return await self._refused(TRY_AGAIN_LATER, NO_ROOM)
                    if whole.tell() > most:
                        return await self._refused(
                            TOO_BIG, f"the message is larger than {most} bytes"
                        )
                    await asyncio.sleep(0)
            data = whole.getvalue()
            if not raw["is_text"]:
                return {"type": "websocket.receive", "bytes": data}
            if len(data) > SMALL:
                return {"type": "websocket.receive", BODY: data}
            return {"type": "websocket.receive", "text": data.decode()}
        except zlib.error:
            return await self._refused(PROTOCOL_ERROR, "decompression failed")
        except UnicodeDecodeError:
            return await self._refused(INVALID_TEXT, "the text is not UTF-8")
        finally:
            self._count(self._bytes_left())

    async def _refused(self, code: int, reason: str) -> Any:
        """End the connection; return the message that the application then receives."""
        self._end_for(code, reason)
        while (message := await super().receive())["type"] == RAW:
            pass
        return message

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._unread.clear()
        self._count(0)
        super().connection_lost(exc)

    def handle_ping(self) -> None:
        """A ping; a client that reads no answers receives no more of them."""
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
                # it was rejected while the application still sent
                raise ClientDisconnected from None
            raise
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = (
                True  # with a rejection; else uvicorn logs each as an application error
            )
        elif message["type"] == "websocket.close" and self.close_timer is not None:
            self.close_timer.cancel()
            self.close_timer = self._end_soon()

    def handle_parser_exception(self) -> None:
        """A message is too large or invalid: send the reason, and discard further bytes."""
        if self._is_refused:
            return
        self._is_refused = self.close_sent = True
        self.stop_keepalive()
        self._unread.clear()
        self.frames = []
        self.conn.incomplete = 0
        self.queue.put_nowait({"type": "websocket.disconnect", "code": ABNORMAL})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self.close_timer or self._end_soon()

    def _bytes_left(self) -> int:
        return len(self._unread) + self.conn.incomplete + sum(map(len, self.frames)) + self._queued

    def _count(self, pending: int) -> None:
        self._limits.pending += pending - self._pending
        self._pending = pending

    def _end_for(self, code: int, reason: str) -> None:
        if not self._is_refused:
            self.conn.fail(code, reason)
            self.handle_parser_exception()
            self._count(0)

    def _end_soon(self) -> Any:
        return self.loop.call_later(LAST_WORDS, self.transport.abort)
