"""The HTTP API as an ASGI application that opens its store and backends at first use: to serve, or
to mount.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.build.hosting import app_of, limits_of
from antiphon.config import Settings
from antiphon.errors import AntiphonError, reportable
from antiphon.http_server.asgi import AsgiApp, Receive, Scope, Send
from antiphon.library.service import IN_APPLICATIONS, LibraryService
from antiphon.server.limits import hosts_of
from antiphon.upstream.backend import Backend

if TYPE_CHECKING:
    from antiphon.agents.registration import Agent


class AsgiApplication:
    """The HTTP API: an ASGI application that opens its store at its first request, or with its
    host's lifespan.

    A host that serves it directly starts and closes it. An application that mounts it passes no
    lifespan on to it: then the first request starts it, and `lifespan`, or `close`, ends it.
    """

    def __init__(self, service: LibraryService, *, has_console: bool = False) -> None:
        self._service = service
        self._has_console = has_console
        self._app: AsgiApp | None = None
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, one WebSocket, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            self._service.check_loop()
            app = self._app or await self._open()
            await app(scope, receive, send)

    async def open(self) -> None:
        """Open the store and the backends; the first request does so too.

        Raises `ConfigError`, `StoreError`.
        """
        if self._app is None:
            await self._open()

    async def close(self) -> None:
        """Release everything. The next process that opens the store continues background work.

        The application can be opened again, also in another event loop, as the tests of a program
        need.
        """
        await self._service.close()
        self._app, self._opening = None, asyncio.Lock()
        self._service.reset()

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None, None]:
        """Open it, and close it at the end: `FastAPI(lifespan=api.lifespan)`, also with
        Starlette.
        """
        await self.open()
        try:
            yield
        finally:
            await self.close()

    async def _open(self) -> AsgiApp:
        async with self._opening:
            if self._app is None:
                application = await self._service.open()
                settings = self._service.settings
                limits = replace(limits_of(settings), hosts=hosts_of("", settings.allowed_hosts))
                self._app = app_of(application, settings, limits, has_console=self._has_console)
            return self._app

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.open()
        except Exception as error:
            message = (
                error.message if isinstance(error, AntiphonError) else reportable(error).message
            )
            await send({"type": "lifespan.startup.failed", "message": message})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})


def asgi(
    settings: Settings | None = None,
    *,
    backend: str | Backend | None = None,
    key: str = "",
    store: str | None = None,
    console: bool = False,
    agents: "Sequence[Agent]" = (),
) -> AsgiApplication:
    """Return the HTTP API as an ASGI application, to serve with any ASGI server or to mount in another application.

    The arguments are those of `Antiphon`. Requests need an API key only if the store has one, so protect the
    application if other people can reach it. With `console`, it also serves the console. `agents` are your own, which it runs in
    this process. Raises `ConfigError`.

    >>> import antiphon
    >>> from starlette.applications import Starlette
    >>> api = antiphon.asgi(antiphon.Settings(store="sqlite://"))
    >>> app = Starlette(lifespan=api.lifespan)
    >>> app.mount("/ai", api)  # clients use the base URL http://…/ai/v1
    """  # noqa: E501 - a table, a diagram or an example
    return AsgiApplication(
        LibraryService(
            settings,
            backend,
            key,
            store,
            rejects=IN_APPLICATIONS,
            what="application",
            agents=agents,
        ),
        has_console=console,
    )
