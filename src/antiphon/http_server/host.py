"""The application on a port: uvicorn, with additional bounds, and a shutdown that loses nothing."""

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Protocol, cast

import uvicorn

from antiphon.http_server.asgi import AsgiApp
from antiphon.http_server.closing import ConnectionLimits
from antiphon.http_server.http_limits import HttpConnection

LAST_WORDS = 1.0
"""Seconds in which aborted replies can still send their error."""

POLL_INTERVAL = 0.05
"""Seconds between checks whether all replies are sent."""

NO_NEWS = ("without completing response", "Invalid UTF-8 sequence received")
"""Expected complaints of uvicorn: an aborted reply, a WebSocket text that is not UTF-8."""

PING_EVERY = 20.0
"""Seconds between pings on a WebSocket, and from a ping to its answer."""

KEEP_ALIVE = 75
"""Seconds that a connection stays open for another request: longer than the timeouts of clients and
proxies (nginx: 60), since the side that closes first cuts off a request in flight.
"""

WEBSOCKET = "antiphon.http_server.websocket_limits"
"""The module of WebSockets. A server without them does not load it, nor the library."""

BACKLOG = 2048
"""Connections that wait to be accepted."""


class HostLimits(Protocol):
    """The limits of one process, from the application's settings."""

    @property
    def connections(self) -> int:
        """Connections of clients, WebSockets among them."""
        ...

    @property
    def body(self) -> int:
        """Bytes of a WebSocket's message, inflated."""
        ...


class HostedService(Protocol):
    """The parts behind the application, which end with the host."""

    async def drain(self) -> None:
        """Accept no new work, and release work that other servers can do.

        Started replies continue.
        """
        ...

    def abort(self) -> None:
        """End every running reply now, with an error."""
        ...


class UvicornHost(uvicorn.Server):
    """Serves an application until a signal, and then returns.

    After SIGTERM running replies have `grace` seconds to finish; after SIGINT none, since a person
    is waiting. Until they have finished it continues to listen, so that health checks of a proxy
    see that it is not ready. A second signal ends everything at once.

    `memory` is the limit for received bytes of incomplete WebSocket messages, of all connections
    together.
    """

    def __init__(
        self,
        app: AsgiApp,
        service: HostedService,
        grace: float,
        *,
        limits: HostLimits,
        memory: int,
        has_websocket: bool = True,
    ) -> None:
        shared = ConnectionLimits(limits.connections, memory)
        protocol = partial(HttpConnection, limits=shared)
        websocket = (
            partial(import_module(WEBSOCKET).BoundedWebSocket, limits=shared)
            if has_websocket
            else None
        )
        super().__init__(
            uvicorn.Config(
                app,
                http=cast("type[asyncio.Protocol]", protocol),
                ws=cast("type[asyncio.Protocol]", websocket) if websocket is not None else "none",
                ws_max_size=limits.body,
                ws_ping_interval=PING_EVERY,
                ws_ping_timeout=PING_EVERY,
                lifespan="off",
                backlog=BACKLOG,
                access_log=False,
                log_config=None,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=int(LAST_WORDS),
            )
        )
        self.listening = asyncio.Event()
        self._service = service
        self._grace = grace
        self._stopping: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and report it by `listening`."""
        for listener in sockets or ():
            # Accepted connections inherit it. asyncio sets it only where the socket names its
            # protocol, and `socket.create_server` does not: every reply would wait 40 ms for the
            # client's delayed ACK.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM without raising them again: the parts behind the server must
        still be closed.
        """
        loop = asyncio.get_running_loop()
        graces = {signal.SIGINT: 0.0, signal.SIGTERM: self._grace}
        for name, grace in graces.items():
            loop.add_signal_handler(name, self.stop, grace)
        try:
            yield
        finally:
            for name in graces:
                loop.remove_signal_handler(name)

    def stop(self, grace: float) -> None:
        """Start the shutdown; a second call ends at once."""
        if self._stopping is not None:
            self.should_exit = self.force_exit = True
        else:
            self._stopping = asyncio.get_running_loop().create_task(self._stop(grace))

    async def _stop(self, grace: float) -> None:
        try:
            await self._service.drain()
            await self._wait_for_replies(grace)
            self._service.abort()
            await self._wait_for_replies(LAST_WORDS)
        finally:
            self.should_exit = True

    async def _wait_for_replies(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self.server_state.tasks and loop.time() < until:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(POLL_INTERVAL)


def silence_uvicorn() -> None:
    """Keep expected events out of the log: a deliberately aborted reply, a request that is not
    HTTP.
    """
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: not any(one in record.getMessage() for one in NO_NEWS)
    )
