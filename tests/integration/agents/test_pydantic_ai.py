"""Agents of pydantic-ai, killed at each write, and read by the official client."""

import asyncio
import json
import random
import re
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ExternalToolset, ModelRetry, RunContext, ToolDefinition, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from antiphon.agents.pydantic_ai import pydantic_ai
from antiphon.testing.agents import AgentHarness
from antiphon.types import Response
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import plain, stated
from tests.support.server import serve
from tests.support.waiting import eventually, let_others_run

pytestmark = pytest.mark.wide


class Answer(BaseModel):
    text: str


def support(output_type: Any = str, **named: Any) -> "Agent[Any, Any]":
    agent: Agent[Any, Any] = Agent(instructions="Support.", output_type=output_type, **named)

    @agent.tool_plain
    async def lookup(order: str) -> dict[str, str]:
        await let_others_run(random.randrange(20))
        return {"order": order}

    @agent.tool_plain(metadata={"once": True})
    async def pay(order: str) -> str:
        await let_others_run(random.randrange(20))
        return f"paid {order}"

    @agent.tool
    async def help_with(ctx: RunContext[Any], order: str) -> str:
        result = await Agent(instructions="Help.").run(f"Read {order}.", model=ctx.model)
        return result.output

    return agent


CALLS = {"lookup": {"order": "1"}, "pay": {"order": "1"}, "help_with": {"order": "2"}}


def play(request: Mapping[str, Any]) -> Any:
    """Calls each tool that there is, side by side; then repeats their results."""
    messages = request["messages"]
    offered = {one["function"]["name"] for one in request.get("tools", ())}
    new = messages[max(n for n, one in enumerate(messages) if one["role"] == "user") :]
    text = "; ".join(one["content"] for one in new if one["role"] == "tool")
    calls = {name: arguments for name, arguments in CALLS.items() if name in offered}
    if text and "final_result" in offered:
        calls = {"final_result": {"text": text}}
    elif text or not calls:
        return stated(*re.findall(r"\S+ ?", text or f"You said: {new[0]['content']}"))
    return plain(
        None,
        tool_calls=[
            {
                "id": f"call_{name}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in calls.items()
        ],
    )


def harness(agent: "Agent[Any, Any]", **named: Any) -> AgentHarness:
    named = {"model": "small", **named}
    backend = ScriptedBackend(play, models=["small"])
    return AgentHarness(pydantic_ai(agent, name="tested", **named), [backend])


TOOLS = ['lookup -> {"order":"1"}', "pay -> paid 1", "help_with -> You said: Read 2."]
RESULTS = '{"order":"1"}; paid 1; You said: Read 2.'


def outline(response: Response) -> list[str]:
    return [
        f"{item.name} -> {item.output}"
        if item.type == "mcp_call"
        else "".join(part.text for part in item.content)
        for item in response.output
    ]


async def test_the_output_has_the_calls_of_tools_and_the_messages_in_their_order() -> None:
    response = await asyncio.to_thread(harness(support()).run, "go")

    assert outline(response) == [*TOOLS, RESULTS]
    assert response.usage is not None


@pytest.mark.parametrize("seed", range(3))
async def test_a_crash_repeats_at_most_what_was_running(seed: int) -> None:
    random.seed(seed)
    found = await asyncio.to_thread(harness(support()).kill_everywhere, "go")

    assert found.differing == []
    assert found.executions["call:call_pay/pay/0"] == 1, "at most once"
    assert max(found.executions.values()) == 2, "at least once, and twice if it was running"
    assert found.interrupted
    assert all("outcome is unknown" in one for one in found.interrupted)


async def test_an_answer_in_a_form_is_a_message() -> None:
    tested = harness(support(Answer))
    found = await asyncio.to_thread(tested.kill_everywhere, "go")
    response = await asyncio.to_thread(tested.run, "go")

    assert found.differing == []
    assert outline(response) == [*TOOLS, json.dumps({"text": RESULTS}, separators=(",", ":"))]


async def test_a_model_of_the_agent_is_called_in_a_step() -> None:
    def answers(messages: list[ModelMessage], info: Any) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(str(last.content))])
        return ModelResponse(parts=[ToolCallPart("pay", {"order": "1"}, "call_pay")])

    tested = harness(support(model=FunctionModel(answers)), model=None)
    found = await asyncio.to_thread(tested.kill_everywhere, "go")
    response = await asyncio.to_thread(tested.run, "go")

    assert {"model.request/0", "call:call_pay/pay/0", "model.request/1"} <= {*found.executions}
    assert outline(response) == ["pay -> paid 1", "paid 1"]


