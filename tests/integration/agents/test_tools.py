"""Hosted tools that an agent calls without a model, and steps that its client sees."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.agents import AgentContext, StepFailed, StepInterrupted, ToolResult, agent
from antiphon.build import Application, build
from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.testing import agents as harnesses
from antiphon.testing.agents import AgentHarness, Killed
from antiphon.tools.base import ToolListing
from antiphon.tools.registry import Toolset
from antiphon.types import Response
from tests.support.tools import MCP, ROLL, Servers, Web, boom

Handle = Callable[[AgentContext], Awaitable[Any]]
ROLLS = {**MCP, "authorization": "a token"}
WEB = {"type": "web_search"}


@pytest.fixture
def toolset(monkeypatch: pytest.MonkeyPatch) -> Toolset:
    """The tools of each harness: an MCP server that rolls dice, and a web."""
    tools = Toolset(mcp=Servers(roll="5", fall=boom), web_search=Web())

    async def build_with_tools(*values: Any, **named: Any) -> Application:
        application = await build(*values, **named)
        application.parts.run.toolset = tools
        return application

    monkeypatch.setattr(harnesses, "build", build_with_tools)
    return tools


def used(toolset: Toolset) -> list[Any]:
    servers: Any = toolset.mcp
    return list(servers.used)


async def run(handler: Handle) -> Response:
    """Return the response of an agent; the harness has an event loop of its own."""
    return await asyncio.to_thread(AgentHarness(agent("tested")(handler)).run, "go")


async def killed(handler: Handle) -> Killed:
    return await asyncio.to_thread(AgentHarness(agent("tested")(handler)).kill_everywhere, "go")


def output(response: Response) -> list[Any]:
    return list(response.output)


async def test_a_tool_runs_without_a_model_and_its_result_has_all_fields(toolset: Toolset) -> None:
    async def handler(ctx: AgentContext) -> list[Any]:
        rolled = await ctx.tool(ROLLS, "roll", {"sides": 6})
        found = await ctx.tool(WEB, "web_search", {"query": "dice"})
        assert isinstance(rolled, ToolResult)
        return [rolled.text, rolled.fields, found.text, found.fields["results"]]

    response = await run(handler)

    (message,) = output(response)
    rolled = ["5", {"output": "5", "error": None}]
    found = ["[1] E", [{"url": "https://e.x/", "title": "E"}]]
    assert json.loads(message.content[0].text) == [*rolled, *found]
    (use,) = used(toolset)
    assert (use.name, use.arguments, use.tenant) == ("roll", {"sides": 6}, harnesses.TENANT)
    assert use.tool.authorization == "a token"


async def test_a_failure_of_a_tool_is_a_result(toolset: Toolset) -> None:
    async def handler(ctx: AgentContext) -> str:
        found = await ctx.tool(MCP, "fall", {})
        return f"{found.is_failed} {found.text}"

    assert (await run(handler)).output_text == "True Error: boom"


async def test_a_tool_that_changes_something_is_never_executed_twice(toolset: Toolset) -> None:
    async def handler(ctx: AgentContext) -> str:
        return (await ctx.tool(MCP, "roll", {}, show=True)).text

    found = await killed(handler)

    assert found.differing == []
    assert found.executions == {"tool:roll/0": 1}
    assert len(used(toolset)) <= 1 + 2 * found.writes, "once in each run at most"
    assert found.interrupted
    assert all(line.endswith(INTERRUPTED) for line in found.interrupted)


@pytest.mark.parametrize("hint", ["readOnlyHint", "idempotentHint"])
async def test_a_tool_that_can_be_repeated_is_executed_again(toolset: Toolset, hint: str) -> None:
    servers: Any = toolset.mcp
    servers.lists["dice"] = ToolListing([{**ROLL, "annotations": {hint: True}}])

    async def handler(ctx: AgentContext) -> str:
        return (await ctx.tool(MCP, "roll", {}, show=True)).text

    found = await killed(handler)

    assert (found.differing, found.interrupted) == ([], [])
    assert found.executions == {"tool:roll/0": 2}


async def test_a_renewed_token_is_no_change_and_other_arguments_are(toolset: Toolset) -> None:
    attempts: list[int] = []

    async def handler(ctx: AgentContext) -> str:
        attempts.append(ctx.attempt)
        renewed = {**MCP, "authorization": f"token {len(attempts)}"}
        await ctx.tool(renewed, "roll", {})
        await ctx.tool(WEB, "web_search", {"query": f"query {ctx.attempt}"})
        await ctx.step("after", lambda: 1)
        return "same"

    found = await killed(handler)

    changed = [line for line in found.differing if "agent_changed" in line]
    assert changed
    assert all("the step 'tool:web_search/0' had another arguments" in line for line in changed)


async def test_a_client_sees_the_call_of_a_tool_as_its_item(toolset: Toolset) -> None:
    async def handler(ctx: AgentContext) -> None:
        await ctx.tool(MCP, "roll", {"sides": 6}, show=True)
        await ctx.tool(WEB, "web_search", {"query": "dice"}, show=True)

    rolled, searched = output(await run(handler))

    assert (rolled.type, rolled.server_label, rolled.name) == ("mcp_call", "dice", "roll")
    assert (rolled.status, json.loads(rolled.arguments)) == ("completed", {"sides": 6})
    assert rolled.output == "5"
    assert (searched.type, searched.action["query"]) == ("web_search_call", "dice")
    assert "sources" not in searched.action, "the request did not include them"


async def test_a_step_with_show_is_a_call_of_the_agent(toolset: Toolset) -> None:
    def price(order: str, amount: int) -> dict[str, Any]:
        return {"order": order, "cents": amount * 100}

    def fail() -> None:
        raise ValueError("a secret")

    async def handler(ctx: AgentContext) -> str:
        await ctx.step("price", price, "17", 5, show=True)
        await ctx.step("hidden", price, "17", 5)
        with pytest.raises(StepFailed):
            await ctx.step("fail", fail, show=True)
        return "done"

    response = await run(handler)
    priced, failed, _ = output(response)

    assert (priced.type, priced.server_label, priced.name) == ("mcp_call", "tested", "price")
    assert json.loads(priced.arguments) == {"order": "17", "amount": 5}
    assert json.loads(priced.output) == {"order": "17", "cents": 500}
    assert (failed.status, failed.error["message"]) == ("failed", "The step failed.")
    assert (await killed(handler)).differing == []


async def test_a_step_that_runs_once_is_displayed_once_whatever_dies(toolset: Toolset) -> None:
    async def handler(ctx: AgentContext) -> str:
        async with ctx.message() as text:
            await text.write("Paying. ")
        try:
            await ctx.step("pay", lambda: "paid", once=True, show=True)
        except StepInterrupted:
            return "unknown"
        return "paid"

    found = await killed(handler)

    assert (found.differing, found.executions) == ([], {"pay/0": 1})
    assert found.interrupted
    assert all(line.endswith("unknown") for line in found.interrupted)


async def test_displayed_steps_run_side_by_side_and_keep_their_order(toolset: Toolset) -> None:
    last_began = asyncio.Event()

    async def wait(number: int) -> int:
        if number == 2:
            last_began.set()
        await last_began.wait()
        return number

    async def handler(ctx: AgentContext) -> None:
        async def one(number: int) -> None:
            async with ctx.scope(str(number)):
                await ctx.step("wait", wait, number, show=True)

        await asyncio.gather(*map(one, range(3)))
        async with ctx.message() as text:
            await text.write("after")

    displayed = output(await run(handler))

    assert [item.type for item in displayed] == ["mcp_call"] * 3 + ["message"]
    assert [item.output for item in displayed[:3]] == ["0", "1", "2"]


async def test_an_item_within_an_open_item_is_an_error_and_does_not_wait_forever(
    toolset: Toolset,
) -> None:
    async def handler(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("One")
            with pytest.raises(RuntimeError, match="within another one"):
                await ctx.step("displayed", lambda: 1, show=True)
            with pytest.raises(RuntimeError, match="within another one"):
                async with ctx.reasoning():
                    pass

        async def speak() -> None:
            async with ctx.message() as text:
                await text.write("Two")

        with pytest.raises(StepFailed, match="RuntimeError: An item cannot open"):
            await ctx.step("speak", speak, show=True)
        await ctx.step("speak", speak)

    displayed = output(await run(handler))

    assert [item.type for item in displayed] == ["message", "mcp_call", "message"]
    assert displayed[1].status == "failed"


@pytest.mark.parametrize(
    ("tool", "name", "message"),
    [
        (WEB, "browse", "It has: web_search, open_page, find_in_page"),
        ({"type": "code_interpreter", "container": "x"}, "code_interpreter", "does not run tools"),
        ({"type": "image_generation"}, "image_generation", "cannot run a tool of type"),
        ({"type": "function", "name": "f"}, "f", "cannot run a tool of type 'function'"),
    ],
)
async def test_what_this_server_does_not_run_is_refused(
    toolset: Toolset, tool: dict[str, Any], name: str, message: str
) -> None:
    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(ValueError, match=message):
            await ctx.tool(tool, name, {})
        return "refused"

    assert (await run(handler)).output_text == "refused"
