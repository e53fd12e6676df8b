"""One server dies, hangs or goes, and another finishes its work; readers lose nothing and see
nothing twice.
"""

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import openai
import pytest
from bench.ports import free_port
from openai import AsyncOpenAI

from antiphon.storage.operations import jobs, leases
from antiphon.testing import assert_event_stream
from antiphon.upstream.demo.backend import DemoBackend
from tests.support.postgres import Postgres
from tests.support.server import RunningServer, serve
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import Model, expected_text, thinking

LIMIT = 15.0
"""Seconds that a take-over may take."""


def nodes(model: Model, folder: Path, store: str, count: int = 2) -> list[Node]:
    return [Node(f"n{i}", folder, free_port(), model.url_for(f"n{i}"), store) for i in range(count)]


async def begin(
    http: aiohttp.ClientSession, node: Node, question: str
) -> tuple[str, list[dict[str, Any]]]:
    """Begin a streamed background response; read until it has said something."""
    body = {"model": "m", "input": question, "background": True, "stream": True}
    async with http.post(f"{node.url}/responses", json=body) as response:
        seen = await response.content.readuntil(b"output_text.delta")
        seen += await response.content.readuntil(b"\n\n")
    events = read(seen)
    return events[0]["response"]["id"], events


def read(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]


async def follow(
    http: aiohttp.ClientSession,
    node: Node,
    response_id: str,
    after: int,
    connected: asyncio.Event | None = None,
) -> tuple[bytes, bool]:
    """What comes after a number, and whether the stream came to its end."""
    body = b""
    try:
        path = f"/responses/{response_id}?stream=true&starting_after={after}"
        async with http.get(node.url + path) as response:
            if connected is not None:
                connected.set()
            async for part in response.content.iter_any():
                body += part
    except aiohttp.ClientError:
        return body, False
    return body, True


@pytest.mark.parametrize("fault", ["kill", "stop", "term"])
async def test_another_server_takes_over(tmp_path: Path, store_url: str, fault: str) -> None:
    async with thinking() as model:
        one, other = nodes(model, tmp_path, store_url)
        async with cluster([one, other]) as http:
            response_id, seen = await begin(http, one, "q")
            if model.requested["q"][0][0] == other.name:  # whichever was quicker to claim it
                one, other = other, one
            connected = asyncio.Event()
            reading = asyncio.create_task(
                follow(http, other, response_id, seen[-1]["sequence_number"], connected)
            )
            await connected.wait()
            if fault == "kill":
                await one.kill()
            elif fault == "stop":
                one.stop()
            else:
                assert await one.end(signal.SIGTERM) == 0
            begun = time.monotonic()
            more, is_whole = await reading
            assert not is_whole, "a reader that was connected through the take-over was not cut off"
            events = seen + read(more)
            while not is_whole:
                more, is_whole = await follow(
                    http, other, response_id, events[-1]["sequence_number"]
                )
                events += read(more)
            took = model.requested["q"][-1][1] - (one.faults[-1] if one.faults else begun)
            assert len(model.requested["q"]) == 2
            assert took < (LIMIT if fault != "term" else 3)

            numbers = [event["sequence_number"] for event in events]
            assert numbers == sorted(set(numbers))
            final = events[-1]["response"]
            assert final["status"] == "completed"
            assert [item["type"] for item in final["output"]] == ["reasoning", "message"]
            assert final["output"][1]["content"][0]["text"] == expected_text("q")
            replays = [await follow(http, other, response_id, 0) for _ in range(2)]
            assert replays[0] == replays[1]
            clean = read(replays[0][0])
            assert [
                e for e in events if e["sequence_number"] in {c["sequence_number"] for c in clean}
            ] == clean
            added = [e for e in clean if e["type"] == "response.output_item.added"]
            assert [e["output_index"] for e in added] == [0, 1]
            # Its numbers have a gap where what was half made has gone; but for that it is like any
            # other.
            assert_event_stream(
                [e | {"sequence_number": i} for i, e in enumerate([events[0], *clean])]
            )
            if fault == "stop":
                one.cont()
                await asyncio.sleep(1)
                assert await follow(http, one, response_id, 0) == replays[0]