async def test_a_tool_that_wants_another_try_gets_it_in_each_attempt() -> None:
    agent: Agent[str, str] = Agent(instructions="Support.", deps_type=str)

    @agent.tool
    async def lookup(ctx: RunContext[str], order: str) -> str:
        if ctx.retry == 0:
            raise ModelRetry(f"no order {order} of {ctx.deps}")
        return "never"

    tested = harness(agent, deps=lambda ctx: ctx.tenant)
    found = await asyncio.to_thread(tested.kill_everywhere, "go")
    response = await asyncio.to_thread(tested.run, "go")

    assert found.differing == []
    assert "no order 1 of harness" in outline(response)[0]


@pytest.mark.parametrize(
    ("answer", "expected"), [(True, "paid 1"), (False, "rejected"), ("Too much.", "Too much.")]
)
async def test_the_client_approves_tools_and_runs_its_own(answer: Any, expected: str) -> None:
    agent: Agent[None, str] = Agent(
        instructions="Support.", toolsets=[ExternalToolset([OF_CLIENT])]
    )

    @agent.tool_plain(requires_approval=True, metadata={"once": True})
    async def pay(order: str) -> str:
        return f"paid {order}"

    tested = harness(agent)
    answers = {"pay": answer, "help_with": "by phone"}
    found = await asyncio.to_thread(tested.kill_everywhere, "go", answers=answers)
    response = await asyncio.to_thread(tested.run, "go", answers=answers)

    assert found.differing == []
    assert found.executions.get("call:call_pay/pay/0", 0) == (answer is True)
    assert expected in outline(response)[-1]
    assert "by phone" in outline(response)[-1]
    (call,) = [one for one in response.output if getattr(one, "name", "") == "pay"]
    assert str(getattr(call, "approval_request_id", "")).startswith("mcpr_")


OF_CLIENT = ToolDefinition(
    name="help_with",
    parameters_json_schema={"type": "object", "properties": {"order": {"type": "string"}}},
)


async def test_the_requests_to_models_are_limited() -> None:
    tested = harness(support(), usage_limits=UsageLimits(request_limit=1))
    response = await asyncio.to_thread(tested.run, "go")

    assert response.error is not None
    assert (response.status, response.error.code) == ("failed", "agent_usage_limit")


async def test_the_official_client_streams_it_and_continues_its_chain() -> None:
    backend = ScriptedBackend(play, models=["small"])
    registered = pydantic_ai(support(), name="support", model="small")
    async with serve(backend, agents=[registered]) as server:

        async def names() -> Any:
            return server.parts.jobs.agents.names

        await eventually(names, lambda found: "support" in found)
        create = server.sdk.responses.create
        stream = await create(model="support", input="go", stream=True, background=True)
        events = [event async for event in stream]
        first = events[-1].response
        picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
        second = await create(
            model="support",
            input=[
                {"role": "system", "content": "Politely."},
                {"role": "user", "content": [{"type": "input_text", "text": "See."}, picture]},
            ],
            previous_response_id=first.id,
        )
        third = await create(
            model="support",
            input=[
                {
                    "role": "user",
                    "content": [{"type": "input_file", "file_data": "data:text/plain;base64,aGk="}],
                }
            ],
        )

    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == RESULTS == first.output_text
    assert len(deltas) > 1, "as the model generates it"
    assert second.output_text == first.output_text, "the tools are called again"
    requested = [one for one in backend.requests if one["messages"][0]["content"] == "Support."]
    roles = [one["role"] for one in requested[-1]["messages"]]
    assert roles[:9] == ["system", "user", *(3 * ["assistant", "tool"]), "assistant"]
    assert roles[-5:] == ["user", "assistant", "tool", "tool", "tool"]
    assert third.error is not None
    assert third.error.code == "unsupported_value"
