"""`antiphon serve`: the server."""

import asyncio
import gc
import json
import logging
import resource
import shlex
import socket
import sys
from contextlib import suppress
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from antiphon.cli.settings import BackendFlag, ConfigFlag, StoreFlag, read_settings
from antiphon.config import Settings
from antiphon.engine.models import Served
from antiphon.errors import ConfigError, StoreError, log
from antiphon.server.app import create_app
from antiphon.server.host import Host
from antiphon.version import __version__
from antiphon.wiring import House, build

SHOWN = 8
"""Models of a backend that the ready line names."""

EXPIRE_EVERY = 3600.0
"""Seconds between looks for responses that are old enough to forget."""


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on; 127.0.0.1 by default.")
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port to listen on; 8321 by default.")] = None,
    backend: BackendFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Serve the Responses API."""
    settings = read_settings(config, backend, host=host, port=port, store=store)
    logging.basicConfig(
        level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    # Below that it tells of every request that is no HTTP, and what to install for WebSockets.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    _allow_connections()
    uvloop.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    port = _free_port(settings)
    house = await build(settings)
    try:
        host = Host(create_app(house.engine), settings.host, port)
        expiring = asyncio.create_task(_expire(house, settings))
        serving = asyncio.create_task(host.serve())
        await host.listening.wait()
        _announce(settings, port, house)
        # What is here now stays to the end: not to look through it again and again is 6 % of a request's CPU. And a
        # request leaves next to nothing for the collector, so it need not look after every 700 objects: 2 % more.
        gc.freeze()
        gc.set_threshold(5_000)
        await serving
        expiring.cancel()
    finally:
        await house.close()


def _allow_connections() -> None:
    """Take as many file descriptors as are allowed: a stream needs two, and the usual soft limit is 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _free_port(settings: Settings) -> int:
    """Return the port to listen on. Raises `ConfigError` where it cannot be had."""
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        with socket.create_server((settings.host, settings.port), family=family) as listener:
            port: int = listener.getsockname()[1]
            return port
    except OSError as error:
        raise ConfigError(
            f"Cannot listen on {settings.host}:{settings.port} ({error.strerror}). Choose another with --port."
        ) from error


async def _expire(house: House, settings: Settings) -> None:
    while True:
        with suppress(StoreError):
            await house.engine.store.expire(int(house.engine.now()) - settings.retention_days * 86400)
        await asyncio.sleep(EXPIRE_EVERY)


def _announce(settings: Settings, port: int, house: House) -> None:
    url = f"http://{_reachable(settings.host)}:{port}/v1"
    served = house.engine.models.served
    models = house.engine.models.list()
    console = Console()
    parts = [f"base URL {url}", f"store {house.engine.store.url}", *map(_describe, served)]
    console.print(
        f"Antiphon {__version__} is ready: " + "; ".join(parts), highlight=False, markup=False, soft_wrap=True
    )
    body = json.dumps({"model": models[0]["id"] if models else "MODEL", "input": "Hello!"})
    console.print(
        f"curl {url}/responses -H 'content-type: application/json' -d {shlex.quote(body)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if settings.host not in {"127.0.0.1", "localhost", "::1"}:
        log.warning(
            "Listening on %s: whoever reaches this address can use the models and read the store.", settings.host
        )


def _describe(served: Served) -> str:
    name = f"backend {served.backend.name}" + (f" at {served.backend.url}" if served.backend.url else " (scripted)")
    if served.error:
        return f"{name}: {served.error}"
    names = [model["id"] for model in served.models]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{name} with {', '.join(names[:SHOWN]) + more or 'no models'}"


def _reachable(host: str) -> str:
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"[{address}]" if ":" in address else address
