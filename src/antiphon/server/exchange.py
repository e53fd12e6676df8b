"""One request and its reply, from the ASGI call to the last byte: admitted, answered by its
endpoint, sent, counted.

Every reply goes out here, with the headers that all of them have (specification sections 13 and
14). Each part of a stream passes through the frames of this file alone.
"""

import asyncio
import logging
import sys
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager

from msgspec import Struct

from antiphon.errors import AntiphonError, log, reportable
from antiphon.gateway import (
    COMMENT,
    KEEPALIVE_AFTER,
    CutOff,
    Gateway,
    LargeObject,
    Phase,
    Run,
    encode,
    encode_large,
)
from antiphon.http_server.asgi import CONNECTION, Message, RawHeaders, Receive, Scope, Send
from antiphon.ids import new_id
from antiphon.protocol.events import Event
from antiphon.server.admission import HELLO, OPEN, Authentication, Connections, check_tenant
from antiphon.server.limits import ServerLimits
from antiphon.server.reply import (
    COMMENT_AFTER,
    JSON,
    LATE,
    SSE,
    DisconnectWatch,
    Endpoint,
    JsonBody,
    ReplySink,
    encode_json,
    raw_headers,
    run_headers,
)
from antiphon.server.request import (
    ON_ERROR,
    ClientDisconnected,
    HttpRequest,
    check_origin,
    is_preflight,
)
from antiphon.server.routes import PREFIX, PathRoute, Routes, method_not_supported, unknown_url
from antiphon.sharing.memory import LARGE
from antiphon.telemetry.context import About, current
from antiphon.telemetry.formatters import fields
from antiphon.telemetry.requests import HTTP_SECONDS

FIXED_HEADERS = [
    (b"openai-version", b"2020-10-01"),
    (b"access-control-expose-headers", b"X-Request-ID"),
    (b"x-content-type-options", b"nosniff"),
]

GRACE = 0.5
"""Seconds in which a backend can reject a request with a plain HTTP error before the stream
starts.
"""

PROBED = {"/healthz", "/readyz", "/metrics", "/status", HELLO}
"""Polled frequently by programs: not logged."""

OTHER = "other"

DISCONNECTED = "gone"
"""The status in the log if the client disconnected before the reply."""

WHOLE = (bytes, dict, Struct)
"""The types of a body that is not streamed."""

KINDS = frozenset({"http", "websocket"})
"""Scopes that are served; the lifespan belongs to the host."""

access = logging.getLogger("antiphon.access")

SocketEndpoint = Callable[["HttpExchange"], Awaitable[None]]


