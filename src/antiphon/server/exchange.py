"""One request and its reply: what an endpoint returns, how it is sent, and the client that leaves before.

Every reply goes out here, with the headers that all of them have (specification sections 13 and 14).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct

from antiphon.errors import AntiphonError, log, reportable
from antiphon.gateway import IGNORED, CutOff, Run
from antiphon.ids import new_id
from antiphon.server.asgi import ClientGone, Message, RawHeaders, Receive, Scope, Send
from antiphon.server.limits import Limits
from antiphon.server.request import HttpRequest, Room
from antiphon.telemetry.context import About, about, begin

FIXED_HEADERS = [
    (b"openai-version", b"2020-10-01"),
    (b"access-control-expose-headers", b"X-Request-ID"),
    (b"x-content-type-options", b"nosniff"),
]

BACKEND = "antiphon-backend"
"""The header with the name of the backend that answers."""

CACHE = "antiphon-cache"
"""The header with which a request sets the cache, and a reply says what it was to it."""

JSON: RawHeaders = [(b"content-type", b"application/json")]

LATE = 0.2
"""Seconds after which the watch begins: most work is over before, and need not pay for a task beside it."""

_encode = msgspec.json.Encoder().encode


class Sink(Protocol):
    """The exchange, as a streamed reply sees it."""

    receive: Receive
    send: Send

    async def start(self, status: int, headers: RawHeaders) -> None:
        """Send the head of the reply."""
        ...

    async def write(self, body: bytes, *, more_body: bool = True) -> None:
        """Send a part of its body; the last one without more."""
        ...


class ReplyStream(Protocol):
    """A body that comes in parts, and the head before it, which may depend on the first of them."""

    async def send(self, sink: Sink) -> None:
        """Send all of it. Raises `ClientGone` when the client leaves."""
        ...


class Reply(Struct, frozen=True):
    """Status, headers and body. A stream sends its own head."""

    status: int
    headers: RawHeaders
    body: bytes | ReplyStream


Endpoint = Callable[[HttpRequest], Awaitable[Reply]]

Resources = Mapping[str, Mapping[str, Endpoint]]
"""Endpoints by path and method. A part of a path stands in braces, and with `:path` has any number of slashes."""


def json_reply(value: Any, headers: RawHeaders | None = None, status: int = 200) -> Reply:
    """Return a reply of JSON."""
    return Reply(status, JSON + headers if headers else JSON, _encode(value))


def stream_reply(stream: ReplyStream) -> Reply:
    """Return a reply that is streamed."""
    return Reply(200, [], stream)


def run_headers(run: Run) -> RawHeaders:
    """Return the headers that say how a response is made, as far as that is known."""
    headers = ignored_header(run.ignored_tools) if run.ignored_tools else []
    headers.append((BACKEND.encode(), plain_name(run.backend)))
    if run.cache:
        headers.append((CACHE.encode(), run.cache.encode()))
    if run.similarity:
        headers.append((f"{CACHE}-similarity".encode(), b"%.3f" % run.similarity))
    return headers


def ignored_header(types: Any) -> RawHeaders:
    """Return the header that names the types of tools which the model is not offered."""
    return [(IGNORED.encode(), ", ".join(types).encode())] if types else []


@lru_cache(1000)
def plain_name(name: str) -> bytes:
    """Return an operator's name for something as a header can hold it."""
    return quote(name, safe=" !#$&'()*+,/:;=?@[]").encode()


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Return headers as ASGI has them."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


