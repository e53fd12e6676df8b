"""What a client learns of a backend that fails: its label and the cause, never its address."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from antiphon.build.backends import backends_of
from antiphon.config import BackendConfig, Settings
from tests.support.replay import JSON, Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve

UNAVAILABLE = "http://127.0.0.1:9/v1"

FAILURES = {
    "a refused key": Answer([b"{}"], JSON, 401),
    "a forbidden model": Answer([b"{}"], JSON, 403),
    "a fault": Answer([b"{}"], JSON, 500),
    "no capacity": Answer([b"{}"], JSON, 503),
    "no words of its own": Answer([b"{}"], JSON, 400),
    "a connection that breaks": Answer([sse(delta(content="Hi"), done=False)], cut=True),
}


@asynccontextmanager
async def configured(*urls: str) -> AsyncIterator[RunningServer]:
    """A server before backends as the settings have them, without names of their own."""
    line = await backends_of(Settings(backends=[BackendConfig(url=url) for url in urls]), {})
    async with serve(*line.backends, shares=line.shares) as backend:
        await backend.parts.models.refresh()
        yield backend


async def request(server: RunningServer, path: str = "/responses", **body: Any) -> str:
    request_body = (
        {"model": "m", "input": "Hi"}
        if path == "/responses"
        else {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    )
    async with server.http.post(server.url + path, json={**request_body, **body}) as response:
        return await response.text()


@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
@pytest.mark.parametrize("more", [{}, {"stream": True}], ids=["plain", "streamed"])
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
async def test_no_reply_has_the_address_of_a_backend(
    backend: ReplayBackend, failure: Answer, more: dict[str, Any], path: str
) -> None:
    backend.script = lambda request: failure
    address = backend.url.removeprefix("http://").removesuffix("/v1")
    async with configured(backend.url) as server:
        try:
            body = await request(server, path, **more)
        except aiohttp.ClientError:  # the reply broke off too
            body = ""

    assert address not in body


async def test_a_backend_that_cannot_be_reached_is_named_by_its_label() -> None:
    async with configured(UNAVAILABLE) as server:
        error = json.loads(await request(server))["error"]

    assert error["message"] == "Backend 'backend-1' is unreachable: connection refused."


async def test_without_any_model_list_each_cause_is_reported() -> None:
    async with configured(UNAVAILABLE, "http://no.such.host.invalid/v1") as server:
        error = json.loads(await request(server))["error"]

    assert error["message"].startswith("None of the 2 backends ")
    assert "'backend-1' is unreachable: connection refused." in error["message"]
    assert error["message"].endswith("'backend-2' is unreachable: DNS lookup failed.")
