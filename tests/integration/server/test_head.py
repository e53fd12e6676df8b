"""HEAD: the head of the reply to GET, for uptime checks, `curl --head`, and the size of a file."""

import asyncio
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.integration.server.test_background import BODY, retained
from tests.support.raw import state
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer

PATHS = [
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/console/",
    "/v1/models",
    "/v1/responses",
]


@pytest.mark.parametrize("path", PATHS)
async def test_it_has_the_status_and_the_type_of_get(server: RunningServer, path: str) -> None:
    address = server.url.removesuffix("/v1") + path
    async with server.http.get(address) as wanted, server.http.head(address) as found:
        assert (found.status, found.headers["content-type"]) == (
            wanted.status,
            wanted.headers["content-type"],
        )
        assert await found.read() == b""


async def test_no_body_follows_the_head(server: RunningServer) -> None:
    reply = await state(
        server.url, b"HEAD /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    )
    head, _, body = reply.partition(b"\r\n\r\n")
    assert (head.splitlines()[0], body) == (b"HTTP/1.1 200 OK", b"")
    assert b"content-length: 0" not in head


async def test_it_reports_the_size_of_a_file(stateful: RunningServer) -> None:
    form = aiohttp.FormData({"purpose": "user_data"})
    form.add_field("file", b"x" * 300_000, filename="a.txt")
    _, created = await stateful.post("/files", data=form)
    async with stateful.http.head(f"{stateful.url}/files/{created['id']}/content") as response:
        assert (response.status, response.headers["content-length"]) == (200, "300000")


async def test_it_does_not_wait_for_the_end_of_a_stream(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = retained(go)
    async with await stateful.sdk.responses.create(**BODY, stream=True) as stream:
        created = await anext(stream)
        path = urlsplit(f"{stateful.url}/responses/{created.response.id}").path
        request = f"HEAD {path}?stream=true HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        head, _, body = (await state(stateful.url, request.encode())).partition(b"\r\n\r\n")
        go.set()
    assert b"text/event-stream" in head
    assert (head.splitlines()[0], body) == (b"HTTP/1.1 200 OK", b"")


@pytest.mark.parametrize(
    ("path", "status"), [("/models/none", 404), ("/nowhere", 404), ("/responses/compact", 405)]
)
async def test_what_get_refuses_it_refuses(server: RunningServer, path: str, status: int) -> None:
    async with server.http.head(server.url + path) as response:
        assert (response.status, await response.read()) == (status, b"")
