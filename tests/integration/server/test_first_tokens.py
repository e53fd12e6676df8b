"""When the first token of an answer came, and what is said where none came: llama.cpp sends
comments while it reads.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.telemetry.observers import ObservedCall, Observer
from antiphon.upstream.http import HttpBackend
from tests.support.replay import Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import RunningServer, serve

SILENT = {
    "a comment": [b":\n\n"],
    "comments": [b": reading\n\n", b"\n", b": still reading\n\n"],
    "a role": [sse(delta(role="assistant", content=""), done=False)],
    "null": [sse(delta(role="assistant", content=None), done=False)],
}
"""What comes before the first token."""


class Spoken(Observer):
    """How many calls have had a first token."""

    count = 0

    def spoke(self, call: ObservedCall) -> None:
        self.count += 1


@asynccontextmanager
async def observed(
    backend: ReplayBackend, answer: Answer
) -> AsyncIterator[tuple[RunningServer, Spoken]]:
    """A server over a backend that answers so."""
    backend.script, spoken = lambda _: answer, Spoken()
    async with serve(HttpBackend("replay", backend.url)) as server:
        server.parts.run.observers.add(spoken)
        yield server, spoken


async def counted(backend: ReplayBackend, path: str, before: list[bytes], **body: Any) -> list[int]:
    """The number of first tokens once a stream had begun without one, and at its end."""
    go = asyncio.Event()
    async with (
        observed(backend, Answer(before, wait=go, rest=[text("Hello")])) as (server, spoken),
        server.http.post(server.url + path, json=body | {"model": "m", "stream": True}) as response,
    ):
        await response.content.readany()
        begun = spoken.count
        go.set()
        await response.read()
    return [begun, spoken.count]


@pytest.mark.parametrize("before", SILENT.values(), ids=SILENT)
async def test_what_comes_before_an_answer_is_not_its_first_token(
    backend: ReplayBackend, before: list[bytes]
) -> None:
    assert await counted(backend, "/responses", before, input="Hi") == [0, 1]


@pytest.mark.parametrize("name", ["a comment", "comments"])
async def test_comments_that_are_passed_on_are_not_a_first_token(
    backend: ReplayBackend, name: str
) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    assert await counted(backend, "/chat/completions", SILENT[name], messages=messages) == [0, 1]


async def test_a_stream_that_comes_as_one_object_has_a_first_token_too(
    backend: ReplayBackend,
) -> None:
    async with observed(backend, Answer([completion("Hello")], "application/json")) as (
        server,
        spoken,
    ):
        events = [
            event
            async for event in await server.sdk.responses.create(model="m", input="Hi", stream=True)
        ]

    assert (events[-1].type, spoken.count) == ("response.completed", 1)


async def test_an_answer_buffered_until_its_end_has_a_first_token(backend: ReplayBackend) -> None:
    schema = {"type": "object", "properties": {"place": {"type": "string", "pattern": "^\\d$"}}}
    form: Any = {"format": {"type": "json_schema", "name": "answer", "schema": schema}}
    content = sse(delta(content='{"place": "'), delta(content='7"}'), delta("stop"))
    backend.models[0]["owned_by"] = "llamacpp"
    async with observed(backend, Answer([content])) as (server, spoken):
        response = server.sdk.responses.create(model="m", input="Hi", stream=True, text=form)
        events = [event async for event in await response]

    assert (events[-1].type, spoken.count) == ("response.completed", 1)


@pytest.mark.parametrize("stated", [[], [b":\n\n"]], ids=["nothing", "a comment"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_prompt_that_takes_too_long_is_reported_by_the_error_the_log_and_the_facts(
    backend: ReplayBackend, caplog: pytest.LogCaptureFixture, stated: list[bytes], stream: bool
) -> None:
    caplog.set_level(logging.WARNING)
    backend.script = lambda _: Answer(stated, wait=asyncio.Event())
    async with serve(HttpBackend("replay", backend.url, first_byte_timeout=0.2)) as server:
        body = {"model": "m", "input": "Hi", "stream": stream}
        async with server.http.post(f"{server.url}/responses", json=body) as response:
            received = await response.text()
        found: list[dict[str, Any]] = []
        while not found:  # facts are written soon after the answer
            async with server.http.get(f"{server.url}/responses") as listing:
                found = (await listing.json())["data"]
    lines = [
        record.getMessage()
        for record in caplog.records
        if "A call of a model failed" in record.getMessage()
    ]

    assert "within 0.2 s." in received
    assert "in the middle" not in received
    assert (len(lines), "`first_byte_timeout`" in lines[0]) == (1, True)
    (one,) = found
    assert (one["status"], one["first_token_ms"]) == ("failed", None)
    assert "within 0.2 s." in one["error_message"]
