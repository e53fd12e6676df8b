"""A store that loses its API keys closes the server to everyone: it never opens it."""

import asyncio
import os
import shutil
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.command import PATIENCE, Serving, antiphon, pids_below, serving
from tests.support.keys import bearing
from tests.support.postgres import Postgres
from tests.support.replay import ReplayBackend
from tests.support.workers import requesting, until_both_report

BODY = {"model": "m", "input": "Hi", "store": False}

Lose = Callable[[], Awaitable[None]]


@pytest.fixture
def lose(store_url: str, request: pytest.FixtureRequest) -> Lose:
    """What takes the whole store away."""

    async def delete_files() -> None:
        path = Path(store_url.removeprefix("sqlite://"))
        for file in path.parent.glob(f"{path.name}*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()

    async def drop_database() -> None:
        postgres: Postgres = request.getfixturevalue("postgres")
        name = store_url.rpartition("@/")[2].partition("?")[0]
        await postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await postgres.execute(f"CREATE DATABASE {name}")

    return delete_files if store_url.startswith("sqlite") else drop_database


async def new_key(folder: Path, store_url: str) -> str:
    return (await antiphon(folder, "keys", "create", "--store", store_url)).out.strip()


async def status(server: Serving, http: aiohttp.ClientSession, key: str = "") -> int:
    """The status of a request's reply; 0 while no worker listens."""
    with suppress(aiohttp.ClientError):
        async with http.post(
            server.url + "/responses", json=BODY, headers=bearing(key) if key else {}
        ) as response:
            return response.status
    return 0


async def replace_workers(server: Serving) -> None:
    before = set(pids_below(server.process.pid))
    for worker in before:
        os.kill(worker, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        while len(now := set(pids_below(server.process.pid))) < 2 or now & before:
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs: the kernel's list of children can lack one while another is
    reaped.
    """
    with suppress(FileNotFoundError):  # it is reaped
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    return False


async def test_a_store_that_cannot_be_opened_for_a_moment_ends_no_server(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    path = tmp_path / "a.db"
    aside = tmp_path / "aside.db"
    key = await new_key(tmp_path, f"sqlite://{path}")
    flags = (
        "--port",
        "0",
        "--workers",
        "2",
        "--backend",
        backend.url,
        "--store",
        f"sqlite://{path}",
    )
    opened = serving(tmp_path, *flags, ANTIPHON_METRICS_NETWORKS="127.0.0.0/8")
    async with opened as server, requesting() as http:
        await until_both_report(server.url, http)
        first, second = pids_below(server.process.pid)
        path.rename(aside)
        path.mkdir()
        os.kill(first, signal.SIGKILL)
        assert server.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while b"ended with exit code 2" not in await server.process.stderr.readline():
                pass
        assert is_alive(second)
        assert [await status(server, http, one) for one in (key, "")] == [200, 401]
        path.rmdir()
        aside.rename(path)
        os.kill(second, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            while await status(server, http, key) != 200:
                await asyncio.sleep(0.05)
        done = await server.stop(signal.SIGTERM)

    assert done.code == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
async def test_workers_that_find_no_keys_refuse_every_request(
    tmp_path: Path, backend: ReplayBackend, store_url: str, lose: Lose, host: str
) -> None:
    key = await new_key(tmp_path, store_url)
    flags = (
        "--host",
        host,
        "--port",
        "0",
        "--workers",
        "2",
        "--backend",
        backend.url,
        "--store",
        store_url,
    )
    async with serving(tmp_path, *flags) as server, requesting() as http:
        assert [await status(server, http, one) for one in (key, "", "sk-other")] == [200, 401, 401]
        await lose()
        await replace_workers(server)
        seen = [await status(server, http, one) for one in ("", "sk-other", key) * 8]
        async with http.get(server.url.removesuffix("/v1") + "/readyz") as reply:
            ready: dict[str, Any] = await reply.json()
        other = await new_key(tmp_path, store_url)
        async with asyncio.timeout(PATIENCE):
            while await status(server, http, other) != 200:
                await asyncio.sleep(0.05)
        done = await server.stop(signal.SIGTERM)

    assert set(seen) <= {0, 401, 503}
    assert len(backend.requests) == 2
    assert (ready["status"], ready["keys"]) == ("unavailable", False)
    assert "and its store has none" in done.err
