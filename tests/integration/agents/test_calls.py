"""Models that an agent calls: what a crash repeats, and what the agent's response has of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from openai import BadRequestError

from antiphon.agents import AgentContext, StepFailed, agent
from antiphon.build import Application, build
from antiphon.errors import BackendError, StoreError
from antiphon.jobs import worker
from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.storage.operations import api_keys
from antiphon.testing import agents as harnesses
from antiphon.testing.agents import AgentHarness, Killed
from antiphon.tools.registry import Toolset
from antiphon.types import Response
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.keys import issue
from tests.support.parts import called, plain
from tests.support.server import RunningServer, serve
from tests.support.tools import MCP, Servers
from tests.support.waiting import eventually

Handle = Callable[[AgentContext], Awaitable[Any]]
Script = Callable[[dict[str, Any]], Any]


def answers(request: Mapping[str, Any]) -> Any:
    """Repeats the newest message; rolls dice first if there are any."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return plain(f"Rolled {last['content']}.")
    if request.get("tools"):
        return called("dice__roll", "{}")
    return plain(f"{request['model']}: {last['content']}")


class WithModels(AgentHarness):
    """A harness with the models `small` and `large`, and an MCP server that rolls dice."""

    def __init__(self, handler: Handle, script: Script = answers, **answering: Any) -> None:
        self.backend = ScriptedBackend(script, models=["small", "large"], **answering)
        super().__init__(agent("tested")(handler), [self.backend])


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    """The MCP server of each harness."""
    rolling = Servers()

    async def build_with_tools(*values: Any, **named: Any) -> Application:
        application = await build(*values, **named)
        application.parts.run.toolset = Toolset(mcp=rolling, needs_lists=False)  # type: ignore[arg-type]
        return application

    monkeypatch.setattr(harnesses, "build", build_with_tools)
    return rolling


async def run(harness: AgentHarness, text: str = "go", **parameters: Any) -> Response:
    """Return the response of an agent; the harness has an event loop of its own."""
    return await asyncio.to_thread(harness.run, text, **parameters)


async def killed(harness: AgentHarness, text: str = "go") -> Killed:
    return await asyncio.to_thread(harness.kill_everywhere, text)


def texts(response: Response) -> list[str]:
    """The text of each message."""
    return [
        "".join(part.text for part in item.content)
        for item in response.output
        if item.type == "message"
    ]


async def test_a_call_returns_the_response_of_a_model_and_its_tokens_count() -> None:
    async def handler(ctx: AgentContext) -> str:
        found = await ctx.call("small", ctx.input_text, instructions="Be brief.")
        assert found.status == "completed"
        return found.output_text

    harness = WithModels(handler)
    response = await run(harness)

    assert texts(response) == ["small: go"]
    assert harness.backend.requests[0]["messages"][0]["content"] == "Be brief."
    assert response.usage is not None
    assert response.usage.total_tokens > 0


async def test_a_call_is_repeated_only_if_its_worker_died_before_its_end_was_stored() -> None:
    async def handler(ctx: AgentContext) -> str:
        first = await ctx.call("small", "one")
        second = await ctx.call("large", first.output_text)
        return second.output_text

    found = await killed(WithModels(handler))

    assert found.differing == []
    assert found.executions == {"call/0": 2, "call/1": 2}


@pytest.mark.parametrize("emit", ["nothing", "text", "items"])
async def test_a_tool_that_changes_something_runs_once_in_a_call_that_is_continued(
    emit: Any, servers: Servers
) -> None:
    async def handler(ctx: AgentContext) -> str:
        found = await ctx.call("small", "Roll.", tools=[MCP], emit=emit)
        return found.output_text

    harness = WithModels(handler)
    expected = await run(harness)
    found = await killed(harness)

    assert len(servers.used) <= 1 + 2 * found.writes, "once in each run at most"
    # A kill between the begin of a tool's call and its result leaves that unknown, and the model
    # learns it. No other kill shows.
    assert all(INTERRUPTED in line for line in found.differing)
    assert texts(expected)[-1] == "Rolled 5."
    types = [item.type for item in expected.output]
    assert (
        types
        == {
            "nothing": ["message"],
            "text": ["message", "message"],
            "items": ["mcp_list_tools", "mcp_call", "message", "message"],
        }[emit]
    )


