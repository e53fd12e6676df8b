"""A request's body on its way in: inflated, counted as it comes, and not waited for without end."""

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

from antiphon.errors import AntiphonError, ClientError
from antiphon.server.inflate import Inflater, coding_of
from antiphon.server.reply import ClientGone, Message, Receive

BODY_TIMEOUT = 30.0
"""Seconds from a request's head to the end of its body."""

BODY_RATE = 8 * 1024
"""Bytes of a body that make it another second: a large one over a slow line is no attack."""

LARGE = 64 * 1024
"""Bytes of a body from which on it is looked after what becomes of it."""

SWEEP = 128 * 1024 * 1024
"""Bytes of large bodies after whose end the garbage collector has a look: it counts objects, and these are few."""


class Room:
    """Bytes that the bodies of all requests in work may have together."""

    def __init__(self, size: int) -> None:
        self.left = size
        self._litter = 0

    def take(self, size: int) -> None:
        """Have so much of it. Raises `AntiphonError` (503) where it is full."""
        if size > self.left:
            raise overloaded("What is being worked on is too large to take more. Please try again later.")
        self.left -= size

    def give_back(self, size: int) -> None:
        """The request that had it is done."""
        self.left += size
        if size >= LARGE:
            self._litter += size
        if self._litter >= SWEEP:
            self._litter = 0
            gc.collect()


def overloaded(text: str) -> AntiphonError:
    """Return the error for more than this process can take."""
    headers = {"retry-after": "1"}
    kind, code = "service_unavailable_error", "server_is_overloaded"
    return AntiphonError(text, status=503, type=kind, code=code, headers=headers)


class RequestBody:
    """One request's messages. `receive` is what the application uses in place of the host's own.

    Raises `ClientError`: 413 above `limit` bytes, sent or inflated; 415 for a coding that is not known, 400 for one
    that is broken; 408 for a body that comes too slowly. `AntiphonError` (503) where the room is full.
    """

    __slots__ = (
        *("_headers", "_receive", "_limit", "_room", "_inflater", "_until", "_came", "_held", "_is_late"),
        *("is_whole", "is_replied_to"),
    )

    def __init__(self, headers: Mapping[bytes, bytes], receive: Receive, limit: int, room: Room) -> None:
        self._headers, self._receive, self._limit, self._room = headers, receive, limit, room
        self._inflater: Inflater | None = None
        self._until = 0.0
        self._came = self._held = 0
        self._is_late = False
        self.is_whole = headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers
        self.is_replied_to = False
        """Whether the reply has begun: what still comes of the body is thrown away."""

    async def read(self) -> bytes:
        """Return all of it. Raises `ClientGone` when the client leaves before."""
        parts: list[bytes] = []
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    async def receive(self) -> Message:
        """See the ASGI specification."""
        if self.is_whole:
            return await self._receive()
        if self.is_replied_to:
            return {**await self._receive(), "body": b""}
        if not self._until:
            self._begin()
        message = await self._in_time()
        if message["type"] != "http.request":
            return message
        self.is_whole = not message.get("more_body", False)
        return {**message, "body": await self._take(message.get("body", b""))}

    def forget(self) -> None:
        """The request is done."""
        self._room.give_back(self._held)

    def _begin(self) -> None:
        self._until = asyncio.get_running_loop().time() + BODY_TIMEOUT
        if (header := self._headers.get(b"content-encoding")) and (coding := coding_of(header)):
            self._inflater = Inflater(coding)
        if int(self._headers.get(b"content-length", 0)) > self._limit:
            raise self._too_large()

    async def _in_time(self) -> Message:
        """Receive before the deadline. `asyncio.timeout` does the same in ten calls, which every request would make."""
        task = asyncio.current_task()
        deadline = self._until + self._came / BODY_RATE
        timer = asyncio.get_running_loop().call_at(deadline, self._expire, task)
        try:
            return await self._receive()
        except asyncio.CancelledError:
            if self._is_late and task is not None and task.uncancel() == 0:
                raise ClientError("The request's body came too slowly.", status=408) from None
            raise
        finally:
            timer.cancel()

    def _expire(self, task: "asyncio.Task[Any] | None") -> None:
        self._is_late = True
        if task is not None:
            task.cancel()

    async def _take(self, data: bytes) -> bytes:
        self._came += len(data)
        if self._came > self._limit:
            raise self._too_large()
        if self._inflater is None:
            self._hold(len(data))
            return data
        pieces = []
        for piece in self._inflater.feed(data):
            self._hold(len(piece))
            pieces.append(piece)
            if len(pieces) > 1:
                await asyncio.sleep(0)  # others have their turn: all of a bomb takes a tenth of a second
        if self.is_whole:
            self._inflater.finish()
        return b"".join(pieces)

    def _hold(self, size: int) -> None:
        if self._held + size > self._limit:
            raise self._too_large()
        self._room.take(size)
        self._held += size

    def _too_large(self) -> ClientError:
        text = f"The request body is larger than {self._limit} bytes."
        return ClientError(text, status=413, code="request_too_large")
