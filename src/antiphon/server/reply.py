"""The reply of an endpoint: status, headers, and a complete or streamed body; and the watch for a
disconnect.

The exchange sends it (`server/exchange.py`), with the common headers.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import Any, Protocol, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct

from antiphon.gateway import ADJUSTED, COMMENT, IGNORED, Run
from antiphon.http_server.asgi import RawHeaders, Receive, Send
from antiphon.server.request import ClientDisconnected, HttpRequest

BACKEND = "antiphon-backend"
"""The header with the name of the backend that answers."""

CACHE = "antiphon-cache"
"""The header with which a request sets the cache mode, and a reply reports hit or miss."""

JSON: RawHeaders = [(b"content-type", b"application/json")]

LATE = 0.2
"""Seconds after which the watch starts: most requests end before, and save the cost of another
task.
"""

COMMENT_AFTER = 15.0
"""Seconds of silence after which a comment goes out, for proxies."""

UNBUFFERED = (b"x-accel-buffering", b"no")
"""The header of every stream: nginx then passes on each event as it arrives."""

SSE = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    UNBUFFERED,
]

encode_json = msgspec.json.Encoder().encode


class ReplySink(Protocol):
    """The exchange, as a streamed reply sees it."""

    status: int
    """The HTTP status that was sent; 0 before."""
    receive: Receive
    send: Send

    async def start(self, status: int, headers: RawHeaders) -> None:
        """Send the head of the reply."""
        ...

    async def write(self, body: bytes, *, more_body: bool = True) -> None:
        """Send a part of its body; the last one without more.

        Raises `AntiphonError` (503) as for a whole reply.
        """
        ...


class ReplyStream(Protocol):
    """A streamed body, and the head before it, which can depend on the first part."""

    async def send(self, sink: ReplySink) -> None:
        """Send all of it. Raises `ClientDisconnected` when the client disconnects."""
        ...


JsonBody = dict[str, Any] | Struct
"""An object of the API, which is sent as JSON."""


class Reply(Struct, frozen=True):
    """What an endpoint returns: an object, bytes, or a stream.

    The exchange encodes an object, and states its media type. A stream sends its own head.
    """

    body: JsonBody | bytes | ReplyStream
    headers: RawHeaders = []
    status: int = 200


Endpoint = Callable[[HttpRequest], Awaitable[Reply]]

Resources = Mapping[str, Mapping[str, Endpoint]]
"""Endpoints by path and method. A part of a path is in braces, and with `:path` can contain
slashes.
"""


def run_headers(run: Run) -> RawHeaders:
    """Return the headers that describe how a response runs, as far as known."""
    record = run.record
    headers = ignored_header(record.ignored_tools) if record.ignored_tools else []
    if record.adjusted:
        headers.append((ADJUSTED.encode(), ", ".join(record.adjusted).encode()))
    headers.append((BACKEND.encode(), plain_name(run.backend)))
    if run.cache:
        headers.append((CACHE.encode(), run.cache.encode()))
        if run.similarity:
            headers.append((f"{CACHE}-similarity".encode(), b"%.3f" % run.similarity))
    return headers


def ignored_header(types: Any) -> RawHeaders:
    """Return the header with the types of tools that are not offered to the model."""
    return [(IGNORED.encode(), ", ".join(types).encode())] if types else []


@lru_cache(1000)
def plain_name(name: str) -> bytes:
    """Return an operator's name for something in a form that a header allows."""
    return quote(name, safe=" !#$&'()*+,/:;=?@[]").encode()


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Return headers in ASGI's form."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


Tick = Callable[[], Awaitable[float]]
"""Called at its time; returns the seconds until the next call."""


class DisconnectWatch(Struct):
    """`async with` around the work: raises `ClientDisconnected` in it within `LATE` seconds after
    the client disconnects.

    Calls a `tick` `delay` seconds after the watch started, and again after the seconds that it
    returns.
    """

    receive: Receive
    tick: Tick | None = None
    delay: float | None = None
    _watched: "asyncio.Task[Any] | None" = None
    _task: "asyncio.Task[None] | None" = None
    _timer: asyncio.TimerHandle | None = None
    _is_unavailable: bool = False

    async def __aenter__(self) -> Self:
        self._watched = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(LATE, self._begin)
        return self

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if (
            self._is_unavailable
            and isinstance(error, asyncio.CancelledError)
            and self._watched is not None
        ):
            self._watched.uncancel()
            raise ClientDisconnected from error

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        if self.tick is None:
            await self._wait_for_leave()
        else:
            leave = asyncio.ensure_future(self._wait_for_leave())
            try:
                await self._measure_time(leave, self.tick)
            finally:
                leave.cancel()
        self._is_unavailable = True
        if self._watched is not None:
            self._watched.cancel()

    async def _measure_time(self, leave: asyncio.Future[None], tick: Tick) -> None:
        while not (await asyncio.wait({leave}, timeout=self.delay))[0]:
            self.delay = await tick()

    async def _wait_for_leave(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


class FrameStream:
    """A body of stored server-sent events: only the log's events, and comments while it is
    silent.
    """

    def __init__(
        self, frames: AsyncGenerator[bytes, None], headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self._frames = frames
        self._headers = [*SSE, *headers]

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        self._sink = sink
        await sink.start(200, self._headers)
        await sink.write(b"")  # sends the head: the first event can be late
        async with (
            DisconnectWatch(sink.receive, self._tick, COMMENT_AFTER),
            aclosing(self._frames) as frames,
        ):
            async for body in frames:
                await sink.write(body)
            await sink.write(b"", more_body=False)

    async def _tick(self) -> float:
        await self._sink.write(COMMENT)
        return COMMENT_AFTER


class WholeStream:
    """A stream that has ended."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        await sink.start(200, SSE)
        await sink.write(self._body, more_body=False)
