"""`antiphon demo-backend`: serves the scripted model `demo` by Chat Completions, for testing
gateways.
"""

import asyncio
import signal
from typing import Annotated

import typer
from aiohttp import web

from antiphon.cli.error_output import cannot_listen, did_you_mean
from antiphon.errors import ConfigError
from antiphon.upstream.backend import Backend, Reply
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.images import PATHS
from antiphon.upstream.demo.refusing import REFUSALS, RefusingDemoBackend
from antiphon.upstream.demo.weak import WeakDemoBackend

PREFIX = "/v1"

PATIENCE = 1.0
"""Seconds that answers in progress have to end, once the server stops."""


def demo_backend(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="PORT", min=0, max=65535, help="Port to listen on; 0 chooses a free port."
        ),
    ] = 8322,
    weak: Annotated[
        bool,
        typer.Option(
            "--weak", help="Also serve models with the typical weaknesses of local models."
        ),
    ] = False,
    refuse: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Refuse what some backends refuse; can be repeated."),
    ] = None,
) -> None:
    """Serve the scripted model `demo` as a backend for tests.

    It supports `/v1/chat/completions`, `/v1/models` and image generation, and runs until SIGTERM or
    Ctrl-C.

    Examples:
      antiphon demo-backend --port 8322
      antiphon demo-backend --refuse messages.system --refuse sampling.both
    """
    if weak and refuse:
        raise ConfigError("--weak and --refuse cannot be combined: start two backends.")
    if unknown := next((name for name in refuse or () if name not in REFUSALS), None):
        names = ", ".join(sorted(REFUSALS))
        raise ConfigError(
            f"--refuse does not know '{unknown}'.{did_you_mean(unknown, REFUSALS)} "
            f"Names are: {names}."
        )
    backend = (
        RefusingDemoBackend(refuse) if refuse else WeakDemoBackend() if weak else DemoBackend()
    )
    asyncio.run(_serve(host, port, backend))


async def _serve(host: str, port: int, backend: Backend) -> None:
    runner = web.AppRunner(demo_app(backend), access_log=None, shutdown_timeout=PATIENCE)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise cannot_listen(host, port, error) from error
        listening = runner.addresses[0][1]
        typer.echo(f"http://{f'[{host}]' if ':' in host else host}:{listening}{PREFIX}")
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()
    finally:
        await runner.cleanup()


def demo_app(backend: Backend) -> web.Application:
    """Return a server with four endpoints for a backend; other paths return 404."""

    async def complete(request: web.Request) -> web.StreamResponse:
        return await _send(request, await backend.post("/chat/completions", await request.read()))

    async def draw(request: web.Request) -> web.StreamResponse:
        return await _send(
            request, await backend.post(request.path.removeprefix(PREFIX), await request.read())
        )

    async def models(request: web.Request) -> web.StreamResponse:
        listing = await backend.list_models()
        return web.json_response({"object": "list", "data": list(listing.models)})

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post(f"{PREFIX}/chat/completions", complete)
    app.router.add_get(f"{PREFIX}/models", models)
    for path in PATHS:
        app.router.add_post(f"{PREFIX}{path}", draw)
    return app


async def _send(request: web.Request, reply: Reply) -> web.StreamResponse:
    """Forward the reply of a backend as it arrives."""
    response = web.StreamResponse(
        status=reply.status, headers={"content-type": reply.headers["content-type"]}
    )
    try:
        await response.prepare(request)
        async for part in reply.body:
            await response.write(part)
        await response.write_eof()
    except ConnectionResetError:
        pass  # the gateway disconnected, as a client of the gateway did
    finally:
        await reply.close()
    return response
