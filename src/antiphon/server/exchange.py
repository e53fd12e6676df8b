"""One request and its reply. Every reply goes out here, with the headers that all of them have.

Specification sections 13 and 14.
"""

import time

import msgspec

from antiphon.errors import AntiphonError, log, reportable
from antiphon.gateway import CutOff
from antiphon.ids import new_id
from antiphon.server.body import Room
from antiphon.server.limits import Limits
from antiphon.server.reply import Message, RawHeaders, Receive, Reply, Scope, Send, raw_headers
from antiphon.server.request import HttpRequest
from antiphon.telemetry.context import About, about, begin

FIXED_HEADERS = [
    (b"openai-version", b"2020-10-01"),
    (b"access-control-expose-headers", b"X-Request-ID"),
    (b"x-content-type-options", b"nosniff"),
]


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

    async def reply(self, reply: Reply) -> None:
        """Send a reply. Raises `ClientGone` when the client leaves a stream."""
        body = reply.body
        if isinstance(body, bytes):
            await self.start(reply.status, [*reply.headers, (b"content-length", b"%d" % len(body))])
            await self.send({"type": "http.response.body", "body": body})
        else:
            await body.send(self)

    async def fail(self, error: Exception) -> None:
        """Send an error in its envelope, or break the reply off where it has begun: returning does that."""
        if self.status:
            _log_cut_off(error)
            return
        known = reportable(error)
        body = msgspec.json.encode({"error": known.body()})
        await self.reply(Reply(known.status, raw_headers({"content-type": "application/json", **known.headers}), body))

    async def start(self, status: int, headers: RawHeaders) -> None:
        """See `Sink`."""
        self.status = status
        headers = [*headers, *self._common_headers()]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, body: bytes, *, more_body: bool = True) -> None:
        """See `Sink`."""
        await self.send({"type": "http.response.body", "body": body, "more_body": more_body})

    async def accept(self) -> None:
        """Open the WebSocket."""
        await self.receive()
        self.status = 101
        await self.send({"type": "websocket.accept", "headers": self._common_headers()})

    def _common_headers(self) -> RawHeaders:
        request = self.request
        headers = [*request.reply_headers, *request.cors_headers]
        if request.is_admitted:
            request.incoming.is_replied_to = True
            if not request.incoming.is_whole:
                headers.append((b"connection", b"close"))
        took = int((time.monotonic() - self._began) * 1000)
        return [
            *headers,
            (b"x-request-id", self._id.encode()),
            (b"openai-processing-ms", b"%d" % took),
            *FIXED_HEADERS,
        ]


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


def _log_cut_off(error: Exception) -> None:
    """Say in the log why a reply was broken off, unless that is as it should be."""
    if isinstance(error, AntiphonError):
        log.warning("A reply was broken off: %s", error.gist)
    elif not isinstance(error, CutOff):
        reportable(error)
