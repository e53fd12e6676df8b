"""Real backends' answers through the whole server: HTTP in, HTTP out, read by the official SDK."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import Response

from antiphon.testing import assert_event_stream, fold
from antiphon.upstream.http import HttpBackend
from tests.support.openai_types import OpenAITypes
from tests.support.recordings import MISSING, recorded
from tests.support.replay import JSON, STREAM, Answer, ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.translate import at_random
from tests.unit.translation.from_chat.test_recordings import expected_status, of_one_choice, read

STREAMS = recorded("*.sse")
PLAIN = recorded("*.json")
pytestmark = pytest.mark.skipif(not STREAMS, reason=MISSING)

SHARES = 8
AT_ONCE = 16
TYPES = OpenAITypes()


def share(paths: list[Path], number: int) -> list[Path]:
    return of_one_choice(paths)[number::SHARES]


def parts(path: Path) -> list[bytes]:
    """The answer as it might arrive: cut anywhere, the same each time."""
    return [part for part in at_random(path.name)(path.read_bytes()) if part]


def text_of(response: Any) -> str:
    return "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )


def dialects(path: Path) -> dict[str, str]:
    return {"replay": "snowflake"} if path.name.startswith("snowflake") else {}


async def stream(server: RunningServer, path: Path) -> list[dict[str, Any]]:
    """The events of the server's answer to a request that tells the backend which recording to
    send.
    """
    body = {"model": "m", "input": path.name, "stream": True}
    async with server.http.post(f"{server.url}/responses", json=body) as response:
        assert response.status == 200, await response.text()
        blocks = (await response.read()).decode().split("\n\n")
    return [
        json.loads(block.partition("\ndata: ")[2])
        for block in blocks
        if block.startswith("event: ")
    ]


async def check_stream(server: RunningServer, path: Path) -> None:
    events = await stream(server, path)
    terminal = events[-1]["response"]
    _, stored = await server.get(f"/responses/{terminal['id']}")

    assert_event_stream(events)
    assert [error for event in events for error in TYPES.errors(event)] == []
    assert stored.pop("output_text") == text_of(terminal)
    assert fold(events) == terminal == stored
    assert text_of(terminal).strip() == read(path).text.strip()
    assert terminal["status"] == expected_status(path)


def is_refusal(path: Path) -> bool:
    """Whether a plain answer is an error that says that the request is wrong."""
    answer = json.loads(path.read_bytes())
    error = answer.get("error", answer)
    return isinstance(error, dict) and error.get("code") in (400, "invalid_request_error")


async def check_plain(server: RunningServer, path: Path) -> None:
    status, body = await server.post("/responses", json={"model": "m", "input": path.name})
    if expected_status(path) == "failed":
        assert status == (400 if is_refusal(path) else 502), body
        return
    assert status == 200, body
    assert Response.model_validate(body).output_text == text_of(body)
    assert text_of(body).strip() == read(path).text.strip()


def sent(request: dict[str, Any]) -> Answer:
    """The recording that the user's message names."""
    path = BY_NAME[request["messages"][-1]["content"]]
    return (
        Answer(parts(path), STREAM) if path.suffix == ".sse" else Answer([path.read_bytes()], JSON)
    )


BY_NAME = {path.name: path for path in [*STREAMS, *PLAIN]}


async def check_all(paths: list[Path], check: Any) -> None:
    """Check the recordings, several at once, each family's in the dialect that ends as it does."""
    for names in ({}, {"replay": "snowflake"}):
        async with (
            ReplayBackend(sent).serve() as backend,
            serve(HttpBackend("replay", backend.url), dialects=names) as server,
        ):
            chosen = [path for path in paths if dialects(path) == names]
            for start in range(0, len(chosen), AT_ONCE):
                await asyncio.gather(
                    *(check(server, path) for path in chosen[start : start + AT_ONCE])
                )


@pytest.mark.wide
@pytest.mark.parametrize("number", range(SHARES))
async def test_every_recorded_stream_is_sound_at_the_client_and_in_the_store(number: int) -> None:
    await check_all(share(STREAMS, number), check_stream)


@pytest.mark.wide
async def test_every_recorded_plain_answer_reads_as_a_response() -> None:
    await check_all(of_one_choice(PLAIN), check_plain)


@pytest.mark.wide
async def test_the_sdk_reads_recorded_streams_by_its_own_helper() -> None:
    async with (
        ReplayBackend(sent).serve() as backend,
        serve(HttpBackend("replay", backend.url)) as server,
    ):
        for path in [path for path in share(STREAMS, 0) if expected_status(path) == "completed"]:
            async with server.sdk.responses.stream(model="m", input=path.name) as stream:
                stated = [
                    event.delta
                    async for event in stream
                    if event.type == "response.output_text.delta"
                ]
                final = await stream.get_final_response()
            assert "".join(stated) == final.output_text
