"""Presets: a model name of the settings with instructions and hosted tools, for any client."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from antiphon.build.models import options_of
from antiphon.config import ModelConfig
from antiphon.config.models import PriceConfig
from antiphon.tools.registry import Toolset
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.replay import JSON, Answer, ReplayBackend, completion
from tests.support.server import RunningServer, serve
from tests.support.tools import MCP, Servers

DICE = ModelConfig(
    name="m-dice",
    base="m",
    instructions="Roll dice.",
    hosted_tools=[MCP],
    parameters={"temperature": 0.5},
)
CALL = {"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}


def rolls(request: dict[str, Any]) -> Answer:
    """Roll once if dice are offered, then answer."""
    has_rolled = any(message["role"] == "tool" for message in request["messages"])
    if has_rolled or not request.get("tools"):
        return Answer([completion("Five.")], JSON)
    return Answer([completion(None, tool_calls=[CALL])], JSON)


@asynccontextmanager
async def serving(*models: ModelConfig) -> AsyncIterator[tuple[RunningServer, ReplayBackend]]:
    async with ReplayBackend(rolls).serve() as backend:
        options = BackendOptions(configured=options_of(models, "replay"))
        http = HttpBackend("replay", backend.url, "")
        async with serve(http, shares={"replay": options}) as server:
            server.parts.run.toolset = Toolset(mcp=Servers())
            await server.parts.models.refresh()
            yield server, backend


async def test_a_request_for_a_preset_runs_its_tools_at_its_base() -> None:
    async with serving(DICE) as (server, backend):
        status, body = await server.post("/responses", json={"model": "m-dice", "input": "Roll."})

        assert status == 200, body
        assert body["model"] == "m-dice"
        kinds = [item["type"] for item in body["output"]]  # type: ignore[index, attr-defined]
        assert kinds == ["mcp_list_tools", "mcp_call", "message"]
        first = backend.requests[0]
        assert (first["model"], first["temperature"]) == ("m", 0.5)
        assert "Roll dice." in json.dumps(first["messages"])


async def test_a_message_for_a_preset_shows_its_tools_as_blocks() -> None:
    body = {
        "model": "m-dice",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Roll."}],
    }
    async with serving(DICE) as (server, backend):
        status, message = await server.post("/messages", json=body)

        assert status == 200, message
        kinds = [block["type"] for block in message["content"]]  # type: ignore[attr-defined]
        assert kinds == ["mcp_tool_use", "mcp_tool_result", "text"]
        assert (message["model"], message["stop_reason"]) == ("m-dice", "end_turn")
        assert "Roll dice." in json.dumps(backend.requests[0]["messages"])


async def test_a_chat_completion_for_a_preset_is_the_text_after_its_tools() -> None:
    body = {"model": "m-dice", "messages": [{"role": "user", "content": "Roll."}]}
    async with serving(DICE) as (server, backend):
        status, completion = await server.post("/chat/completions", json=body)

        assert status == 200, completion
        choice = completion["choices"][0]  # type: ignore[index]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("Five.", "stop")
        assert "tool_calls" not in choice["message"]
        assert len(backend.requests) == 2


async def test_the_base_itself_has_no_tools() -> None:
    async with serving(DICE) as (server, backend):
        await server.post("/responses", json={"model": "m", "input": "Roll."})

        assert "tools" not in backend.requests[0]


async def test_a_background_response_has_the_tools_too() -> None:
    async with serving(DICE) as (server, _):
        events = await server.sdk.responses.create(
            model="m-dice", input="Roll.", background=True, stream=True
        )
        async for event in events:
            last = event

        assert last.type == "response.completed"
        assert [item.type for item in last.response.output][-2:] == ["mcp_call", "message"]


async def test_presets_are_listed_as_models() -> None:
    async with serving(DICE, ModelConfig(name="lost", base="none")) as (server, _):
        listed = [model.id async for model in await server.sdk.models.list()]

        assert listed == ["m", "m-dice"]


async def test_a_preset_costs_what_its_base_costs() -> None:
    priced = ModelConfig(name="m", prices=PriceConfig(input=1, output=1))
    async with serving(priced, DICE) as (server, _):
        found = await server.parts.models.candidates("m-dice")

        assert found[0].prices is not None
        assert found[0].model == "m"


async def test_the_tokens_of_a_presets_instructions_count() -> None:
    async with serving(DICE) as (server, _):
        counts = [
            (await server.post("/responses/input_tokens", json={"model": model, "input": "Hi"}))[1]
            for model in ("m", "m-dice")
        ]

        assert counts[0]["input_tokens"] < counts[1]["input_tokens"]  # type: ignore[operator]