async def test_the_text_of_a_model_is_streamed_once_whatever_dies() -> None:
    async def handler(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("First. ")
        await ctx.call("small", "one", emit="text")
        await ctx.call("large", "two", emit="text")

    harness = WithModels(handler)
    expected = await run(harness)
    found = await killed(harness)

    assert texts(expected) == ["First. ", "small: one", "large: two"]
    assert found.differing == []


async def test_calls_side_by_side_share_the_output_item_by_item() -> None:
    async def handler(ctx: AgentContext) -> None:
        async def one(number: int) -> None:
            async with ctx.scope(str(number)):
                await ctx.call("small", f"question {number}", emit="text")

        await asyncio.gather(*map(one, range(5)))

    response = await run(WithModels(handler))

    assert sorted(texts(response)) == [f"small: question {number}" for number in range(5)]


async def test_a_call_that_fails_raises_and_is_not_tried_again_in_a_later_attempt() -> None:
    def script(request: Mapping[str, Any]) -> Any:
        return BackendError("No.", status=400) if request["model"] == "large" else answers(request)

    async def handler(ctx: AgentContext) -> str:
        try:
            await ctx.call("large", "go")
        except StepFailed as failure:
            return f"{failure.key}: {failure.type}"
        return "no failure"

    found = await killed(WithModels(handler, script))
    response = await run(WithModels(handler, script))

    assert found.differing == []
    assert texts(response)[0].startswith("call/0: ")


async def test_a_call_that_fails_after_a_tool_keeps_its_items_and_its_tokens(
    servers: Servers,
) -> None:
    def script(request: Mapping[str, Any]) -> Any:
        if request["messages"][-1]["role"] == "tool":
            return BackendError("No.", status=400)
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return [*called("dice__roll", "{}"), {"choices": [], "usage": usage}]

    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(StepFailed):
            await ctx.call("small", "Roll.", tools=[MCP], emit="items")
        return "went on"

    expected = await run(WithModels(handler, script))
    found = await killed(WithModels(handler, script))

    assert [item.type for item in expected.output] == ["mcp_list_tools", "mcp_call", "message"]
    assert expected.usage is not None
    assert expected.usage.total_tokens == 10
    assert all(INTERRUPTED in line for line in found.differing)


async def test_an_unknown_model_is_a_failure_of_the_call() -> None:
    async def handler(ctx: AgentContext) -> str:
        try:
            await ctx.call("none", "go")
        except StepFailed as failure:
            return failure.type
        return "no failure"

    assert texts(await run(WithModels(handler))) == ["model_not_found"]


@pytest.mark.parametrize("name", ["background", "store", "stream", "conversation"])
async def test_a_call_has_no_parameter_of_a_client(name: str) -> None:
    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(ValueError, match=name):
            await ctx.call("small", "go", **{name: True})
        return "refused"

    assert texts(await run(WithModels(handler))) == ["refused"]


async def test_an_invalid_parameter_is_rejected_at_the_call() -> None:
    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(ValueError, match="temperature"):
            await ctx.call("small", "go", temperature=9)
        return "rejected"

    assert texts(await run(WithModels(handler))) == ["rejected"]


async def test_an_agent_is_no_model_for_a_call() -> None:
    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(ValueError, match="'tested' is an agent"):
            await ctx.call("tested", "go")
        return "refused"

    assert texts(await run(WithModels(handler))) == ["refused"]


async def test_a_call_that_its_handler_stops_closes_its_item_as_incomplete() -> None:
    async def handler(ctx: AgentContext) -> str:
        try:
            async with asyncio.timeout(0.3):
                await ctx.call("small", "one two three", emit="text")
        except TimeoutError:
            return "stopped"
        return "not stopped"

    response = await run(WithModels(handler, cut=150, delay=0.2))

    first, second = response.output
    assert (first.status, second.status) == ("incomplete", "completed")
    assert texts(response)[1] == "stopped"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"requests_per_minute": 2}, "rate_limit_exceeded"),
        ({"tokens_per_day": 30}, "insufficient_quota"),
    ],
)
async def test_limits_of_the_key_apply_to_each_call(limits: dict[str, int], code: str) -> None:
    @agent("curious")
    async def curious(ctx: AgentContext) -> str:
        for number in range(9):
            try:
                await ctx.call("small", f"question {number}", max_output_tokens=20)
            except StepFailed as failure:
                return failure.type
        return "no limit"

    backend = ScriptedBackend(answers, models=["small"])
    async with serve(backend, agents=[curious]) as server:
        store = server.parts.store
        key = await issue(store, models=("curious",), **limits)
        client = server.sdk.with_options(api_key=key)
        await eventually(names_of(server), lambda found: "curious" in found)
        response = await client.responses.create(model="curious", input="go")

        assert response.output_text == code
        with pytest.raises(BadRequestError, match="small"):
            await client.responses.create(model="small", input="go")


