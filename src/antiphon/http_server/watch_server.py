"""A separate listener for monitoring: no proxy reaches it unless an operator configures that.

It has its own connections too, so that metrics can be read while the API has reached its limit of
clients.
"""

import asyncio
import socket
from typing import cast

import uvicorn
from uvicorn.server import ServerState

from antiphon.http_server.asgi import AsgiApp
from antiphon.http_server.closing import ConnectionLimits
from antiphon.http_server.http_limits import HttpConnection

CONNECTIONS = 64
"""Connections at once."""

KEEP_ALIVE = 75
"""Seconds that a connection stays open for the next scrape."""


class WatchServer:
    """Serves an application on a socket from `start` to `close`."""

    def __init__(self, app: AsgiApp) -> None:
        self._config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", HttpConnection),
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
        )
        self._limits = ConnectionLimits(CONNECTIONS, 0)
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Begin to serve."""
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._config.load()
        self._server = await asyncio.get_running_loop().create_server(
            self._connection, sock=listener
        )

    async def close(self) -> None:
        """Stop listening, and close each connection after its running reply."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()

    def _connection(self) -> asyncio.Protocol:
        return HttpConnection(self._config, self._state, {}, limits=self._limits)
