"""A real model on llama.cpp's own server, behind Antiphon: SmolLM2-135M-Instruct, or what
`ANTIPHON_MODEL` names.

It is asked for little, because it is slow. What it says is its own affair; that it reads what it is
sent, and that what it writes arrives, is Antiphon's.
"""

import asyncio
import json
import re
import signal
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from antiphon.upstream.http import HttpBackend
from antiphon.upstream.probing.interview import stated
from antiphon.upstream.registry import ModelRegistry
from antiphon_verify.reading import fits
from tests.support import recordings
from tests.support.command import antiphon, environment, serving
from tests.system.model_servers.conftest import backend
from tests.system.model_servers.requests import TIDE_AT, deltas_of, raw_events, stream, text_of
from tests.system.model_servers.servers import CHOSEN, REAL, ROOT, ModelServer

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
    pytest.mark.parametrize("server", [REAL], ids=["real model"], indirect=True, scope="session"),
]

MODEL = REAL.model
PING = 1.0
"""Seconds between two comments of the server: see `xllamacpp_server.py`."""

FRANCE = "What is the capital of France?"
DOVER = "When is the tide high in Dover?"
NAMED: Any = {"type": "function", "name": "tide_at"}
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["city", "population"],
    "additionalProperties": False,
}
TEN_LINES = re.search(
    r"## Ten lines.*?```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
)


@pytest.fixture
def codex_request() -> dict[str, Any]:
    """The first request of a run of Codex, as it was recorded, for this model."""
    file = (
        recordings.FOLDER.parent / "clients" / "requests" / "codex-shell-workspace-write.full.json"
    )
    if not file.exists():
        pytest.skip(recordings.MISSING)
    body: dict[str, Any] = json.loads(file.read_bytes())["full"]["body"]
    return body | {"model": MODEL, "max_output_tokens": 60}


@pytest.fixture
def renders_tools(properties: dict[str, Any]) -> bool:
    """Whether the model's template has a place for tools; that of SmolLM2 has none."""
    return bool(properties["chat_template_caps"]["supports_tools"])


@pytest_asyncio.fixture(loop_scope="session")
async def properties(server: ModelServer) -> dict[str, Any]:
    """What the server states about its model."""
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/../props") as response:
        stated: dict[str, Any] = await response.json()
    return stated


def lines(word: str) -> str:
    """A text of 1,300 tokens, which the server has not read before; reading it takes seconds."""
    return " ".join(f"The {word} ship number {number} sails." for number in range(130))


# Texts.


