"""How a server stops, and several processes that serve one port."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from openai import AsyncOpenAI

from tests.support.command import antiphon, pids_below, serving
from tests.support.metrics import read
from tests.support.replay import Answer, ReplayBackend, delta, sse, text

BODY = {"model": "m", "input": "Hi"}


def slow() -> Any:
    return lambda request: Answer([sse(delta(content="Once"), done=False)], wait=asyncio.Event())


@pytest.mark.parametrize(("name", "grace"), [(signal.SIGINT, "30"), (signal.SIGTERM, "0.2")])
async def test_a_stream_that_has_no_more_time_fails_in_its_own_words(
    tmp_path: Path, backend: ReplayBackend, name: signal.Signals, grace: str
) -> None:
    backend.script = slow()
    flags = ("--port", "0", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    async with serving(tmp_path, *flags, ANTIPHON_GRACE=grace) as server, aiohttp.ClientSession() as http:
        async with http.post(f"{server.url}/responses", json=BODY | {"stream": True}) as response:
            await response.content.readuntil(b"output_text.delta")
            begun = time.monotonic()
            ending = asyncio.create_task(server.stop(name))
            told = await response.read()
        done = await ending

    events = [json.loads(line[6:]) for line in told.split(b"\n") if line.startswith(b"data: ")]
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert "shutting down" in events[-1]["response"]["error"]["message"]
    assert (done.code, done.err) == (0, "")
    assert time.monotonic() - begun < 3


async def test_background_work_is_handed_back_and_made_by_the_next(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    backend.script = slow()
    async with serving(tmp_path, *flags) as server, AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
        made = await sdk.responses.create(model="m", input="Hi", background=True)
        while not backend.requests:
            await asyncio.sleep(0.01)
        done = await server.stop(signal.SIGTERM)
    assert (done.code, done.err) == (0, "")
    backend.script = lambda request: Answer([text("Well")])
    async with serving(tmp_path, *flags) as server, AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
        begun = time.monotonic()
        while (response := await sdk.responses.retrieve(made.id)).status != "completed":
            await asyncio.sleep(0.02)

    assert response.output_text == "Well"
    assert time.monotonic() - begun < 3


async def test_workers_share_a_port_and_everything_else(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--workers", "2", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    async with (
        serving(tmp_path, *flags) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        backend.script = lambda request: Answer([text(*(f"{i} " for i in range(20)))])
        last = None
        for number in range(20):
            body = {"model": "m", "input": f"{number}", "previous_response_id": last}
            async with http.post(f"{server.url}/responses", json=body) as response:
                last = (await response.json())["id"]
        async with http.post(f"{server.url}/responses", json=BODY | {"background": True, "stream": True}) as response:
            told = await response.read()
        response_id = json.loads(told.split(b"data: ")[1].split(b"\n")[0])["response"]["id"]
        for _ in range(6):
            async with http.get(f"{server.url}/responses/{response_id}?stream=true") as response:
                assert await response.read() == told
        children = pids_below(server.process.pid)
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)
        while len(new := pids_below(server.process.pid)) < 2 or children[0] in new:
            await asyncio.sleep(0.05)
        for _ in range(6):
            async with http.get(f"{server.url}/responses/{last}") as response:
                assert response.status == 200
        done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert "another takes its place" in done.err


async def test_whichever_worker_is_asked_tells_what_all_have_counted(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--workers", "2", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    async with (
        serving(tmp_path, *flags) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        for _ in range(12):
            async with http.post(f"{server.url}/responses", json=BODY) as response:
                assert response.status == 200
        for _ in range(4):
            async with http.get(server.url.removesuffix("/v1") + "/metrics") as response:
                numbers = read(await response.text())
            assert numbers["antiphon_responses_total{model=m,status=completed}"] == 12
        done = await server.stop(signal.SIGTERM)

    assert (done.code, done.err) == (0, "")


async def test_workers_end_with_the_process_that_watches_them(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--workers", "2", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    async with serving(tmp_path, *flags) as server:
        children = pids_below(server.process.pid)
        server.process.kill()
        async with asyncio.timeout(10):
            while any(map(lives, children)):
                await asyncio.sleep(0.02)


async def test_workers_need_a_store_that_they_can_share(tmp_path: Path, backend: ReplayBackend) -> None:
    done = await antiphon(tmp_path, "serve", "--workers", "2", "--port", "0", "--store", "sqlite://")

    assert done.code == 2
    assert "share" in done.err


async def test_a_setting_that_is_wrong_ends_all_workers(tmp_path: Path, backend: ReplayBackend) -> None:
    (tmp_path / "a.db").write_text("no database, and long enough to be seen as none " * 100)
    flags = ("--workers", "2", "--port", "0", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    done = await antiphon(tmp_path, "serve", *flags)

    assert done.code == 2
    assert "is not an SQLite database" in done.err


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
