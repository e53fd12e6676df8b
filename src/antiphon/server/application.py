"""The ASGI application: any ASGI server can host it, and another application can mount it."""

from collections.abc import Callable, Sequence

from antiphon.gateway import Gateway, Webhooks
from antiphon.http_server.asgi import AsgiApp
from antiphon.http_server.workers import Workers
from antiphon.server import resources as api
from antiphon.server.admission import PAGES, Connections
from antiphon.server.exchange import HttpExchange, RequestMiddleware
from antiphon.server.limits import ServerLimits
from antiphon.server.reply import Resources
from antiphon.server.resources import (
    chat_completions,
    conversations,
    home,
    models,
    monitoring,
    openapi,
    responses,
    usage,
    webhooks,
)
from antiphon.server.routes import NONE, Later, Routes, upgrade_not_supported
from antiphon.server.watchers import WatchAccess
from antiphon.server.websocket import connection

AT_START = (
    responses,
    conversations,
    chat_completions,
    models,
    usage,
    openapi,
    webhooks,
    home,
    monitoring,
)
"""The resources that are loaded when a server starts; the first request for any other loads it."""


def create_app(
    gateway: Gateway,
    endpoints: Webhooks,
    *,
    has_websocket: bool = True,
    has_metrics: bool = True,
    workers: Workers | None = None,
    limits: ServerLimits | None = None,
    access: WatchAccess | None = None,
    has_console: bool = False,
) -> AsgiApp:
    """Return the application that serves this gateway, and these webhook endpoints.

    `workers` are the processes that serve the same port. Pages of other origins are rejected unless
    `limits` names them, also if a parent application would allow them. `access` says who may read
    metrics. With `has_console`, `/console/` and `/admin/v1` are served.
    """
    limits = limits or ServerLimits()
    parts = resources(
        gateway,
        endpoints,
        has_metrics=has_metrics,
        workers=workers,
        access=access,
        has_console=has_console,
    )
    later = {
        **later_resources(gateway),
        **(console_resources(gateway, workers) if has_console else NONE),
    }
    routes = Routes(parts, later)
    open_socket = connection.endpoint(gateway) if has_websocket else _refuse_socket
    connections = Connections(limits.connections)
    gateway.shared.add("connections", connections.slots)
    sockets = {"/v1/responses": open_socket}
    return RequestMiddleware(gateway, routes, sockets, limits, connections, has_console=has_console)


def create_watch_app(
    gateway: Gateway,
    limits: ServerLimits,
    *,
    has_metrics: bool = True,
    workers: Workers | None = None,
) -> AsgiApp:
    """Return the application of the monitoring listener: every client that reaches it may read."""
    access = WatchAccess(is_listener=True)
    routes = Routes(
        [monitoring.resources(gateway, workers, has_metrics=has_metrics, access=access)]
    )
    return RequestMiddleware(gateway, routes, {}, limits, Connections(limits.connections))


def resources(
    gateway: Gateway,
    endpoints: Webhooks,
    *,
    has_metrics: bool = True,
    workers: Workers | None = None,
    access: WatchAccess | None = None,
    has_console: bool = False,
) -> Sequence[Resources]:
    """Return all HTTP endpoints; the first match of a path counts."""
    parts = (responses, conversations, chat_completions, models, usage, openapi)
    found = [*(part.resources(gateway) for part in parts), webhooks.resources(endpoints)]
    found.append(
        home.resources(gateway, has_metrics=has_metrics, access=access, has_console=has_console)
    )
    return [*found, monitoring.resources(gateway, workers, has_metrics=has_metrics, access=access)]


def later_resources(gateway: Gateway) -> Later:
    """Return the endpoints that are loaded later, by the beginning of their paths."""

    def loaded(name: str) -> Callable[[], Sequence[Resources]]:
        return lambda: [api.load(name).resources(gateway)]

    at_start = {module.__name__.rpartition(".")[2] for module in AT_START}
    return {f"/v1/{name}": loaded(name) for name in api.names() if name not in at_start}


def console_resources(gateway: Gateway, workers: Workers | None = None) -> Later:
    """Return the endpoints of the console: its API and its pages."""

    def admin_resources() -> Sequence[Resources]:
        from antiphon.server import admin  # noqa: PLC0415 - for the console alone

        return admin.resources(gateway, workers)

    def page_resources() -> Sequence[Resources]:
        from antiphon.server.console import pages  # noqa: PLC0415 - for the console alone

        return [pages.resources(gateway)]

    return {"/admin/v1/": admin_resources, PAGES: page_resources}


async def _refuse_socket(exchange: HttpExchange) -> None:
    raise upgrade_not_supported()
