"""Tools that the server runs, as the official SDKs use them, unmodified: an MCP server, and a small
web.
"""

import json
from typing import Any

import pytest
from agents import (
    Agent,
    HostedMCPTool,
    MCPToolApprovalFunctionResult,
    MCPToolApprovalRequest,
    OpenAIResponsesModel,
    OpenAIResponsesWSModel,
    RunConfig,
    Runner,
    WebSearchTool,
)
from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.tool_param import Mcp
from pydantic import TypeAdapter

from antiphon import AsyncAntiphon
from antiphon.config import Settings
from antiphon.testing import assert_event_stream, fold
from antiphon.upstream.http import HttpBackend
from tests.support.mcp_server import McpServer
from tests.support.small_web import SmallWeb
from tests.system.clients.model import Call, Model, Turn

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "fake-model"
QUIET = RunConfig(tracing_disabled=True)
ADDING = (Turn(calls=(Call("add", {"a": 1, "b": 2}, "sums"),)), Turn("It is three."))
SEARCHING = Turn(calls=(Call("web_search", {"query": "harbour"}),))
ADAPTER: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@pytest.fixture(scope="module")
def settings(local_tools: str) -> str:
    return local_tools


@pytest.fixture
def tool(sums: McpServer) -> Mcp:
    """The MCP server as a tool whose calls need no approval."""
    sums.called.clear()
    return {
        "type": "mcp",
        "server_label": "sums",
        "server_url": sums.url,
        "require_approval": "never",
    }


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


# The official SDK.


