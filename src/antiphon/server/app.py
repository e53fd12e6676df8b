"""The ASGI application: any ASGI server can host it, and another application can mount it."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from starlette.routing import BaseRoute, Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.engine.replay import CutOff
from antiphon.errors import AntiphonError, log, reportable
from antiphon.ids import new_id
from antiphon.server import (
    chat_completions,
    contexts,
    conversations,
    health,
    metrics,
    models,
    openapi,
    responses,
    status,
    usage,
    webhooks,
    websocket,
)
from antiphon.server.access import Door
from antiphon.server.channel import MAX_MESSAGE
from antiphon.server.http import HEADERS, ClientGone, Endpoint, Resources, method_not_supported, reply, unknown_url
from antiphon.server.incoming import Incoming, Room
from antiphon.server.limits import Limits
from antiphon.server.siblings import Siblings
from antiphon.server.visitors import RawHeaders, answer_to_page, check_visitor, is_preflight
from antiphon.telemetry.context import About, about, begin
from antiphon.telemetry.formatters import fields
from antiphon.telemetry.metrics import Counter
from antiphon.webhooks.endpoints import Endpoints

SOCKET_PATHS = ("/v1/responses",)

PROBED = {"/healthz", "/readyz", "/metrics", "/status"}
"""Asked for again and again by programs: worth no line."""

access = logging.getLogger("antiphon.access")

OTHER = "other"

GONE = "gone"
"""Stands for the status where the client left before there was any."""

FIXED_HEADERS = [
    (b"openai-version", b"2020-10-01"),
    (b"access-control-expose-headers", b"X-Request-ID"),
    (b"x-content-type-options", b"nosniff"),
]


def create_app(
    engine: Engine,
    endpoints: Endpoints,
    *,
    has_websocket: bool = True,
    has_metrics: bool = True,
    siblings: Siblings | None = None,
    limits: Limits | None = None,
) -> ASGIApp:
    """Return the application that serves this engine, and these webhook endpoints.

    `siblings` are the processes that serve the same port. Pages of other origins are refused unless `limits` names
    them, also where an application around this one would let them in.
    """
    served = resources(engine, endpoints, has_metrics=has_metrics, siblings=siblings)
    sockets = websocket.resources(engine) if has_websocket else dict.fromkeys(SOCKET_PATHS, responses.refuse_websocket)
    app = Door(_router(served, sockets), engine.api_keys)
    return _Gate(app, engine.measures.requests, limits or Limits())


def resources(
    engine: Engine, endpoints: Endpoints, *, has_metrics: bool = True, siblings: Siblings | None = None
) -> Sequence[Resources]:
    """Return all that is served over HTTP, the first that fits a path in front."""
    parts = (contexts, responses, conversations, chat_completions, models, usage, health, openapi)
    found = [*(part.resources(engine) for part in parts), webhooks.resources(endpoints)]
    found.append(status.resources(engine, siblings))
    if has_metrics:
        found.append(metrics.resources(engine, siblings))
    return found


def _router(parts: Iterable[Resources], sockets: Mapping[str, Endpoint]) -> Router:
    routes: list[BaseRoute] = [Route(path, _Resource(methods)) for part in parts for path, methods in part.items()]
    routes += [WebSocketRoute(path, _Socket(endpoint)) for path, endpoint in sockets.items()]
    return Router(routes, redirect_slashes=False, default=_not_found)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise unknown_url(scope)


class _Resource:
    """One path: its endpoints by method."""

    def __init__(self, methods: Mapping[str, Endpoint]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._methods.get(scope["method"])
        if endpoint is None:
            raise method_not_supported(scope, self._methods)
        await endpoint(scope, receive, send)


class _Socket:
    """One path that is opened as a WebSocket. An object, since of a function the router would make more."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._endpoint(scope, receive, send)


