"""`antiphon demo-backend`: two endpoints, and nothing of Antiphon in front of them."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from antiphon.cli.demo_backend import demo_app
from antiphon.upstream.backend import Reply
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.refusing import REFUSALS, RefusingDemoBackend
from antiphon_verify.exchange import read_frames
from tests.support.cli import antiphon
from tests.support.waiting import let_others_run
from tests.support.web_app import serving_app

HELLO = {"model": "demo", "messages": [{"role": "user", "content": "Hello."}]}


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    server = TestServer(demo_app(DemoBackend()))
    await server.start_server()
    async with aiohttp.ClientSession(str(server.make_url("/v1/"))) as session:
        yield session
    await server.close()


async def test_it_lists_one_model(client: aiohttp.ClientSession) -> None:
    async with client.get("models") as answer:
        listed = await answer.json()

    assert (answer.status, [model["id"] for model in listed["data"]]) == (200, ["demo"])


async def test_it_answers_whole_and_as_a_stream(client: aiohttp.ClientSession) -> None:
    async with client.post("chat/completions", json=HELLO) as plain:
        whole = await plain.json()
    async with client.post("chat/completions", json=HELLO | {"stream": True}) as streamed:
        frames = read_frames(await streamed.read())

    assert whole["choices"][0]["message"]["content"]
    assert (plain.content_type, streamed.content_type) == ("application/json", "text/event-stream")
    assert frames[-1].data == "[DONE]"


async def test_a_bad_wronggets_an_error_and_not_a_stream(client: aiohttp.ClientSession) -> None:
    async with client.post(
        "chat/completions", json=HELLO | {"model": "other", "stream": True}
    ) as answer:
        error = await answer.json()

    assert (answer.status, error["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize("path", ["responses", "conversations", "embeddings", "models/demo"])
async def test_it_serves_nothing_else(client: aiohttp.ClientSession, path: str) -> None:
    async with client.post(path, json=HELLO) as answer:
        assert answer.status == 404


class Endless(DemoBackend):
    """Writes until the exchange ends."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    async def post(self, path: str, body: bytes) -> Reply:
        return Reply(200, {"content-type": "text/event-stream"}, self._parts())

    async def _parts(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b": more\n\n"
                await let_others_run()
        finally:
            self.ended.set()


async def test_a_client_that_disconnects_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    backend = Endless()
    async with serving_app(demo_app(backend)) as origin, aiohttp.ClientSession() as session:
        async with session.post(f"{origin}/v1/chat/completions") as answer:
            await answer.content.readany()
        async with asyncio.timeout(10):
            await backend.ended.wait()

    assert caplog.messages == []


async def test_a_port_in_use_is_reported(tmp_path: Path, unused_tcp_port: int) -> None:
    server = TestServer(demo_app(DemoBackend()), port=unused_tcp_port)
    await server.start_server()
    done = await antiphon(tmp_path, "demo-backend", "--port", str(unused_tcp_port))
    await server.close()

    assert done.code == 2
    assert "address already in use. " in done.err and "--port" in done.err


WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}},
}
CALLED = [
    {"role": "user", "content": "Hello."},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "call_123456",
                "type": "function",
                "function": {"name": "get_weather", "arguments": "{}"},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_123456", "content": "Sunny"},
]
BROKEN = json.loads(json.dumps(CALLED).replace('"{}"', '"{"'))
CASES: dict[str, dict[str, Any]] = {
    "messages.system": {
        "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be kind."}]
    },
    "calls.arguments": {"messages": BROKEN},
    "calls.ids": {"messages": CALLED},
    "calls.signatures": {"messages": CALLED},
    "calls.tools": {"messages": CALLED},
    "tools.schema": {
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    },
    "tools.forced": {"tools": [WEATHER], "tool_choice": "required"},
    "tools.format": {"tools": [WEATHER], "response_format": {"type": "json_object"}},
    "sampling.both": {"temperature": 0.5, "top_p": 0.5},
    "sampling.value": {"temperature": 0.5},
    "reasoning.effort": {"reasoning_effort": "medium"},
    "stream.always": {},
}


async def sent_to(backend: DemoBackend, request: dict[str, Any]) -> int:
    reply = await backend.post("/chat/completions", json.dumps(HELLO | request).encode())
    await reply.close()
    return reply.status


@pytest.mark.parametrize("name", REFUSALS)
async def test_it_refuses_what_it_is_started_for_and_nothing_else(name: str) -> None:
    assert await sent_to(RefusingDemoBackend([name]), CASES[name]) in (400, 500)
    assert await sent_to(RefusingDemoBackend([name]), {"stream": True}) == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": ["x"]},
        {"messages": "x"},
        {"model": "other"},
        {"tools": [{"type": "function"}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]},
    ],
)
async def test_a_wrong_wronghas_an_error_whatever_else_is_refused(wrong: dict[str, Any]) -> None:
    assert 400 <= await sent_to(RefusingDemoBackend(REFUSALS), wrong) < 500


async def test_an_unknown_name_is_rejected(tmp_path: Path) -> None:
    ended = await antiphon(tmp_path, "demo-backend", "--refuse", "sampling.bot")
    assert ended.code != 0
    known = (
        "--refuse does not know 'sampling.bot'. Did you mean 'sampling.both'? Names are: "
        "calls.arguments, calls.ids"
    )
    assert known in ended.err
    ended = await antiphon(tmp_path, "demo-backend", "--weak", "--refuse", "sampling.both")
    assert "cannot be combined" in ended.err