async def test_the_stream_helper_follows_a_call(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    model.play(*ADDING)
    async with sdk.responses.stream(model=NAME, input="1 + 2?", tools=[tool]) as stream:
        events = [event async for event in stream]
        response = await stream.get_final_response()

    listed, call, _ = response.output
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert listed.type == "mcp_list_tools"
    assert [one.name for one in listed.tools] == [one.name for one in sums.tools]
    assert call.type == "mcp_call"
    assert (call.status, call.name, call.server_label, call.output) == (
        "completed",
        "add",
        "sums",
        "3",
    )
    assert (json.loads(call.arguments), call.error, call.approval_request_id) == (
        {"a": 1, "b": 2},
        None,
        None,
    )
    assert sums.called == [("add", {"a": 1, "b": 2})]
    assert response.output_text == "It is three."
    types = [event.type for event in events]
    assert types.index("response.mcp_list_tools.completed") < types.index(
        "response.mcp_call.in_progress"
    )


async def test_every_event_is_of_the_sdks_types_and_the_stream_is_sound(
    sdk: AsyncOpenAI, model: Model, tool: Mcp
) -> None:
    model.play(*ADDING)
    stream = await sdk.responses.create(model=NAME, input="1 + 2?", tools=[tool], stream=True)
    events = [event.to_dict(mode="json") async for event in stream]

    assert_event_stream(events)
    assert [ADAPTER.validate_python(event).type for event in events] == [
        event["type"] for event in events
    ]
    assert fold(events) == events[-1]["response"]


async def test_plain_streamed_and_in_the_background_are_one_response(
    sdk: AsyncOpenAI, model: Model, tool: Mcp
) -> None:
    requested: dict[str, Any] = {"model": NAME, "input": "1 + 2?", "tools": [tool]}
    model.play(*ADDING)
    plain = await sdk.responses.create(**requested)
    model.play(*ADDING)
    events = [event async for event in await sdk.responses.create(**requested, stream=True)]
    streamed = events[-1].response
    model.play(*ADDING)
    later = await sdk.responses.create(**requested, background=True)
    while later.status in ("queued", "in_progress"):
        later = await sdk.responses.retrieve(later.id)

    assert without_ids(plain) == without_ids(streamed) == without_ids(later)


def without_ids(response: Any) -> list[dict[str, Any]]:
    return [{**item.to_dict(), "id": ""} for item in response.output]


async def test_a_stored_response_keeps_its_calls_and_shows_no_secret(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    model.play(*ADDING)
    shared = {
        **tool,
        "authorization": "token-of-the-user",
        "headers": {"X-Team": "value-of-a-header"},
    }
    created = await sdk.responses.create(model=NAME, input="1 + 2?", tools=[shared])  # type: ignore[list-item]
    stored = await sdk.responses.retrieve(created.id)

    assert stored.to_dict()["output"] == created.to_dict()["output"]
    assert {"authorization": "Bearer token-of-the-user", "x-team": "value-of-a-header"}.items() <= (
        sums.headers[-1].items()
    )
    for stated in (created.to_json(), stored.to_json()):
        assert "token-of-the-user" not in stated
        assert "value-of-a-header" not in stated


async def test_a_call_is_approved_in_the_next_turn(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    del tool["require_approval"]
    model.play(*ADDING)
    first = await sdk.responses.create(model=NAME, input="1 + 2?", tools=[tool])
    request = first.output[-1]
    assert kinds(first) == ["mcp_list_tools", "mcp_approval_request"]
    assert request.type == "mcp_approval_request"
    assert sums.called == []
    second = await sdk.responses.create(
        model=NAME,
        input=[
            {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
        ],
        tools=[tool],
        previous_response_id=first.id,
    )

    call = second.output[0]
    assert kinds(second) == ["mcp_call", "message"]
    assert call.type == "mcp_call"
    assert (call.approval_request_id, call.output) == (request.id, "3")
    assert sums.called == [("add", {"a": 1, "b": 2})]


async def test_a_denied_call_is_not_run(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    tool["require_approval"] = "always"
    model.play(ADDING[0], Turn("Then not."))
    first = await sdk.responses.create(model=NAME, input="1 + 2?", tools=[tool])
    denied = {
        "type": "mcp_approval_response",
        "approval_request_id": first.output[-1].id,
        "approve": False,
    }
    second = await sdk.responses.create(
        model=NAME,
        input=[denied],  # type: ignore[list-item]
        tools=[tool],
        previous_response_id=first.id,
    )

    assert (kinds(second), second.output_text, sums.called) == (["message"], "Then not.", [])


async def test_a_tool_that_fails_is_an_error_of_its_call(
    sdk: AsyncOpenAI, model: Model, tool: Mcp
) -> None:
    model.play(Turn(calls=(Call("fail", {}, "sums"),)), Turn("It does not work."))
    response = await sdk.responses.create(model=NAME, input="Try.", tools=[tool])

    call = response.output[1]
    assert call.type == "mcp_call"
    assert (response.status, call.status, call.output) == ("completed", "failed", None)
    assert call.to_dict()["error"] == {
        "type": "mcp_tool_execution_error",
        "content": [{"type": "text", "text": "it does not work"}],
    }


async def test_a_websocket_runs_calls(sdk: AsyncOpenAI, model: Model, tool: Mcp) -> None:
    model.play(*ADDING, *ADDING)
    async with sdk.responses.connect() as connection:
        await connection.response.create(model=NAME, input="1 + 2?", tools=[tool], store=False)
        first = await until_the_end(connection)
        response = first[-1].response
        await connection.response.create(
            model=NAME, input="Again?", tools=[tool], store=False, previous_response_id=response.id
        )
        second = (await until_the_end(connection))[-1].response

    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert kinds(second) == ["mcp_call", "message"]


async def until_the_end(connection: Any) -> list[Any]:
    events: list[Any] = []
    async for event in connection:
        events.append(event)
        if event.type in ("response.completed", "response.failed", "response.incomplete", "error"):
            break
    return events


async def test_the_web_is_searched_and_cited(sdk: AsyncOpenAI, model: Model, web: SmallWeb) -> None:
    page = f"{web.site}/harbour"
    model.play(SEARCHING, Turn(f"High water is at nine ([harbour]({page}))."))
    async with sdk.responses.stream(
        model=NAME,
        input="When is high water?",
        tools=[{"type": "web_search"}],
        include=["web_search_call.action.sources"],
    ) as stream:
        types = [event.type async for event in stream]
        response = await stream.get_final_response()

    search, message = response.output
    assert search.type == "web_search_call"
    assert search.action.type == "search"
    assert (search.status, search.action.queries) == ("completed", ["harbour"])
    assert page in [source.url for source in search.action.sources or ()]
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    citation = part.annotations[0]
    assert citation.type == "url_citation"
    assert (citation.url, part.text[citation.start_index : citation.end_index]) == (
        page,
        f"([harbour]({page}))",
    )
    steps = [each for each in types if each.startswith("response.web_search_call.")]
    assert steps == [
        f"response.web_search_call.{step}" for step in ("in_progress", "searching", "completed")
    ]
    assert "response.output_text.annotation.added" in types


async def test_a_found_page_is_opened_and_searched(
    sdk: AsyncOpenAI, model: Model, web: SmallWeb
) -> None:
    page = f"{web.site}/harbour"
    opening = Turn(calls=(Call("open_page", {"url": page}),))
    finding = Turn(calls=(Call("find_in_page", {"url": page, "pattern": "nine"}),))
    model.play(SEARCHING, opening, finding, Turn("At nine."))
    response = await sdk.responses.create(model=NAME, input="When?", tools=[{"type": "web_search"}])

    searches = [item for item in response.output if item.type == "web_search_call"]
    assert [item.action.type for item in searches] == ["search", "open_page", "find_in_page"]
    assert [item.status for item in searches] == ["completed"] * 3
    assert "High water is at nine" in model.requests[-1]["messages"][-1]["content"]


async def test_the_embedded_library_runs_tools_too(
    acting: Model, model: Model, sums: McpServer, tool: Mcp
) -> None:
    model.play(*ADDING)
    settings = Settings(outgoing_networks=["127.0.0.0/8"])
    async with AsyncAntiphon(
        settings, backend=HttpBackend("model", acting.url, ""), store="sqlite://"
    ) as client:
        stream = client.responses.stream(model=NAME, input="1 + 2?", tools=[dict(tool)])
        events = [event.to_dict() async for event in stream]

    assert_event_stream(events)
    assert [item["type"] for item in events[-1]["response"]["output"]] == [
        "mcp_list_tools",
        "mcp_call",
        "message",
    ]
    assert sums.called == [("add", {"a": 1, "b": 2})]


# The Agents SDK.


def agent(sdk: AsyncOpenAI, *tools: Any, **described: Any) -> Agent:
    model = OpenAIResponsesModel(model=NAME, openai_client=sdk)
    return Agent(**{"name": "pilot", "model": model, "tools": list(tools), **described})


async def test_an_agent_has_its_mcp_tool_called(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    model.play(*ADDING)
    run = await Runner.run(agent(sdk, HostedMCPTool(tool_config=tool)), "1 + 2?", run_config=QUIET)

    assert run.final_output == "It is three."
    assert sums.called == [("add", {"a": 1, "b": 2})]


async def test_an_agent_streams_what_its_mcp_tool_does(
    sdk: AsyncOpenAI, model: Model, tool: Mcp
) -> None:
    model.play(*ADDING)
    run = Runner.run_streamed(
        agent(sdk, HostedMCPTool(tool_config=tool)), "1 + 2?", run_config=QUIET
    )
    names = [
        event.name async for event in run.stream_events() if event.type == "run_item_stream_event"
    ]

    assert run.final_output == "It is three."
    assert names == ["mcp_list_tools", "tool_called", "message_output_created"]


@pytest.mark.parametrize("approve", [True, False])
async def test_an_agents_callback_approves_calls(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp, approve: bool
) -> None:
    tool["require_approval"] = "always"
    model.play(*ADDING)
    requested: list[tuple[str, str]] = []

    def decide(request: MCPToolApprovalRequest) -> MCPToolApprovalFunctionResult:
        requested.append((request.data.name, request.data.arguments))
        return {"approve": True} if approve else {"approve": False, "reason": "Do it in your head."}

    hosted = HostedMCPTool(tool_config=tool, on_approval_request=decide)
    run = await Runner.run(agent(sdk, hosted), "1 + 2?", run_config=QUIET)

    assert run.final_output == "It is three."
    assert [(name, json.loads(arguments)) for name, arguments in requested] == [
        ("add", {"a": 1, "b": 2})
    ]
    assert sums.called == ([("add", {"a": 1, "b": 2})] if approve else [])
    assert ("Do it in your head." in model.sent_to()) is not approve


async def test_an_agents_run_stops_for_approval_and_goes_on(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    tool["require_approval"] = "always"
    model.play(*ADDING)
    pilot = agent(sdk, HostedMCPTool(tool_config=tool))
    run = await Runner.run(pilot, "1 + 2?", run_config=QUIET)
    assert (len(run.interruptions), sums.called) == (1, [])
    state = run.to_state()
    state.approve(run.interruptions[0])
    run = await Runner.run(pilot, state, run_config=QUIET)

    assert run.final_output == "It is three."
    assert sums.called == [("add", {"a": 1, "b": 2})]


async def test_an_agents_mcp_tool_works_over_a_websocket(
    sdk: AsyncOpenAI, model: Model, sums: McpServer, tool: Mcp
) -> None:
    model.play(*ADDING)
    over = OpenAIResponsesWSModel(model=NAME, openai_client=sdk)
    try:
        run = await Runner.run(
            agent(sdk, HostedMCPTool(tool_config=tool), model=over), "1 + 2?", run_config=QUIET
        )
    finally:
        await over.close()

    assert (run.final_output, sums.called) == ("It is three.", [("add", {"a": 1, "b": 2})])


async def test_an_agent_searches_the_web(sdk: AsyncOpenAI, model: Model, web: SmallWeb) -> None:
    model.play(SEARCHING, Turn(f"At nine ({web.site}/harbour)."))
    run = await Runner.run(agent(sdk, WebSearchTool()), "When is high water?", run_config=QUIET)

    kinds = [item.raw_item.type for item in run.new_items]  # type: ignore[union-attr]
    assert kinds == ["web_search_call", "message"]
    assert run.final_output.startswith("At nine")
    assert "High water is at nine" in model.sent_to()
