"""Listening sockets of commands, and the listener for metrics alone."""

import socket
from typing import TYPE_CHECKING

from antiphon.build import Application
from antiphon.cli.error_output import cannot_listen
from antiphon.http_server.host import BACKLOG
from antiphon.http_server.workers import Workers
from antiphon.server.application import create_watch_app
from antiphon.server.limits import ServerLimits, hosts_of

if TYPE_CHECKING:
    from antiphon.http_server.watch_server import WatchServer


def listener_at(host: str, port: int, setting: str = "") -> socket.socket:
    """Listen on an address, which is that of a setting. Raises `ConfigError`."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise cannot_listen(host, port, error, setting) from error


async def serve_watchers(
    application: Application,
    host: str,
    listener: socket.socket,
    workers: Workers | None = None,
    *,
    has_metrics: bool = True,
) -> "WatchServer":
    """Serve the metrics on a separate listener, at this host."""
    from antiphon.http_server.watch_server import WatchServer  # noqa: PLC0415 - for processes with this listener

    # Probes use the address of a pod, not a name of the API.
    limits = ServerLimits(hosts=hosts_of(host, ()))
    app = create_watch_app(application.gateway, limits, has_metrics=has_metrics, workers=workers)
    watch = WatchServer(app)
    await watch.start(listener)
    return watch
