"""`/readyz` of a server whose disk is full, or whose backend lists no models."""

import asyncio
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from antiphon.upstream.health import MOST_FAILURES, PROBE_AFTER
from tests.support.command import PATIENCE, Serving, serving
from tests.support.postgres import Postgres, owned_by_a_role
from tests.support.replay import ReplayBackend

REPLY = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

MODELS = b'{"object":"list","data":[{"id":"m","object":"model"}]}'
LIST = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: "
    b"close\r\n\r\n%b"
)

Fill = Callable[[Serving, bool], Awaitable[None]]
"""Takes the room for writes from a server's store, or gives it back."""


async def readiness(server: Serving, http: aiohttp.ClientSession) -> tuple[int, dict[str, Any]]:
    async with http.get(server.url.removesuffix("/v1") + "/readyz") as response:
        return response.status, await response.json()


async def until_ready(
    server: Serving, http: aiohttp.ClientSession, *, is_ready: bool
) -> dict[str, Any]:
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
            resource.prlimit(
                server.process.pid, resource.RLIMIT_FSIZE, (0 if is_full else most, most)
            )

        return f"sqlite://{tmp_path}/a.db", limit_files
    postgres: Postgres = request.getfixturevalue("postgres")
    url = await owned_by_a_role(postgres)
    role = url.partition("://")[2].partition("@")[0]

    async def take_rights(server: Serving, is_full: bool) -> None:
        how = (
            f"REVOKE INSERT, UPDATE ON secrets FROM {role}"
            if is_full
            else f"GRANT ALL ON secrets TO {role}"
        )
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
async def replying(reply: bytes, port: int = 0) -> AsyncIterator[str]:
    """A backend that gives one reply to everything."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_a_backend_that_lists_no_models_was_reached(tmp_path: Path) -> None:
    async with replying(REPLY) as url:
        flags = ("--port", "0", "--backend", url, "--store", "sqlite://")
        async with serving(tmp_path, *flags) as server, aiohttp.ClientSession() as http:
            status, body = await readiness(server, http)
            await server.stop(signal.SIGTERM)

    assert (status, body) == (200, {"status": "ok", "store": True, "backends": True})


async def up(server: Serving, http: aiohttp.ClientSession) -> bool:
    """Whether the metrics show the one backend as healthy."""
    async with http.get(server.url.removesuffix("/v1") + "/metrics") as response:
        lines = (await response.text()).splitlines()
    return [
        line.rpartition(" ")[2] for line in lines if line.startswith("antiphon_backend_up{")
    ] == ["1.0"]


async def test_a_backend_that_the_poll_reaches_again_is_healthy_before_any_request(
    tmp_path: Path,
) -> None:
    """It has half the time after which a request would try the backend."""
    (tmp_path / "antiphon.toml").write_text("check_interval = 0.1\n")
    models = LIST % (len(MODELS), MODELS)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        async with replying(models) as url:
            flags = ("--port", "0", "--backend", url, "--store", "sqlite://")
            server = await stack.enter_async_context(serving(tmp_path, *flags))
        for _ in range(MOST_FAILURES):
            async with http.post(
                f"{server.url}/responses", json={"model": "m", "input": "Hi"}
            ) as failed:
                assert failed.status in (502, 503)
        await until_ready(server, http, is_ready=False)
        assert not await up(server, http)
        port = int(url.split(":")[2].split("/")[0])
        async with replying(models, port), asyncio.timeout(PROBE_AFTER / 2):
            await until_ready(server, http, is_ready=True)
            while not await up(server, http):
                await asyncio.sleep(0.05)
        await server.stop(signal.SIGTERM)
