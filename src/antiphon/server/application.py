"""The ASGI application: any ASGI server can host it, and another application can mount it."""

from collections.abc import Sequence

from antiphon.gateway import Gateway, Webhooks
from antiphon.http_server.asgi import AsgiApp
from antiphon.http_server.workers import Workers
from antiphon.server.admission import PAGES, Connections
from antiphon.server.exchange import HttpExchange, RequestMiddleware
from antiphon.server.limits import ServerLimits
from antiphon.server.reply import Resources
from antiphon.server.resources import (
    chat_completions,
    conversations,
    home,
    models,
    openapi,
    operations,
    responses,
    usage,
    webhooks,
)
from antiphon.server.routes import NONE, Later, Routes, upgrade_not_supported
from antiphon.server.watchers import WatchAccess
from antiphon.server.websocket import connection


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
        **file_resources(gateway),
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
        [operations.resources(gateway, workers, has_metrics=has_metrics, access=access)]
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
    return [*found, operations.resources(gateway, workers, has_metrics=has_metrics, access=access)]


def file_resources(gateway: Gateway) -> Later:
    """Return the endpoints of files, vector stores, containers, prompts and images."""

    def files() -> Sequence[Resources]:
        from antiphon.server.resources import files  # noqa: PLC0415 - for requests with files alone

        return [files.resources(gateway)]

    def uploads() -> Sequence[Resources]:
        from antiphon.server.resources import uploads  # noqa: PLC0415 - the same

        return [uploads.resources(gateway)]

    def vector_stores() -> Sequence[Resources]:
        from antiphon.server.resources import vector_stores  # noqa: PLC0415 - the same

        return [vector_stores.resources(gateway)]

    def containers() -> Sequence[Resources]:
        from antiphon.server.resources import containers  # noqa: PLC0415 - the same

        return [containers.resources(gateway)]

    def prompts() -> Sequence[Resources]:
        from antiphon.server.resources import prompts  # noqa: PLC0415 - the same

        return [prompts.resources(gateway)]

    def images() -> Sequence[Resources]:
        from antiphon.server.resources import images  # noqa: PLC0415 - for requests for images alone

        return [images.resources(gateway)]

    return {
        "/v1/files": files,
        "/v1/uploads": uploads,
        "/v1/vector_stores": vector_stores,
        "/v1/containers": containers,
        "/v1/prompts": prompts,
        "/v1/images/": images,
    }


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