class HttpExchange:
    """Sends the reply to one request, or to the request that opens a WebSocket.

    `status` is 0 until the reply has begun; then it is too late for another one.
    """

    __slots__ = ("_began", "_id", "is_http", "limits", "receive", "request", "send", "status")

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits, room: Room) -> None:
        self._began = time.monotonic()
        self.is_http = scope["type"] == "http"
        self.send = send if self.is_http else _Upgrade(scope, send)
        self._id = new_id("req")
        begin(About(self._id, trace_id=about().trace_id, is_exchange=self.is_http))
        self.request = HttpRequest(scope, receive, limits, room)
        self.receive = self.request.receive
        self.limits = limits
        self.status = 0

    @property
    def milliseconds(self) -> float:
        """How long it has taken until now."""
        return (time.monotonic() - self._began) * 1000

    async def reply(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """Send a reply that is whole."""
        await self.send(self._head(status, [*headers, (b"content-length", b"%d" % len(body))]))
        await self.send({"type": "http.response.body", "body": body})

    async def fail(self, error: Exception) -> None:
        """Send an error in its envelope, or break the reply off where it has begun: returning does that."""
        if self.status:
            _log_broken_off(error)
            return
        known = reportable(error)
        headers = raw_headers({"content-type": "application/json", **known.headers})
        await self.reply(known.status, headers, _encode({"error": known.body()}))

    async def start(self, status: int, headers: RawHeaders) -> None:
        """See `Sink`."""
        await self.send(self._head(status, headers))

    async def write(self, body: bytes, *, more_body: bool = True) -> None:
        """See `Sink`."""
        await self.send({"type": "http.response.body", "body": body, "more_body": more_body})

    async def accept(self) -> None:
        """Open the WebSocket."""
        await self.receive()
        await self.send({"type": "websocket.accept", "headers": self._head(101, [])["headers"]})

    def _head(self, status: int, headers: RawHeaders) -> Message:
        """Begin the reply: return its first message, with the headers that all have."""
        self.status, request = status, self.request
        headers = [*headers, *request.reply_headers, *request.cors_headers]
        if request.is_admitted:
            request.incoming.is_replied_to = True
            if not request.incoming.is_whole:
                headers.append((b"connection", b"close"))
        took = int((time.monotonic() - self._began) * 1000)
        headers += ((b"x-request-id", self._id.encode()), (b"openai-processing-ms", b"%d" % took), *FIXED_HEADERS)
        return {"type": "http.response.start", "status": status, "headers": headers}


class _Upgrade:
    """The way to a client that asks for a WebSocket: what refuses it goes out as HTTP, where the host can do that."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.send = send
        self._can_refuse = "websocket.http.response" in scope.get("extensions", {})

    async def __call__(self, message: Message) -> None:
        if message["type"].startswith("websocket."):
            await self.send(message)
        elif self._can_refuse:
            await self.send({**message, "type": f"websocket.{message['type']}"})
        elif message["type"] == "http.response.start":
            await self.send({"type": "websocket.close"})


def _log_broken_off(error: Exception) -> None:
    """Say in the log why a reply was broken off, unless that is as it should be."""
    if isinstance(error, AntiphonError):
        log.warning("A reply was broken off: %s", error.gist)
    elif not isinstance(error, CutOff):
        reportable(error)


Tick = Callable[[], Awaitable[float]]
"""Called when its time has come; returns in how many seconds to call again."""


class DisconnectWatch(Struct):
    """`async with` around the work: raises `ClientGone` out of it when the client leaves, within `LATE` seconds.

    With a `tick`, calls it `delay` seconds after the watch began and again whenever it asks for it.
    """

    receive: Receive
    tick: Tick | None = None
    delay: float | None = None
    _work: "asyncio.Task[Any] | None" = None
    _task: "asyncio.Task[None] | None" = None
    _timer: asyncio.TimerHandle | None = None
    _is_gone: bool = False

    async def __aenter__(self) -> Self:
        self._work = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(LATE, self._begin)
        return self

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._is_gone and isinstance(error, asyncio.CancelledError) and self._work is not None:
            self._work.uncancel()
            raise ClientGone from error

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        if self.tick is None:
            await self._wait_for_leave()
        else:
            leave = asyncio.ensure_future(self._wait_for_leave())
            try:
                await self._keep_time(leave, self.tick)
            finally:
                leave.cancel()
        self._is_gone = True
        if self._work is not None:
            self._work.cancel()

    async def _keep_time(self, leave: asyncio.Future[None], tick: Tick) -> None:
        while not (await asyncio.wait({leave}, timeout=self.delay))[0]:
            self.delay = await tick()

    async def _wait_for_leave(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