class _Gate:
    """Every request passes here: it is held to the limits, gets its id and headers, and its errors their envelope.

    Specification sections 13 and 14.
    """

    def __init__(self, app: ASGIApp, requests: Counter, limits: Limits) -> None:
        self._app, self._requests, self._limits = app, requests, limits
        self._room = Room(limits.bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            exchange = _Exchange(self._app, scope, receive, send, self._limits)
        elif scope["type"] == "websocket":
            scope[MAX_MESSAGE] = self._limits.body
            exchange = _Exchange(self._app, scope, receive, _Upgrade(scope, send), self._limits)
        else:
            return
        try:
            await exchange.serve(self._room)
        finally:
            labels = exchange.labels
            self._requests.add(*labels)
            _tell(*labels, exchange.milliseconds)


def _tell(route: str, method: str, status: str, took: float) -> None:
    """Write a request's line: its route, not its path, which may hold anything."""
    if route not in PROBED and access.isEnabledFor(logging.INFO):
        told = fields(kind="request", route=route, method=method, status=status, ms=round(took, 1))
        access.info("%s %s %s %.0f ms", method, route, status, took, extra=told)


def _note(error: Exception) -> None:
    """Say in the log why a reply was broken off, unless that is as it should be."""
    if isinstance(error, AntiphonError):
        log.warning("A reply was broken off: %s", error.gist)
    elif not isinstance(error, CutOff):
        reportable(error)


class _Upgrade:
    """The way to a client that asks for a WebSocket: what refuses it goes out as HTTP, where the host can do that."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._can_refuse = "websocket.http.response" in scope.get("extensions", {})

    async def __call__(self, message: Message) -> None:
        if message["type"].startswith("websocket."):
            await self._send(message)
        elif self._can_refuse:
            await self._send({**message, "type": f"websocket.{message['type']}"})
        elif message["type"] == "http.response.start":
            await self._send({"type": "websocket.close"})


class _Exchange:
    """One request and its reply."""

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        self._app, self._scope, self._receive, self._send = app, scope, receive, send
        self._limits = limits
        self._began = time.monotonic()
        self._status = 0
        self._request_id = new_id("req")
        begin(About(self._request_id, trace_id=about().trace_id, is_exchange=scope["type"] == "http"))
        self._headers: RawHeaders = []
        self._incoming: Incoming | None = None

    async def serve(self, room: Room) -> None:
        try:
            await self._serve(room)
        except ClientGone:
            return
        except Exception as error:
            if self._status:
                # Too late for an envelope; breaking off is the only honest end, and returning here does it.
                _note(error)
                return
            await self._refuse(error)
        finally:
            if self._incoming is not None:
                self._incoming.forget()

    async def _serve(self, room: Room) -> None:
        scope, receive = self._scope, self._receive
        headers = check_visitor(scope.get("http_version", ""), scope["headers"], self._limits)
        self._headers = answer_to_page(headers)
        if scope["type"] == "http":
            if is_preflight(scope["method"], headers):
                await reply(self._send_with_headers, 200, {}, b"")
                return
            self._incoming = Incoming(headers, receive, self._limits.body, room)
            receive = self._incoming.receive
        await self._app(scope, receive, self._send_with_headers)

    @property
    def milliseconds(self) -> float:
        """How long it has taken until now."""
        return (time.monotonic() - self._began) * 1000

    @property
    def labels(self) -> tuple[str, str, str]:
        """What is counted of it: route, method, status. Paths and methods that are not served are all the same."""
        route = self._scope.get("route")
        status = str(self._status or GONE)
        if not isinstance(route, Route | WebSocketRoute):
            return OTHER, OTHER, status
        return route.path_format, OTHER if self._status == 405 else self._scope.get("method", "GET"), status

    async def _refuse(self, error: Exception) -> None:
        known = reportable(error)
        headers = {"content-type": "application/json", **known.headers}
        await reply(self._send_with_headers, known.status, headers, msgspec.json.encode({"error": known.body()}))

    async def _send_with_headers(self, message: Message) -> None:
        if message["type"] in {"http.response.start", "websocket.accept"}:
            self._status = message.get("status", 101)
            if self._incoming is not None:
                self._incoming.is_replied_to = True
                if not self._incoming.is_whole:
                    self._headers.append((b"connection", b"close"))
            message["headers"] = [
                *message.get("headers", ()),
                *self._scope.get(HEADERS, ()),
                *self._headers,
                (b"x-request-id", self._request_id.encode()),
                (b"openai-processing-ms", str(int(self.milliseconds)).encode()),
                *FIXED_HEADERS,
            ]
        await self._send(message)