class HttpExchange:
    """Sends the reply to one request, or to the request that opens a WebSocket.

    `status` is 0 until the reply has started; then no other reply is possible.
    """

    __slots__ = (
        *("_gateway", "_id", "began", "is_http", "limits", "receive", "request", "send", "status"),
    )

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, limits: ServerLimits, gateway: Gateway
    ) -> None:
        self.began = time.monotonic()
        self.is_http = scope["type"] == "http"
        self.send = send if self.is_http else _Upgrade(scope, send)
        self._id = new_id("req")
        current.set(About(self._id, trace_id=current.get().trace_id, is_exchange=self.is_http))
        self.request = HttpRequest(scope, receive, limits, gateway.memory)
        self.receive = self.request.receive
        self.limits = limits
        self.status = 0
        self._gateway = gateway

    async def reply(self, status: int, headers: RawHeaders, body: JsonBody | bytes) -> None:
        """Send a complete reply; a large object is encoded in a thread.

        Raises `AntiphonError` (503) if no memory is free for a large one.
        """
        if not isinstance(body, bytes):
            headers = [*JSON, *headers]
            if isinstance(body, LargeObject):
                body = await self._gateway.in_thread(self.request.tenant, encode_large, body)
            else:
                body = encode_json(body)
        headers = [*headers, (b"content-length", b"%d" % len(body))]
        if len(body) < LARGE:
            await self.send(self._head(status, headers))
            await self.send({"type": "http.response.body", "body": body})
            return
        with self._retaining(body):
            await self.send(self._head(status, headers))
            await self._send_pieces(body, more_body=False)

    async def fail(self, error: Exception) -> None:
        """Send an error in its envelope, or abort a reply that has started: returning does that."""
        if self.status:
            _log_broken_off(error)
            return
        known = reportable(error)
        if (on_error := self.request.scope.get(ON_ERROR)) is not None:
            on_error(known)
        if self.request.speaks_messages:
            from antiphon.server.message_errors import error_reply  # noqa: PLC0415 - for the Messages API alone

            await self.reply(*error_reply(known, self.request, self._id))
            return
        await self.reply(known.status, raw_headers(known.headers), {"error": known.body()})

    async def start(self, status: int, headers: RawHeaders) -> None:
        """See `ReplySink`."""
        await self.send(self._head(status, headers))

    async def write(self, body: bytes, *, more_body: bool = True) -> None:
        """See `ReplySink`."""
        if len(body) < LARGE:
            await self.send({"type": "http.response.body", "body": body, "more_body": more_body})
            return
        with self._retaining(body):
            await self._send_pieces(body, more_body=more_body)

    @contextmanager
    def _retaining(self, body: bytes) -> Iterator[None]:
        """Count a large body until its client has read it: for a slow reader the server holds it in
        memory.
        """
        memory = self.request.incoming.memory
        tenant = self.request.tenant
        memory.take(len(body), tenant)
        try:
            yield
        finally:
            memory.release(len(body), tenant)

    async def _send_pieces(self, body: bytes, *, more_body: bool) -> None:
        """Send a large body as its client reads it."""
        last = len(body) - LARGE
        for start in range(0, len(body), LARGE):
            piece = body[start : start + LARGE]
            await self.send(
                {
                    "type": "http.response.body",
                    "body": piece,
                    "more_body": more_body or start < last,
                }
            )

    async def accept(self) -> None:
        """Open the WebSocket."""
        await self.receive()
        await self.send({"type": "websocket.accept", "headers": self._head(101, [])["headers"]})

    def _head(self, status: int, headers: RawHeaders) -> Message:
        """Start the reply: return its first message, with the common headers."""
        self.status = status
        request = self.request
        headers = [*headers, *request.reply_headers, *request.cors_headers]
        if request.is_admitted:
            request.incoming.is_replied_to = True
            if not request.incoming.is_whole:
                headers.append((b"connection", b"close"))
        took = int((time.monotonic() - self.began) * 1000)
        headers += (
            (b"x-request-id", self._id.encode()),
            (b"openai-processing-ms", b"%d" % took),
            *FIXED_HEADERS,
        )
        return {"type": "http.response.start", "status": status, "headers": headers}


class _Upgrade:
    """The reply to a client that requests a WebSocket: a rejection is sent as HTTP, if the host
    supports that.
    """

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


class _HeadOnly:
    """The reply to HEAD: the head of that to GET. It ends there, so a stream sees that its client
    has disconnected.
    """

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._send(message)
            await self._send({"type": "http.response.body", "body": b""})
        elif message.get("more_body"):
            raise ClientDisconnected


def _log_broken_off(error: Exception) -> None:
    """Log why a reply was aborted, unless that is expected."""
    if isinstance(error, AntiphonError):
        log.warning("A reply was aborted: %s", error.gist)
    elif not isinstance(error, CutOff):
        reportable(error)


