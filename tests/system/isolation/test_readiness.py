"""`/readyz` of a server whose disk is full, or whose backend lists no models."""

import asyncio
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests.support.command import PATIENCE, Serving, serving
from tests.support.postgres import Postgres, owned_by_a_role
from tests.support.replay import ReplayBackend

REPLY = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

Fill = Callable[[Serving, bool], Awaitable[None]]
"""Takes the room for writes from a server's store, or gives it back."""


async def readiness(server: Serving, http: aiohttp.ClientSession) -> tuple[int, dict[str, Any]]:
    async with http.get(server.url.removesuffix("/v1") + "/readyz") as response:
        return response.status, await response.json()


async def until_ready(server: Serving, http: aiohttp.ClientSession, *, is_ready: bool) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            status, body = await readiness(server, http)
            if (status == 200) == is_ready:
                return body
            await asyncio.sleep(0.05)


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Fill]:
    """The URL of a store, and what fills its disk."""
    if request.param == "sqlite":

        async def limit_files(server: Serving, is_full: bool) -> None:
            _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0 if is_full else most, most))

        return f"sqlite://{tmp_path}/a.db", limit_files
    postgres: Postgres = request.getfixturevalue("postgres")
    url = await owned_by_a_role(postgres)
    role = url.partition("://")[2].partition("@")[0]

    async def take_rights(server: Serving, is_full: bool) -> None:
        how = f"REVOKE INSERT, UPDATE ON secrets FROM {role}" if is_full else f"GRANT ALL ON secrets TO {role}"
        connection = await asyncpg.connect(url)
        await connection.execute(how)
        await connection.close()

    return url, take_rights


async def test_a_store_that_cannot_be_written_is_not_ready_until_it_can_be(
    tmp_path: Path, backend: ReplayBackend, place: tuple[str, Fill]
) -> None:
    url, fill = place
    flags = ("--port", "0", "--backend", backend.url, "--store", url)
    async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
        await until_ready(server, http, is_ready=True)
        await fill(server, True)
        full = await until_ready(server, http, is_ready=False)
        await fill(server, False)
        await until_ready(server, http, is_ready=True)
        await server.stop(signal.SIGTERM)

    assert full == {"status": "unavailable", "store": False, "backends": True}


@asynccontextmanager
async def listing_nothing() -> AsyncIterator[str]:
    """A backend that knows no `/models`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(REPLY)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_a_backend_that_lists_no_models_was_reached(tmp_path: Path) -> None:
    async with listing_nothing() as url:
        flags = ("--port", "0", "--backend", url, "--store", "sqlite://")
        async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
            status, body = await readiness(server, http)
            await server.stop(signal.SIGTERM)

    assert (status, body) == (200, {"status": "ok", "store": True, "backends": True})
