"""Builds the ASGI application from settings and parts, for `antiphon serve` and for programs that
mount it.
"""

import sys
from ipaddress import ip_network

from antiphon.build import Application
from antiphon.config import Settings, metrics_key
from antiphon.http_server.asgi import AsgiApp
from antiphon.http_server.workers import Workers
from antiphon.server.application import create_app
from antiphon.server.limits import ServerLimits, hosts_of
from antiphon.server.watchers import WatchAccess

OWN_FILES = 128
"""File descriptors of a process besides those of requests, each of which may need one more for its
backend.
"""


def app_of(
    application: Application,
    settings: Settings,
    limits: ServerLimits,
    workers: Workers | None = None,
    *,
    has_console: bool = True,
) -> AsgiApp:
    """Return the application that serves these parts with the settings, traced if they name a
    collector.

    Without `has_console`, the console is omitted, regardless of the settings.
    """
    app = create_app(
        application.gateway,
        application.endpoints,
        has_websocket=settings.websocket,
        has_metrics=settings.metrics,
        workers=workers,
        limits=limits,
        access=access_of(settings),
        has_console=has_console and settings.console,
    )
    return app if application.traces is None else application.traces.around(app)


def limits_of(settings: Settings) -> ServerLimits:
    """Return the limits of a process: no more connections than it can have open files."""
    return ServerLimits(
        body=settings.max_body,
        connection=max(settings.max_connection_bytes, settings.max_body),
        connections=max(1, min(settings.max_connections, (_most_files() - OWN_FILES) // 2)),
        hosts=hosts_of(settings.host, settings.allowed_hosts),
        origins=frozenset(settings.allowed_origins),
    )


def _most_files() -> int:
    """Return how many files this process can have open."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return sys.maxsize
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def access_of(settings: Settings) -> WatchAccess:
    """Return who can read the metrics on the API's own port. Raises `ConfigError`."""
    networks = tuple(map(ip_network, settings.metrics_networks))
    return WatchAccess(metrics_key(settings), networks, has_listener=bool(settings.metrics_listen))
