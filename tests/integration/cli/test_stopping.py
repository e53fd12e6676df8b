"""How a server stops."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from openai import AsyncOpenAI

from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, leases
from tests.support.cli import antiphon, serving
from tests.support.command import PATIENCE
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.waiting import eventually, until

BODY = {"model": "m", "input": "Hi"}

LONG = str(20 * PATIENCE)
"""A grace that is longer than any test."""


def slow() -> Any:
    return lambda request: Answer([sse(delta(content="Once"), done=False)], wait=asyncio.Event())


@pytest.mark.parametrize(("name", "grace"), [(signal.SIGINT, LONG), (signal.SIGTERM, "0.2")])
async def test_a_stream_that_has_no_more_time_fails_in_its_own_words(
    tmp_path: Path, backend: ReplayBackend, name: signal.Signals, grace: str
) -> None:
    backend.script = slow()
    flags = ("--port", "0", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    async with (
        serving(tmp_path, *flags, ANTIPHON_GRACE=grace) as server,
        aiohttp.ClientSession() as http,
    ):
        async with http.post(f"{server.url}/responses", json=BODY | {"stream": True}) as response:
            await response.content.readuntil(b"output_text.delta")
            ending = asyncio.create_task(server.stop(name))
            text = await response.read()
        done = await ending

    events = [json.loads(line[6:]) for line in text.split(b"\n") if line.startswith(b"data: ")]
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert "shutting down" in events[-1]["response"]["error"]["message"]
    assert (done.code, done.err) == (0, "")


async def test_background_work_is_returned_and_run_by_the_next_worker(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    backend.script = slow()
    async with (
        serving(tmp_path, *flags) as server,
        AsyncOpenAI(base_url=server.url, api_key="x") as sdk,
    ):
        created = await sdk.responses.create(model="m", input="Hi", background=True)
        await until(lambda: backend.requests)
        done = await server.stop(signal.SIGTERM)
    assert (done.code, done.err) == (0, "")
    store = await open_store(flags[-1])
    free = await store.read(leases.beats), (await store.read(jobs.backlog)).jobs
    await store.close()
    backend.script = lambda request: Answer([text("Well")])
    async with (
        serving(tmp_path, *flags) as server,
        AsyncOpenAI(base_url=server.url, api_key="x") as sdk,
    ):
        response = await eventually(
            lambda: sdk.responses.retrieve(created.id),
            lambda response: response.status == "completed",
        )

    assert response.output_text == "Well"
    assert free == ({}, 1), "it waits until another worker finds that its worker died"


async def test_workers_need_a_store_that_they_can_share(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    done = await antiphon(
        tmp_path, "serve", "--workers", "2", "--port", "0", "--store", "sqlite://"
    )

    assert done.code == 2
    assert "share" in done.err