async def test_an_image_counts_as_an_image_towards_the_limits_of_the_key() -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{'A' * 200_000}"}

    @agent("curious")
    async def curious(ctx: AgentContext) -> str:
        async def one(number: int) -> str:
            message = {"role": "user", "content": [image]}
            async with ctx.scope(str(number)):
                return (await ctx.call("small", [message], max_output_tokens=20)).status

        return " ".join(await asyncio.gather(*map(one, range(2))))

    backend = ScriptedBackend(lambda request: plain("A square."), models=["small"])
    async with serve(backend, agents=[curious]) as server:
        key = await issue(server.parts.store, tokens_per_day=20_000)
        client = server.sdk.with_options(api_key=key)
        await eventually(names_of(server), lambda found: "curious" in found)
        response = await client.responses.create(model="curious", input="go")

        assert response.output_text == "completed completed"


@pytest.mark.parametrize("works_in", ["call", "step"])
async def test_a_store_that_fails_is_no_result_and_a_later_attempt_continues(
    works_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[BaseException] = []

    @agent("curious")
    async def curious(ctx: AgentContext) -> str:
        is_failing.append(ctx.attempt == 1)
        try:
            if works_in == "call":
                return (await ctx.call("small", "go")).output_text
            return f"{await ctx.step('read', read_key)}"
        except Exception as error:
            caught.append(error)
            return "another branch"

    async def read_key() -> None:
        assert await server.parts.store.read(api_keys.load, "none") is None

    is_failing: list[bool] = []
    monkeypatch.setattr(worker, "POLL_INTERVAL", 0.05)
    backend = ScriptedBackend(answers, models=["small"])
    async with serve(backend, agents=[curious]) as server:
        key = await issue(server.parts.store)
        await eventually(names_of(server), lambda found: "curious" in found)
        read = server.parts.store.read

        async def read_unless_it_fails(operation: Any, *values: Any, **named: Any) -> Any:
            if operation is api_keys.load and is_failing and is_failing[-1]:
                raise StoreError("The store is unavailable.")
            return await read(operation, *values, **named)

        monkeypatch.setattr(server.parts.store, "read", read_unless_it_fails)
        client = server.sdk.with_options(api_key=key)
        response = await client.responses.create(model="curious", input="go")

    assert is_failing == [True, False]
    assert caught == []
    assert response.output_text == {"call": "small: go", "step": "None"}[works_in]


async def test_the_tokens_of_calls_are_charged_to_the_key_once() -> None:
    @agent("curious")
    async def curious(ctx: AgentContext) -> str:
        return (await ctx.call("small", "go")).output_text

    backend = ScriptedBackend(answers, models=["small"])
    async with serve(backend, agents=[curious]) as server:
        store = server.parts.store
        key = await issue(store)
        await eventually(names_of(server), lambda found: "curious" in found)
        client = server.sdk.with_options(api_key=key)
        response = await client.responses.create(model="curious", input="go")
        await server.parts.jobs.meter.settle()
        rows = await store.read(api_keys.usage, None, 0, 2**40)

        assert response.usage is not None
        assert sum(row.input_tokens for row in rows) == response.usage.input_tokens
        assert sum(row.output_tokens for row in rows) == response.usage.output_tokens


def names_of(server: RunningServer) -> Callable[[], Awaitable[Any]]:
    """Returns the agents that a server knows."""

    async def names() -> Any:
        return server.parts.jobs.agents.names

    return names
