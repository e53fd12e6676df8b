"""Agents of the Agents SDK, killed at each write, and read by the official client."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    RunContextWrapper,
    Runner,
    ToolsToFinalOutputResult,
    function_tool,
    input_guardrail,
)
from agents.tool_context import ToolContext
from pydantic import BaseModel

from antiphon.agents.openai_agents import openai_agents, run_config
from antiphon.testing.agents import AgentHarness
from antiphon.types import Response
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import plain, stated
from tests.support.server import serve
from tests.support.waiting import eventually, let_others_run

pytestmark = pytest.mark.wide

effects: Counter[str] = Counter()


async def wait_a_moment() -> None:
    """Let tools that run side by side end in any order."""
    await let_others_run(random.randrange(20))


@function_tool
async def lookup(order: str) -> str:
    await wait_a_moment()
    effects["lookup"] += 1
    return f"order {order}"


@function_tool
async def pay(order: str) -> str:
    effects["pay"] += 1
    await wait_a_moment()
    return f"paid {order}"


@function_tool
def read(order: str) -> str:
    effects["read"] += 1
    return f"read {order}"


helper = Agent(name="helper", model="small", instructions="Help.", tools=[read])
support = Agent(
    name="support",
    model="large",
    instructions="Support.",
    tools=[lookup, pay, helper.as_tool("help", "Help with an order.")],
)

CALLS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "Support.": {
        "lookup": {"order": "1"},
        "pay": {"order": "1"},
        "help": {"input": "Read order 2."},
        "in_cash": {"order": "1"},
    },
    "Help.": {"read": {"order": "2"}},
    "Route.": {"transfer_to_support": {}},
}
"""The tools that a model calls first, by its instructions."""


def calling(tools: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{name}",
            "type": "function",
            "function": {"name": name, "arguments": str(arguments).replace("'", '"')},
        }
        for name, arguments in tools.items()
    ]
    return plain(None, tool_calls=calls)


def play(request: Mapping[str, Any]) -> Any:
    """Calls the tools of its agent, side by side; then repeats their results."""
    messages = request["messages"]
    offered = {one["function"]["name"] for one in request.get("tools", ())}
    wanted = CALLS.get(messages[0]["content"], {})
    tools = {name: arguments for name, arguments in wanted.items() if name in offered}
    new = messages[max(n for n, one in enumerate(messages) if one["role"] == "user") :]
    results = [one["content"] for one in new if one["role"] == "tool"]
    called = {one["function"]["name"] for m in new for one in m.get("tool_calls") or ()}
    if tools and not called & {*tools}:
        return calling(tools)
    text = "; ".join(results) or f"You said: {new[0]['content']}"
    return stated(*re.findall(r"\S+ ?", text))


def harness(agent: "Agent[Any]", **named: Any) -> AgentHarness:
    backend = ScriptedBackend(play, models=["small", "large"])
    return AgentHarness(openai_agents(agent, name="tested", **named), [backend])


def outline(response: Response) -> list[str]:
    return [
        f"{item.name} -> {item.output}"
        if item.type == "mcp_call"
        else item.type
        if item.type != "message"
        else "".join(part.text for part in item.content)
        for item in response.output
    ]


async def test_the_output_has_the_calls_of_tools_and_the_messages_in_their_order() -> None:
    response = await asyncio.to_thread(harness(support).run, "go")

    assert outline(response) == [
        "lookup -> order 1",
        "pay -> paid 1",
        "help -> read 2",
        "order 1; paid 1; read 2",
    ]
    assert {one.server_label for one in response.output if one.type == "mcp_call"} == {"tested"}
    assert response.usage is not None


@pytest.mark.parametrize("seed", range(3))
async def test_a_crash_repeats_at_most_what_was_running(seed: int) -> None:
    random.seed(seed)
    effects.clear()
    found = await asyncio.to_thread(harness(support, once={"pay"}).kill_everywhere, "go")

    assert found.differing == []
    assert found.executions["call:call_pay/pay/0"] == 1, "at most once"
    assert max(found.executions.values()) == 2, "at least once, and twice if it was running"
    assert effects["pay"] <= 2 * found.writes + 1, "no run pays twice"
    assert found.interrupted
    assert all("outcome is unknown" in one for one in found.interrupted)


async def test_a_tool_that_fails_returns_its_error_to_the_model_in_each_attempt() -> None:
    @function_tool
    async def lookup(order: str) -> str:
        raise ValueError(f"no order {order}")

    agent = Agent(name="support", model="large", instructions="Support.", tools=[lookup, pay])
    tested = harness(agent)
    found = await asyncio.to_thread(tested.kill_everywhere, "go")
    response = await asyncio.to_thread(tested.run, "go")

    assert found.differing == []
    assert "An error occurred" in outline(response)[0]


async def test_a_handoff_continues_with_the_other_agent() -> None:
    router = Agent(name="router", model="small", instructions="Route.", handoffs=[support])
    found = await asyncio.to_thread(harness(router).kill_everywhere, "go")
    response = await asyncio.to_thread(harness(router).run, "go")

    assert found.differing == []
    assert [line.split(" ")[0] for line in outline(response)] == [
        "transfer_to_support",
        *("lookup", "pay", "help", '{"assistant":'),
    ]


async def test_the_official_client_streams_it_and_continues_its_chain() -> None:
    backend = ScriptedBackend(play, models=["small", "large"])
    registered = openai_agents(support, name="support")
    async with serve(backend, agents=[registered]) as server:
        await eventually(names_of(server), lambda found: "support" in found)
        create = server.sdk.responses.create
        events = [
            event
            async for event in await create(
                model="support", input="go", stream=True, background=True
            )
        ]
        first = events[-1].response
        second = await create(model="support", input="again", previous_response_id=first.id)

    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "order 1; paid 1; read 2" == first.output_text
    assert len(deltas) > 1, "as the model generates it"
    assert second.output_text == first.output_text, "the tools are called again"
    history = backend.requests[-1]["messages"][1:8]
    roles = ["user", "assistant", "tool", "assistant", "tool", "assistant", "tool"]
    assert [one["role"] for one in history] == roles, "the model reads the calls of the first turn"
    assert history[1]["tool_calls"][0]["function"]["name"] == "lookup"


def names_of(server: Any) -> Any:
    async def names() -> Any:
        return server.parts.jobs.agents.names

    return names


class Answer(BaseModel):
    paid: bool


async def test_an_answer_of_a_tool_is_a_message() -> None:
    def ends(context: Any, results: list[Any]) -> ToolsToFinalOutputResult:
        return ToolsToFinalOutputResult(is_final_output=True, final_output=Answer(paid=True))

    agent = support.clone(tools=[lookup, pay], tool_use_behavior=ends, output_type=Answer)
    response = await asyncio.to_thread(harness(agent).run, "go")

    assert outline(response) == ["lookup -> order 1", "pay -> paid 1", '{"paid":true}']


async def test_tools_find_the_context_of_the_response() -> None:
    @function_tool
    async def lookup(wrapper: RunContextWrapper[str], order: str) -> str:
        return f"{order} of {wrapper.context}"

    agent = support.clone(tools=[lookup])
    tested = harness(agent, context=lambda ctx: ctx.tenant)
    response = await asyncio.to_thread(tested.run, "go")

    assert outline(response)[0] == "lookup -> 1 of harness"


@pytest.mark.parametrize("trips", [False, True])
async def test_a_guardrail_with_an_agent_of_its_own_uses_the_models_of_this_server(
    trips: bool,
) -> None:
    @input_guardrail
    async def polite(context: Any, agent: Any, input: Any) -> GuardrailFunctionOutput:
        checker = Agent(name="checker", model="small")
        result = await Runner.run(checker, "polite?", run_config=run_config("checker"))
        return GuardrailFunctionOutput(result.final_output, tripwire_triggered=trips)

    agent = support.clone(tools=[], input_guardrails=[polite])
    found = await asyncio.to_thread(harness(agent).kill_everywhere, "go")
    response = await asyncio.to_thread(harness(agent).run, "go")

    assert "checker/0" in found.executions
    if trips:
        assert response.error is not None
        assert response.error.code == "agent_guardrail"
    else:
        assert found.differing == []
        assert outline(response) == ["You said: go"]


async def test_a_tool_can_run_an_agent_within_the_response() -> None:
    @function_tool(name_override="help")
    async def run_helper(context: ToolContext[None], input: str) -> str:
        result = await Runner.run(helper, input, run_config=context.run_config)
        return str(result.final_output)

    effects.clear()
    agent = support.clone(tools=[run_helper])
    found = await asyncio.to_thread(harness(agent).kill_everywhere, "go")
    response = await asyncio.to_thread(harness(agent).run, "go")

    assert found.differing == []
    assert outline(response) == ["help -> read 2", "read 2"]


async def test_the_calls_of_models_are_limited() -> None:
    response = await asyncio.to_thread(harness(support, max_turns=1).run, "go")

    assert response.error is not None
    assert (response.status, response.error.code) == ("failed", "agent_max_turns")


@pytest.mark.parametrize(
    ("answer", "expected"), [(True, "paid 1"), (False, "rejected"), ("Too much.", "Too much.")]
)
async def test_a_tool_runs_once_the_client_approves_it(answer: Any, expected: str) -> None:
    approved = function_tool(needs_approval=True)(in_cash)
    nested = helper.clone(tools=[read, approved])
    agent = support.clone(tools=[lookup, approved, nested.as_tool("help", "Help with an order.")])
    tested = harness(agent, once={"in_cash"})
    answers = {"in_cash": answer}
    found = await asyncio.to_thread(tested.kill_everywhere, "go", answers=answers)
    response = await asyncio.to_thread(tested.run, "go", answers=answers)

    assert found.differing == []
    assert all(times <= 2 for times in found.executions.values())
    assert found.executions.get("call:call_in_cash/in_cash/0", 0) == (answer is True)
    assert expected in outline(response)[-1]
    (call,) = [one for one in response.output if getattr(one, "name", "") == "in_cash"]
    assert str(getattr(call, "approval_request_id", "")).startswith("mcpr_")


async def in_cash(order: str) -> str:
    return f"paid {order}"


async def test_outside_a_response_a_tool_does_what_it_did_before() -> None:
    await asyncio.to_thread(harness(support).run, "go")
    effects.clear()
    context = ToolContext(None, tool_name="pay", tool_call_id="c", tool_arguments="")

    assert await pay.on_invoke_tool(context, '{"order": "9"}') == "paid 9"