class EventStream:
    """The events of a run as they arrive. Raises `AntiphonError` before anything was sent."""

    comment = COMMENT
    """Sent after a short silence."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_open = False
        self._is_sending = False
        """Events are being sent: no keepalive is needed."""
        self._filling: asyncio.Event | None = None
        """Set after a keepalive was sent; unset while it is being sent."""
        self._loop = asyncio.get_running_loop()
        self._last_sent = self._last_event = self._loop.time()

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        self._sink = sink
        async with (
            DisconnectWatch(sink.receive, self._tick, GRACE - LATE),
            aclosing(self._run.events()) as batches,
        ):
            last: Sequence[Event] = ()
            async for batch in batches:
                if self._filling is not None:
                    await self._filling.wait()
                if self._run.phase is Phase.FINISHING:
                    last = batch  # it is sent with the end of the body, in one write
                    continue
                self._is_sending = True
                await self._send_events(batch)
                self._is_sending = False
            if self._filling is not None:
                await self._filling.wait()
            self._is_sending = True
            await self._send_events(last, more_body=False)

    async def _tick(self) -> float:
        """Send a keepalive if the stream is silent; return the seconds until the next check."""
        if not self._is_sending:
            filling = self._filling = asyncio.Event()
            try:
                await self._break_silence()
            finally:
                self._filling = None
                filling.set()
        until_comment = self._last_sent + COMMENT_AFTER - self._loop.time()
        return max(until_comment, 0.1)

    async def _break_silence(self) -> None:
        now = self._loop.time()
        if not self._is_open or now - self._last_event >= KEEPALIVE_AFTER:
            await self._send_events(self._run.keepalive_events())
        elif now - self._last_sent >= COMMENT_AFTER:
            self._last_sent = now
            await self._sink.write(self.comment)

    async def _send_events(self, batch: Sequence[Event], *, more_body: bool = True) -> None:
        if batch or not more_body:
            if not self._is_open:
                await self._open()
            self._last_event = self._last_sent = self._loop.time()
            await self._sink.send(
                {"type": "http.response.body", "body": encode(batch), "more_body": more_body}
            )

    async def _open(self) -> None:
        self._is_open = True
        await self._sink.start(200, [*SSE, *run_headers(self._run)])


class RequestMiddleware:
    """The outermost frame: applies the limits to each request, finds its endpoint, sends its reply,
    and counts it.
    """

    def __init__(
        self,
        gateway: Gateway,
        routes: Routes,
        sockets: Mapping[str, SocketEndpoint],
        limits: ServerLimits,
        connections: Connections,
        *,
        has_console: bool = False,
    ) -> None:
        self._routes = routes
        self._sockets = sockets
        self._limits = limits
        self._authentication = Authentication(gateway, has_console=has_console)
        self._keys = gateway.known_keys
        self._requests = gateway.measures.requests.spreads
        self._gateway = gateway
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket.

        All in one frame, since each part of a stream passes through it.
        """
        if scope["type"] not in KINDS:
            return
        exchange = HttpExchange(scope, receive, send, self._limits, self._gateway)
        request = exchange.request
        try:
            try:
                check_origin(request, self._limits)
                if request.method == "OPTIONS" and is_preflight(request.headers):
                    await exchange.reply(200, [], b"")
                    return
                if request.tenant != "":
                    check_tenant(request.tenant)
                request.is_admitted = exchange.is_http
                if (
                    request.path not in OPEN
                    and exchange.began >= self._keys.open_until
                    and await self._keys.are_needed()
                ):
                    is_known = await self._authentication.identify(request)
                    connection = scope.get(CONNECTION)
                    if is_known and (connection is None or connection.tenant != request.tenant):
                        self._connections.admit(request, connection)
                if not exchange.is_http:
                    await self._open(exchange)
                    return
                reply = await self._endpoint(exchange)(request)
                body = reply.body
                if isinstance(body, WHOLE):
                    await exchange.reply(reply.status, reply.headers, body)
                else:
                    await body.send(exchange)
            finally:
                if request.stack is not None:
                    await request.stack.__aexit__(*sys.exc_info())
        except ClientDisconnected:
            pass
        except Exception as error:
            await exchange.fail(error)
        finally:
            if request.incoming.retained:
                self._gateway.memory.release(request.incoming.retained, request.incoming.tenant)
            self._finish(exchange)

    def _endpoint(self, exchange: HttpExchange) -> Endpoint:
        """Return the endpoint of a request, and record its route.

        Raises `ClientError`: 404 for its path, 405.
        """
        request = exchange.request
        route = self._routes.fixed.get(request.path)
        if route is None:
            route, request.path_params = self._routes.match(request)
        request.scope["route"] = route
        endpoint = route.methods.get(request.method)
        if (
            endpoint is None
            and request.method == "HEAD"
            and (endpoint := route.methods.get("GET")) is not None
        ):
            exchange.send = _HeadOnly(exchange.send)
        if endpoint is None:
            has_wrong_base = self._routes.has_wrong_base(request.path)
            raise method_not_supported(request, route.methods, has_wrong_base=has_wrong_base)
        return endpoint

    async def _open(self, exchange: HttpExchange) -> None:
        request = exchange.request
        found = self._sockets.get(request.path)
        if found is None:
            raise unknown_url(request, has_wrong_base=f"{PREFIX}{request.path}" in self._sockets)
        request.scope["route"] = PathRoute(request.path, {})
        await found(exchange)

    def _finish(self, exchange: HttpExchange) -> None:
        """Count the request, and log it: its route, not its path, which can contain anything."""
        status = str(exchange.status or DISCONNECTED)
        route = exchange.request.scope.get("route")
        path = method = OTHER
        if isinstance(route, PathRoute):
            path = route.path_format
            method = OTHER if exchange.status == 405 else exchange.request.method
        took = time.monotonic() - exchange.began
        spread = self._requests[path, method, status]
        spread.counts[bisect_left(HTTP_SECONDS, took)] += 1
        spread.total += took
        if path not in PROBED and access.isEnabledFor(logging.INFO):
            ms = took * 1000
            reported = fields(
                kind="request", route=path, method=method, status=status, ms=round(ms, 1)
            )
            access.info("%s %s %s %.0f ms", method, path, status, ms, extra=reported)
