"""nginx as the guide configures it: streams, WebSockets, large bodies, what it hides, and servers
that come and go.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from bench.ports import free_port
from websockets.asyncio.client import connect

from tests.support.programs import find, needs
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer
from tests.support.socket import Talk
from tests.system.deploy.proxies import (
    HI,
    Nginx,
    check_events_pass_at_once,
    check_large_files_pass,
    nginx,
)
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.model import expected_text, thinking

PROGRAM = find("nginx") or ""

pytestmark = needs(PROGRAM, "nginx")

JSON = {"content-type": "application/json"}


@pytest.fixture
async def front(server: RunningServer, tmp_path: Path) -> AsyncIterator[Nginx]:
    """nginx before one server."""
    async with nginx(PROGRAM, tmp_path, urlsplit(server.url).netloc) as one:
        yield one


@pytest.fixture
async def client(front: Nginx) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=front.trust)) as http:
        yield http


async def test_each_event_of_a_stream_is_passed_on_as_it_arrives(
    backend: ReplayBackend, front: Nginx, client: aiohttp.ClientSession
) -> None:
    await check_events_pass_at_once(backend, front, client)


async def test_a_websocket_passes_with_several_responses(front: Nginx) -> None:
    async with connect(f"wss://127.0.0.1:{front.port}/v1/responses", ssl=front.trust) as socket:
        talk = Talk(socket)
        first = await talk.created("Hi")
        second = await talk.created("Hello", previous_response_id=first["id"])

    assert (first["status"], second["status"]) == ("completed", "completed")


@pytest.mark.parametrize(
    "path", ["/metrics", "/status", "/healthz", "/readyz", "/openapi.json", "/"]
)
async def test_only_the_api_is_displayed(
    front: Nginx, client: aiohttp.ClientSession, path: str
) -> None:
    async with client.get(front.url.removesuffix("/v1") + path) as response:
        assert response.status == 404
        assert response.headers["server"].startswith("nginx")


async def test_a_body_that_the_server_accepts_passes(
    front: Nginx, client: aiohttp.ClientSession
) -> None:
    async with client.post(
        f"{front.url}/responses", data=body(9_000_000), headers=JSON
    ) as response:
        assert response.status == 200


async def test_a_body_beyond_the_limit_is_refused_at_the_door(
    front: Nginx, client: aiohttp.ClientSession
) -> None:
    async with client.post(
        f"{front.url}/responses", data=body(33 * 1024 * 1024), headers=JSON
    ) as response:
        assert response.status == 413


async def test_files_pass_that_are_larger_than_other_bodies(
    front: Nginx, client: aiohttp.ClientSession
) -> None:
    await check_large_files_pass(front, client)


def body(size: int) -> BytesIO:
    """A request whose input has so many characters."""
    return BytesIO(json.dumps({"model": "m", "input": "x" * size}).encode())


async def request(http: aiohttp.ClientSession, url: str, question: str) -> tuple[int, str]:
    """The status, and what the model said."""
    async with http.post(f"{url}/responses", json={"model": "m", "input": question}) as response:
        reported = json.loads(await response.read())
    content = (
        reported["output"][-1]["content"][0]["text"] if response.status == 200 else str(reported)
    )
    return response.status, content


async def test_a_server_that_was_killed_is_skipped_and_its_background_work_goes_on(
    tmp_path: Path, postgres_store: str
) -> None:
    async with thinking() as model:
        nodes = [
            Node(f"n{i}", tmp_path, free_port(), model.url_for(f"n{i}"), postgres_store)
            for i in range(2)
        ]
        async with cluster(nodes), nginx(PROGRAM, tmp_path, *map(address, nodes)) as front:
            connector = aiohttp.TCPConnector(ssl=front.trust)
            async with aiohttp.ClientSession(connector=connector) as http:
                async with http.post(
                    f"{front.url}/responses", json={**HI, "input": "bg", "background": True}
                ) as created:
                    job = await created.json()
                await model_was_called(model.requested, "bg")
                killed = next(node for node in nodes if node.name == model.requested["bg"][0][0])
                await killed.kill()
                answers = [await request(http, front.url, f"q{number}") for number in range(8)]
                async with asyncio.timeout(60):
                    while job["status"] in {"queued", "in_progress"}:
                        await asyncio.sleep(0.1)
                        async with http.get(f"{front.url}/responses/{job['id']}") as found:
                            job = await found.json()

    assert answers == [(200, expected_text(f"q{number}")) for number in range(8)]
    assert (job["status"], job["output"][-1]["content"][0]["text"]) == (
        "completed",
        expected_text("bg"),
    )


async def test_a_rolling_restart_behind_nginx_fails_no_request(
    tmp_path: Path, postgres_store: str
) -> None:
    """As the guide says: take a server out of the upstream, stop it, start it, put it back."""
    async with thinking() as model:
        nodes = [
            Node(f"n{i}", tmp_path, free_port(), model.url_for(f"n{i}"), postgres_store)
            for i in range(2)
        ]
        async with cluster(nodes), nginx(PROGRAM, tmp_path, *map(address, nodes)) as front:
            connector = aiohttp.TCPConnector(ssl=front.trust, force_close=True)
            async with aiohttp.ClientSession(connector=connector) as http:
                done = asyncio.Event()
                pending = [
                    asyncio.create_task(request_repeatedly(http, front.url, f"c{number}", done))
                    for number in range(4)
                ]
                for node in nodes:
                    await front.reload(
                        PROGRAM, [address(one) + (" down" if one is node else "") for one in nodes]
                    )
                    await until_idle(node)
                    assert await node.end(signal.SIGTERM) == 0
                    await node.start()
                    await front.reload(PROGRAM, list(map(address, nodes)))
                done.set()
                answers = [answer for some in await asyncio.gather(*pending) for answer in some]

    assert len(answers) > 8
    assert {status for _, status, _ in answers} == {200}
    assert all(stated == expected_text(question) for question, _, stated in answers)


def address(node: Node) -> str:
    return f"127.0.0.1:{node.port}"


async def request_repeatedly(
    http: aiohttp.ClientSession, url: str, name: str, done: asyncio.Event
) -> list[tuple[str, int, str]]:
    answers: list[tuple[str, int, str]] = []
    while not done.is_set():
        question = f"{name}-{len(answers)}"
        answers.append((question, *await request(http, url, question)))
    return answers


async def until_idle(node: Node) -> None:
    """Until the server makes no response: nginx sends it none any more."""
    async with aiohttp.ClientSession() as http, asyncio.timeout(30):
        while True:
            async with http.get(node.url.removesuffix("/v1") + "/status") as response:
                if (await response.json())["responses_in_flight"] == 0:
                    return
            await asyncio.sleep(0.05)


async def model_was_called(requested: dict[str, list[tuple[str, float]]], question: str) -> None:
    async with asyncio.timeout(30):
        while question not in requested:
            await asyncio.sleep(0.02)
