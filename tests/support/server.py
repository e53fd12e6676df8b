"""The whole server on a port of this process's loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
from openai import AsyncOpenAI

from antiphon import ids
from antiphon.backends.base import Backend
from antiphon.engine.models import Models
from antiphon.engine.run import Engine
from antiphon.server.app import create_app
from antiphon.server.host import Host
from antiphon.store.sqlite import SqliteStore


@dataclass
class Served:
    """A running server: its base URL, its parts, an SDK client and a plain HTTP client."""

    url: str
    engine: Engine
    sdk: AsyncOpenAI
    http: aiohttp.ClientSession

    async def post(self, path: str, **kwargs: object) -> tuple[int, dict[str, object]]:
        """POST and return status and JSON."""
        async with self.http.post(self.url + path, **kwargs) as response:  # type: ignore[arg-type]
            return response.status, await response.json()

    async def get(self, path: str) -> tuple[int, dict[str, object]]:
        """GET and return status and JSON."""
        async with self.http.get(self.url + path) as response:
            return response.status, await response.json()


@asynccontextmanager
async def serve(
    *backends: Backend, store: str = "sqlite://", dialects: dict[str, str] | None = None
) -> AsyncIterator[Served]:
    """Serve these backends; everything is closed at the end."""
    engine = Engine(Models(backends, ids.now, dialects), SqliteStore.open(store), ids.new_id, ids.now)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    host = Host(create_app(engine), "127.0.0.1", port)
    serving = asyncio.create_task(host.serve())
    await host.listening.wait()
    url = f"http://127.0.0.1:{port}/v1"
    sdk = AsyncOpenAI(base_url=url, api_key="sk-test", max_retries=0)
    try:
        async with aiohttp.ClientSession() as http:
            yield Served(url, engine, sdk, http)
    finally:
        await sdk.close()
        host.should_exit = host.force_exit = True
        with suppress(asyncio.CancelledError):
            await serving
        for backend in backends:
            await backend.close()
        await engine.store.close()
