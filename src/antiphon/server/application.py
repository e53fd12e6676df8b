"""The ASGI application: any ASGI server can host it, and another application can mount it."""

import logging
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from antiphon.gateway import Endpoints, Engine, Gateway
from antiphon.server.admission import OPEN, Authentication
from antiphon.server.asgi import AsgiApp, ClientGone, Receive, Scope, Send
from antiphon.server.exchange import Endpoint, HttpExchange, Resources
from antiphon.server.limits import Limits
from antiphon.server.origin import check_origin, is_preflight
from antiphon.server.request import HttpRequest, Room, method_not_supported, unknown_url, upgrade_not_supported
from antiphon.server.resources import (
    chat_completions,
    conversations,
    models,
    openapi,
    operations,
    responses,
    usage,
    webhooks,
)
from antiphon.server.uvicorn.workers import Workers
from antiphon.server.websocket import connection
from antiphon.telemetry.formatters import fields

PROBED = {"/healthz", "/readyz", "/metrics", "/status"}
"""Asked for again and again by programs: worth no line."""

OTHER = "other"

GONE = "gone"
"""Stands for the status where the client left before there was any."""

KINDS = frozenset({"http", "websocket"})
"""Scopes that are served; the lifespan is its host's."""

access = logging.getLogger("antiphon.access")

SocketEndpoint = Callable[[HttpExchange], Awaitable[None]]


def create_app(
    engine: Engine,
    endpoints: Endpoints,
    *,
    has_websocket: bool = True,
    has_metrics: bool = True,
    workers: Workers | None = None,
    limits: Limits | None = None,
) -> AsgiApp:
    """Return the application that serves this engine, and these webhook endpoints.

    `workers` are the processes that serve the same port. Pages of other origins are refused unless `limits` names
    them, also where an application around this one would let them in.
    """
    gateway = Gateway(engine)
    routes = Routes(resources(gateway, endpoints, has_metrics=has_metrics, workers=workers))
    open_socket = connection.endpoint(gateway) if has_websocket else _refuse_socket
    return RequestMiddleware(gateway, routes, {"/v1/responses": open_socket}, limits or Limits())


def resources(
    gateway: Gateway, endpoints: Endpoints, *, has_metrics: bool = True, workers: Workers | None = None
) -> Sequence[Resources]:
    """Return all that is served over HTTP, the first that fits a path in front."""
    parts = (responses, conversations, chat_completions, models, usage, openapi)
    found = [*(part.resources(gateway) for part in parts), webhooks.resources(endpoints)]
    return [*found, operations.resources(gateway, workers, has_metrics=has_metrics)]


async def _refuse_socket(exchange: HttpExchange) -> None:
    raise upgrade_not_supported()


@dataclass(frozen=True, slots=True)
class Route:
    """One path, with its endpoints by method. `path_format` has the names of its parts in braces."""

    path_format: str
    methods: Mapping[str, Endpoint]


class Routes:
    """Finds the endpoint of a request: paths without parts in one look, the others by pattern."""

    def __init__(self, found: Iterable[Resources]) -> None:
        self._fixed: dict[str, Route] = {}
        self._patterns: list[tuple[re.Pattern[str], Route]] = []
        for each in found:
            for path, methods in each.items():
                self._add(path, methods)

    def find(self, request: HttpRequest) -> Endpoint:
        """Return the endpoint of a request, and note its route. Raises `ClientError`: 404 for its path, 405."""
        params: Mapping[str, str] = {}
        route = self._fixed.get(request.path)
        if route is None:
            route, params = self._match(request)
        request.scope["route"], request.path_params = route, params
        endpoint = route.methods.get(request.method)
        if endpoint is None:
            raise method_not_supported(request, route.methods)
        return endpoint

    def _match(self, request: HttpRequest) -> tuple[Route, Mapping[str, str]]:
        for pattern, route in self._patterns:
            if matched := pattern.fullmatch(request.path):
                return route, matched.groupdict()
        raise unknown_url(request)

    def _add(self, path: str, methods: Mapping[str, Endpoint]) -> None:
        path_format = path.replace(":path}", "}")
        route = Route(path_format, methods)
        if "{" not in path:
            self._fixed[path] = route
            return
        pattern = re.sub(r"{(\w+):path}", r"(?P<\1>.*)", path)
        self._patterns.append((re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", pattern)), route))


class RequestMiddleware:
    """The outermost frame: holds each request to the limits, finds its endpoint, sends its reply, and counts it."""

    def __init__(self, gateway: Gateway, routes: Routes, sockets: Mapping[str, SocketEndpoint], limits: Limits) -> None:
        self._routes, self._sockets, self._limits = routes, sockets, limits
        self._authentication = Authentication(gateway)
        self._is_key_needed = gateway.needs_key
        self._requests = gateway.requests
        self._room = Room(limits.bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket. All in one frame, since each part of a stream comes through it."""
        if scope["type"] not in KINDS:
            return
        exchange = HttpExchange(scope, receive, send, self._limits, self._room)
        request = exchange.request
        try:
            try:
                check_origin(request, self._limits)
                if request.method == "OPTIONS" and is_preflight(request.headers):
                    await exchange.reply(200, [], b"")
                    return
                request.is_admitted = exchange.is_http
                if request.path not in OPEN and await self._is_key_needed():
                    await self._authentication.identify(request)
                if not exchange.is_http:
                    await self._open(exchange)
                    return
                reply = await self._routes.find(request)(request)
                body = reply.body
                if isinstance(body, bytes):
                    await exchange.reply(reply.status, reply.headers, body)
                else:
                    await body.send(exchange)
            finally:
                if request.stack is not None:
                    await request.stack.__aexit__(*sys.exc_info())
        except ClientGone:
            pass
        except Exception as error:
            await exchange.fail(error)
        finally:
            self._room.give_back(request.incoming.held)
            self._finish(exchange)

    async def _open(self, exchange: HttpExchange) -> None:
        request = exchange.request
        found = self._sockets.get(request.path)
        if found is None:
            raise unknown_url(request)
        request.scope["route"] = Route(request.path, {})
        await found(exchange)

    def _finish(self, exchange: HttpExchange) -> None:
        """Count the request, and write its line: its route, not its path, which may hold anything."""
        status, route = str(exchange.status or GONE), exchange.request.scope.get("route")
        path = method = OTHER
        if isinstance(route, Route):
            path, method = route.path_format, OTHER if exchange.status == 405 else exchange.request.method
        self._requests.add(path, method, status)
        if path not in PROBED and access.isEnabledFor(logging.INFO):
            took = exchange.milliseconds
            told = fields(kind="request", route=path, method=method, status=status, ms=round(took, 1))
            access.info("%s %s %s %.0f ms", method, path, status, took, extra=told)
