"""SIGHUP: the file is read again while the server serves."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.support.command import Serving, pids_below, serving
from tests.support.replay import Answer, ReplayBackend, echo, text

BODY = {"model": "m", "input": "Hi", "store": False}


def write(folder: Path, *backends: tuple[str, str], more: str = "") -> None:
    tables = (f'[[backends]]\nname = "{name}"\nurl = "{url}"\n' for name, url in backends)
    (folder / "antiphon.toml").write_text(more + "".join(tables))


def spoil(folder: Path, mistake: str | None) -> None:
    """Write a file with a mistake, or take the file away."""
    file = folder / "antiphon.toml"
    file.unlink() if mistake is None else file.write_text(mistake)


async def line_of_log(server: Serving) -> str:
    assert server.process.stderr is not None
    async with asyncio.timeout(20):
        return (await server.process.stderr.readline()).decode()


@asynccontextmanager
async def ready(folder: Path, *flags: str) -> AsyncIterator[tuple[Serving, aiohttp.ClientSession]]:
    # A connection each, so that all workers are asked.
    connector = aiohttp.TCPConnector(force_close=True)
    store = ("--store", f"sqlite://{folder}/a.db")
    async with (
        serving(folder, "--port", "0", *store, *flags) as server,
        aiohttp.ClientSession(connector=connector) as http,
    ):
        yield server, http


async def who_answers(server: Serving, http: aiohttp.ClientSession) -> str:
    async with http.post(server.url + "/responses", json=BODY) as response:
        assert response.status == 200, await response.text()
        return response.headers["antiphon-backend"]


async def until_all_answer(name: str, server: Serving, http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(20):
        while {await who_answers(server, http) for _ in range(6)} != {name}:
            pass


async def until_both_serve(server: Serving, http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(20):
        while True:
            async with http.get(server.url.removesuffix("/v1") + "/status") as response:
                if (await response.json())["workers"] == 2:
                    return


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_new_backends_are_asked_after_a_hangup_and_no_request_fails(
    tmp_path: Path, backend: ReplayBackend, workers: str
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path, "--workers", workers) as (server, http):
            assert await who_answers(server, http) == "old"
            write(tmp_path, ("new", other.url))
            server.process.send_signal(signal.SIGHUP)
            await until_all_answer("new", server, http)
            done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert done.err.count("The settings were read again: 1 backends; added: new; removed: old.") == int(workers)


async def test_what_was_begun_ends_where_it_began(tmp_path: Path, backend: ReplayBackend) -> None:
    go = asyncio.Event()
    whole = text("Hello ", "there")
    slow = Answer([whole[:150]], wait=go, rest=[whole[150:]])
    backend.script = lambda request: slow if request.get("stream") else echo(request)
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with (
            ready(tmp_path) as (server, http),
            http.post(server.url + "/responses", json={**BODY, "stream": True}) as streaming,
        ):
            begun = await streaming.content.readany()
            write(tmp_path, ("new", other.url))
            server.process.send_signal(signal.SIGHUP)
            await until_all_answer("new", server, http)
            go.set()
            rest = await streaming.content.read()

    assert b"response.created" in begun
    assert b"response.completed" in rest
    assert b"there" in rest


@pytest.mark.parametrize(
    "mistake",
    [
        "",
        None,
        "backends = 7",
        "[[backends",
        '[[backends]]\nurl = "ftp://x"\n',
        '[[backends]]\nurl = "http://x"\ndialect = "no"\n',
    ],
    ids=["empty", "gone", "type", "syntax", "url", "dialect"],
)
@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_file_with_a_mistake_is_refused_and_the_old_settings_stay(
    tmp_path: Path, backend: ReplayBackend, mistake: str | None, workers: str
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path, "--workers", workers) as (server, http):
        spoil(tmp_path, mistake)
        server.process.send_signal(signal.SIGHUP)
        line = await line_of_log(server)
        assert {await who_answers(server, http) for _ in range(6)} == {"old"}
        write(tmp_path, ("mended", backend.url))
        server.process.send_signal(signal.SIGHUP)
        await until_all_answer("mended", server, http)
        done = await server.stop(signal.SIGTERM)

    assert "ERROR" in line
    assert "The settings stay as they were." in line
    assert "The settings stay" not in done.err


async def test_a_setting_that_needs_a_new_start_is_named_until_it_is_as_it_was(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path) as (server, http):
        for name, more in (("b", "retention_days = 3\n"), ("c", "retention_days = 3\n"), ("d", "")):
            write(tmp_path, (name, backend.url), more=more)
            server.process.send_signal(signal.SIGHUP)
            await until_all_answer(name, server, http)
        done = await server.stop(signal.SIGTERM)

    assert done.err.count("taken over by the next start: retention_days.") == done.err.count("next start") == 2


async def answers_of_new_workers(server: Serving, http: aiohttp.ClientSession) -> list[str]:
    """End all workers, and ask those that take their place."""
    for worker in pids_below(server.process.pid):
        os.kill(worker, signal.SIGKILL)
    answered: list[str] = []
    async with asyncio.timeout(30):
        while len(answered) < 6:
            with suppress(aiohttp.ClientError):  # until somebody serves again
                answered.append(await who_answers(server, http))
    return answered


async def test_a_worker_that_takes_a_dead_ones_place_begins_with_the_new_settings(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path, "--workers", "2") as (server, http):
            write(tmp_path, ("new", other.url))
            server.process.send_signal(signal.SIGHUP)
            await until_all_answer("new", server, http)
            backend.requests.clear()
            assert set(await answers_of_new_workers(server, http)) == {"new"}

    assert backend.requests == []


@pytest.mark.parametrize("mistake", ["", None, "backends = 7", "[[backends]]\nurl = 'http://127.0.0.1:9/v1'"])
async def test_a_worker_that_takes_a_dead_ones_place_reads_no_file_that_was_not_taken_over(
    tmp_path: Path, backend: ReplayBackend, mistake: str | None
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path, "--workers", "2") as (server, http):
        spoil(tmp_path, mistake)
        assert set(await answers_of_new_workers(server, http)) == {"old"}


async def test_a_hangup_reaches_a_worker_that_has_only_begun(tmp_path: Path, backend: ReplayBackend) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path, "--workers", "2") as (server, http):
            before = pids_below(server.process.pid)
            write(tmp_path, ("new", other.url))
            os.kill(before[0], signal.SIGKILL)
            async with asyncio.timeout(20):
                while not set(pids_below(server.process.pid)) - set(before):
                    await asyncio.to_thread(os.sched_yield)
            server.process.send_signal(signal.SIGHUP)
            await until_both_serve(server, http)
            await until_all_answer("new", server, http)
            done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert done.err.count("added: new; removed: old.") == 2