async def test_a_text_and_its_tokens_are_the_servers_own(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    for _ in range(
        2
    ):  # what is in its cache can change a token: the second time it is as for Antiphon
        _, body = await server.send_request(FRANCE, temperature=0, max_tokens=20)
    own = json.loads(body)
    response = await sdk.responses.create(
        model=MODEL, input=FRANCE, temperature=0, max_output_tokens=20
    )

    assert response.usage is not None
    assert response.output_text.strip() == own["choices"][0]["message"]["content"].strip()
    assert response.usage.input_tokens == own["usage"]["prompt_tokens"]
    assert response.usage.output_tokens == own["usage"]["completion_tokens"]


async def test_a_streamed_text_is_the_sum_of_its_deltas(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    events = await stream(sdk, model=MODEL, input=FRANCE, max_output_tokens=20)

    assert len([event for event in events if event["type"] == "response.output_text.delta"]) > 3
    assert deltas_of(events) == text_of(events[-1]["response"])


async def test_a_chain_reaches_the_model_and_its_cache(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    first = await sdk.responses.create(model=MODEL, input="My name is Ada.", max_output_tokens=20)
    second = await sdk.responses.create(
        model=MODEL, input="What is my name?", previous_response_id=first.id, max_output_tokens=20
    )
    turns = (
        ("user", "My name is Ada."),
        ("assistant", first.output_text),
        ("user", "What is my name?"),
    )
    _, body = await server.post(
        messages=[{"role": role, "content": text} for role, text in turns], max_tokens=1
    )
    own = json.loads(body)

    assert first.usage is not None
    assert second.usage is not None
    assert second.output_text
    assert second.usage.input_tokens == own["usage"]["prompt_tokens"]
    assert second.usage.input_tokens_details.cached_tokens >= 0.9 * first.usage.total_tokens


async def test_the_ten_lines_of_the_readme_run(
    front: str, server: ModelServer, tmp_path: Path
) -> None:
    """As they are written there, with this server and this model in place of those of the page."""
    assert TEN_LINES is not None
    program = (
        TEN_LINES[1].replace("http://127.0.0.1:8321/v1", front).replace('"demo"', json.dumps(MODEL))
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=PIPE, stderr=PIPE, env=environment(tmp_path)
    )
    out, err = await process.communicate()

    assert (process.returncode, err.decode()) == (0, "")
    assert len(out.splitlines()) > 1


# Schemas and calls.


async def test_a_text_fits_its_schema(sdk: AsyncOpenAI, server: ModelServer) -> None:
    requested: Any = {"model": MODEL, "input": FRANCE}
    requested["text"] = {
        "format": {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}
    }
    plain = await sdk.responses.create(**requested)
    streamed = (await stream(sdk, **requested))[-1]["response"]

    assert (plain.status, streamed["status"]) == ("completed", "completed")
    assert fits(json.loads(plain.output_text), CITY)
    assert fits(json.loads(text_of(streamed)), CITY)


async def test_the_server_drops_tools_that_its_template_does_not_render(
    server: ModelServer, renders_tools: bool
) -> None:
    """The evidence for `reports.form_of_tools`: the model sees no tools, and no call is forced."""
    if renders_tools:
        pytest.skip(f"the template of {MODEL} renders tools")
    tool = {
        "type": "function",
        "function": {name: TIDE_AT[name] for name in ("name", "description", "parameters")},
    }
    _, without = await server.send_request(DOVER, max_tokens=1)
    status, body = await server.send_request(
        DOVER, max_tokens=20, tools=[tool], tool_choice="required"
    )
    answer = json.loads(body)

    assert status == 200
    assert "tool_calls" not in answer["choices"][0]["message"]
    assert answer["usage"]["prompt_tokens"] == json.loads(without)["usage"]["prompt_tokens"]


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
async def test_a_model_makes_a_required_call(
    sdk: AsyncOpenAI, server: ModelServer, choice: Any
) -> None:
    requested: Any = {"model": MODEL, "input": DOVER, "tools": [TIDE_AT], "tool_choice": choice}
    plain = (await sdk.responses.create(**requested)).to_dict()
    streamed = (await stream(sdk, **requested))[-1]["response"]

    for response in (plain, streamed):
        (call,) = [item for item in response["output"] if item["type"] != "reasoning"]
        assert (call["type"], call["name"], call["status"]) == (
            "function_call",
            "tide_at",
            "completed",
        )
        assert fits(json.loads(call["arguments"]), TIDE_AT["parameters"])


async def test_the_output_of_a_call_is_read(sdk: AsyncOpenAI, server: ModelServer) -> None:
    requested: Any = {"model": MODEL, "tools": [TIDE_AT], "max_output_tokens": 60}
    first = await sdk.responses.create(**requested, input=DOVER, tool_choice=NAMED)
    (call,) = [item for item in first.output if item.type == "function_call"]
    output: Any = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": "High water is at 14:05.",
    }
    after = await sdk.responses.create(
        **requested, previous_response_id=first.id, input=[output], tool_choice="none"
    )

    assert "14:05" in after.output_text


# Codex.


async def test_the_first_request_of_codex_is_answered_or_refused_as_too_long(
    front: str, server: ModelServer, codex_request: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Its instructions and its tools are 9,000 tokens: more than SmolLM2 was trained for."""
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{front}/responses", json=codex_request) as answer,
    ):
        received = await answer.text()

    if properties["default_generation_settings"]["n_ctx"] < 10_000:
        assert (answer.status, json.loads(received)["error"]["code"]) == (
            400,
            "context_length_exceeded",
        )
    else:
        assert answer.status == 200, received
        assert "event: response.failed" not in received


async def test_the_first_request_of_codex_with_one_tool_is_answered(
    front: str, server: ModelServer, codex_request: dict[str, Any]
) -> None:
    tools = [tool for tool in codex_request["tools"] if tool.get("name") == "exec_command"]
    events = [event async for event in raw_events(front, **codex_request | {"tools": tools})]
    response = events[-1]["response"]

    assert response["status"] in ("completed", "incomplete"), response["error"]
    assert response["output"]


# Long prompts.


async def test_comments_while_a_prompt_is_read_are_not_the_first_token(
    front: str, server: ModelServer
) -> None:
    body = {"model": MODEL, "input": lines("first"), "max_output_tokens": 16, "stream": True}
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{front}/responses", json=body) as answer:
            received = await answer.text()
        async with http.get(f"{front}/responses") as listing:
            newest = (await listing.json())["data"][0]

    assert "event: response.failed" not in received
    assert newest["first_token_ms"] > 1.5 * 1000 * PING


async def test_a_prompt_that_takes_too_long_is_reported_with_the_time_and_its_setting(
    server: ModelServer, tmp_path: Path
) -> None:
    limit = 1.5 * PING
    (tmp_path / "antiphon.toml").write_text(backend(server, f"first_byte_timeout = {limit}\n"))
    async with serving(tmp_path, "--port", "0", "--store", "sqlite://") as one:
        events = [event async for event in raw_events(one.url, model=MODEL, input=lines("second"))]
        done = await one.stop(signal.SIGTERM)
    text = f"did not begin its answer within {limit:g} s."

    assert text in events[-1]["response"]["error"]["message"]
    assert [("`first_byte_timeout`" in line) for line in done.err.splitlines() if text in line] == [
        True
    ]


# The probe.


async def test_a_recovered_server_has_the_same_model(server: ModelServer) -> None:
    client = HttpBackend("real", server.url)
    registry = ModelRegistry([client], time.time)
    await registry.refresh()
    (state,) = registry.backends
    before, _ = await stated(state, MODEL)
    await server.stop()
    removed, _ = await stated(state, MODEL)
    await server.start()
    await registry.refresh()
    after, _ = await stated(state, MODEL)
    await client.close()

    assert (removed.digest, after.digest) == ("", before.digest)
    assert registry.context_window(MODEL) == before.profile.context_window


async def test_a_probe_reports_the_abilities_of_the_model(
    server: ModelServer, tmp_path: Path, properties: Any
) -> None:
    store = f"sqlite:///{tmp_path}/antiphon.db"
    requested = ("models", "probe", MODEL, "--backend", server.url, "--store", store)
    done = await antiphon(tmp_path, *requested, "--json", patience=600)
    (found,) = json.loads(done.out)

    assert (done.code, found["profile"]["json_held"]) == (0, True)
    assert found["verdict"]
    if CHOSEN is None:
        assert found["verdict"].startswith("Too weak for coding agents: ")
        assert "it calls no tool unless it is forced to" in found["verdict"]
    assert found["profile"]["context_window"] == properties["default_generation_settings"]["n_ctx"]
