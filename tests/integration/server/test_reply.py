"""The heads of replies that are streamed."""

import json
from typing import Any

import pytest

from tests.support.server import RunningServer

HI = {"model": "m", "input": "Hi", "stream": True}
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "response": ("/responses", HI),
    "background response": ("/responses", {**HI, "background": True}),
    "chat completion": (
        "/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True},
    ),
}


@pytest.mark.parametrize(("path", "body"), STREAMS.values(), ids=STREAMS)
async def test_a_stream_disables_buffering_by_proxies(
    server: RunningServer, path: str, body: dict[str, Any]
) -> None:
    async with server.http.post(server.url + path, json=body) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream"), await reply.text()
        assert reply.headers["x-accel-buffering"] == "no"
        await reply.read()


async def test_a_stored_stream_disables_buffering_by_proxies(server: RunningServer) -> None:
    async with server.http.post(
        server.url + "/responses", json={**HI, "background": True}
    ) as reply:
        (first, *_) = [
            json.loads(line[6:])
            for line in (await reply.read()).splitlines()
            if line.startswith(b"data: ")
        ]
    async with server.http.get(
        f"{server.url}/responses/{first['response']['id']}?stream=true"
    ) as again:
        assert (again.headers["cache-control"], again.headers["x-accel-buffering"]) == (
            "no-cache",
            "no",
        )
        await again.read()


async def test_a_reply_that_is_not_streamed_may_be_buffered(server: RunningServer) -> None:
    async with server.http.post(server.url + "/responses", json={**HI, "stream": False}) as reply:
        assert "x-accel-buffering" not in reply.headers