async def test_a_job_that_kills_its_workers_fails_after_three(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stateful.parts.store
    await stateful.application.drain()
    stateful.parts.process.accepts_work = True
    _, created = await stateful.post(
        "/responses", json={"model": "m", "input": "q", "background": True, "stream": False}
    )
    for number in range(3):
        assert await store.write(jobs.claim, f"w{number}", 10) is not None
        assert await store.write(leases.expire_worker, f"w{number}", 0)
    stateful.application.start()
    while (response := (await stateful.get(f"/responses/{created['id']}"))[1])[
        "status"
    ] != "failed":
        await asyncio.sleep(0.01)

    assert response["error"]["code"] == "server_error"  # type: ignore[index]


async def test_cancelling_at_another_server_ends_the_backends_call_within_a_second(
    tmp_path: Path, store_url: str
) -> None:
    async with thinking() as model:
        one, other = nodes(model, tmp_path, store_url)
        async with cluster([one, other]) as http:
            for question in ("q0", "q1", "q2", "q3"):
                response_id, _ = await begin(http, one, question)
                runner = model.requested[question][0][0]
                elsewhere = other if runner == one.name else one
                begun = time.monotonic()
                async with http.post(f"{elsewhere.url}/responses/{response_id}/cancel") as response:
                    assert (await response.json())["status"] == "cancelled"
                while question in model.answering:
                    await asyncio.sleep(0.01)
                assert time.monotonic() - begun < 1
                for node in (one, other):
                    async with http.get(f"{node.url}/responses/{response_id}") as response:
                        assert (await response.json())["status"] == "cancelled"


async def test_the_official_sdk_follows_a_response_through_a_take_over(
    tmp_path: Path, store_url: str
) -> None:
    async with thinking() as model:
        one, other = nodes(model, tmp_path, store_url)
        async with (
            cluster([one, other]) as http,
            AsyncOpenAI(base_url=other.url, api_key="x", max_retries=0) as sdk,
        ):
            response_id, seen = await begin(http, one, "q")
            if model.requested["q"][0][0] == other.name:
                one, other = other, one
                sdk = sdk.with_options(base_url=other.url)
            await one.kill()
            numbers = [event["sequence_number"] for event in seen]
            final = None
            while final is None:
                try:
                    async with sdk.responses.stream(
                        response_id=response_id, starting_after=numbers[-1]
                    ) as stream:
                        async for event in stream:
                            numbers.append(event.sequence_number)  # noqa: PERF401 - kept also where it is cut off
                        final = await stream.get_final_response()
                except (openai.APIConnectionError, httpx2.HTTPError):
                    continue

    assert numbers == sorted(set(numbers))
    assert final.output_text == expected_text("q")


async def test_replicas_without_notifications_still_work(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler in transaction mode, which passes no notifications on: slower, that is
    all.
    """
    monkeypatch.setattr("antiphon.storage.postgres.store.listen", receive_nothing)
    url = await postgres.database()
    async with serve(DemoBackend(), store=url) as one, serve(DemoBackend(), store=url) as other:
        await one.application.drain()
        one.parts.process.accepts_work = True
        body = {"model": "demo", "input": "q", "background": True, "stream": True}
        begun = time.monotonic()
        async with one.http.post(f"{one.url}/responses", json=body) as response:
            reported = read(await response.read())
        assert reported[-1]["type"] == "response.completed"
        assert (await other.get(f"/responses/{reported[0]['response']['id']}"))[0] == 200
    assert time.monotonic() - begun < 10


async def receive_nothing(url: str, receive: Any) -> None:
    await asyncio.Event().wait()
