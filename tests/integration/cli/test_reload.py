"""SIGHUP: the file is read again while the server serves."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.support.cli import Serving, serving
from tests.support.reload import BODY, answering_backend, spoil, until_all_answer, write
from tests.support.replay import Answer, ReplayBackend, echo, text
from tests.support.workers import requesting


@asynccontextmanager
async def ready(folder: Path) -> AsyncIterator[tuple[Serving, aiohttp.ClientSession]]:
    async with (
        serving(folder, "--port", "0", "--store", f"sqlite://{folder}/a.db") as server,
        requesting() as http,
    ):
        yield server, http


async def test_new_backends_are_called_after_a_hangup_and_no_request_fails(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path) as (server, http):
            assert await answering_backend(server, http) == "old"
            write(tmp_path, ("new", other.url))
            server.send_signal(signal.SIGHUP)
            await until_all_answer("new", server, http)
            done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert done.err.count("The settings were reloaded: 1 backends; added: new; removed: old.") == 1


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
            server.send_signal(signal.SIGHUP)
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
async def test_a_file_with_a_mistake_is_refused_and_the_old_settings_stay(
    tmp_path: Path, backend: ReplayBackend, mistake: str | None
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path) as (server, http):
        spoil(tmp_path, mistake)
        server.send_signal(signal.SIGHUP)
        await server.until(lambda: "The settings were not reloaded" in server.err.text)
        (line,) = server.err.text.splitlines()
        assert {await answering_backend(server, http) for _ in range(6)} == {"old"}
        write(tmp_path, ("mended", backend.url))
        server.send_signal(signal.SIGHUP)
        await until_all_answer("mended", server, http)
        done = await server.stop(signal.SIGTERM)

    assert "ERROR" in line
    assert "The settings were not reloaded." in line
    assert done.err.count("The settings were not reloaded") == 1


@pytest.mark.wide
async def test_a_setting_that_needs_a_new_start_is_named_until_it_is_as_it_was(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path) as (server, http):
        for name, more in (("b", "retention_days = 3\n"), ("c", "retention_days = 3\n"), ("d", "")):
            write(tmp_path, (name, backend.url), more=more)
            server.send_signal(signal.SIGHUP)
            await until_all_answer(name, server, http)
        done = await server.stop(signal.SIGTERM)

    assert done.err.count("settings: retention_days.") == done.err.count("Restart the server") == 2
