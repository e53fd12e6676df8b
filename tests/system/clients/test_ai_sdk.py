"""Vercel's AI SDK 6 and 7, unmodified, against the server: each scenario plain and streamed."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_server import McpServer
from tests.support.small_web import SmallWeb
from tests.system.clients.ai_sdk import MAJORS, AiSdk, SdkError, install
from tests.system.clients.model import Call, Model, Turn
from tests.system.clients.relay import Relay

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

ADDING = Turn(calls=(Call("add", {"x": 1, "y": 2}),), reasoning="I count.")
ADDING_BY_MCP = (Turn(calls=(Call("add", {"a": 1, "b": 2}, "sums"),)), Turn("It is three."))
ADDED = ("mcp.add", {"a": 1, "b": 2})
SEALED = {"store": False, "include": ["reasoning.encrypted_content"]}
NOWHERE = "http://127.0.0.1:1/mcp"
"""A URL that refuses connections."""


@pytest.fixture(scope="module")
def settings(local_tools: str) -> str:
    return local_tools


@pytest.fixture(scope="session")
def node() -> Path:
    return install()


@pytest.fixture(params=[(major, stream) for major in MAJORS for stream in (False, True)], ids=str)
def ai(request: pytest.FixtureRequest, node: Path, wire: Relay) -> AiSdk:
    major, stream = request.param
    return AiSdk(node, major, stream, wire.url)


@pytest.fixture
def mcp(sums: McpServer) -> str:
    """The URL of the MCP server, which no test has called yet."""
    sums.called.clear()
    return sums.url


def parts(turn: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The parts of a type in the content of a turn."""
    return [part for part in turn["content"] if part["type"] == kind]


async def test_a_text_is_generated(ai: AiSdk, model: Model) -> None:
    model.play(Turn("Good morning, Dover."))
    (turn,) = await ai.run("text", "hi")
    assert (turn["text"], turn["finishReason"], turn["totalTokens"]) == (
        "Good morning, Dover.",
        "stop",
        15,
    )
    assert (turn["parts"].count("text-delta") > 1) is ai.stream


async def test_the_next_turn_refers_to_stored_items(ai: AiSdk, wire: Relay, model: Model) -> None:
    model.play(Turn("Good morning, Dover."), Turn("At nine."))
    turns = await ai.run("text", "hi", "When is high water?")
    assert [turn["text"] for turn in turns] == ["Good morning, Dover.", "At nine."]
    assert b'"item_reference"' in wire.sent
    assert [message["content"] for message in model.requests[-1]["messages"]] == [
        "hi",
        "Good morning, Dover.",
        "When is high water?",
    ]


async def test_a_tool_is_run_between_two_steps(ai: AiSdk, model: Model) -> None:
    model.play(ADDING, Turn("three"))
    (turn,) = await ai.run("tools", "1 + 2?")
    (call,), (result,) = parts(turn, "tool-call"), parts(turn, "tool-result")
    assert (call["toolName"], call["input"], result["output"]) == (
        "add",
        {"x": 1, "y": 2},
        {"sum": 3},
    )
    assert (turn["steps"], turn["text"], turn["finishReason"]) == (2, "three", "stop")
    assert model.requests[-1]["messages"][-1]["content"] == '{"sum":3}'


async def test_reasoning_returns_sealed_if_nothing_is_stored(
    ai: AiSdk, wire: Relay, model: Model
) -> None:
    model.play(ADDING, Turn("three"))
    (turn,) = await ai.run("tools", "1 + 2?", model="gpt-5", openai=SEALED)
    assert (turn["text"], turn["warnings"]) == ("three", [])
    assert b'"item_reference"' not in wire.sent
    assert [message.get("reasoning_content") for message in model.requests[-1]["messages"]].count(
        "I count."
    ) == 1


async def test_an_object_keeps_to_its_schema(ai: AiSdk, model: Model) -> None:
    model.play(Turn('{"name": "Dover"}'))
    (turn,) = await ai.run("object", "Where?")
    assert turn["object"] == {"name": "Dover"}
    assert model.requests[-1]["response_format"]["json_schema"]["schema"]["required"] == ["name"]


async def test_a_hosted_mcp_tool_is_called(
    ai: AiSdk, wire: Relay, model: Model, sums: McpServer, mcp: str
) -> None:
    """The SDK rejects an entire response whose `mcp_list_tools` has a null; otherwise it hides that
    item.
    """
    model.play(*ADDING_BY_MCP)
    (turn,) = await ai.run("mcp", "1 + 2?", mcp=mcp)
    (call,), (result,) = parts(turn, "tool-call"), parts(turn, "tool-result")
    assert b'"mcp_list_tools"' in wire.received
    assert (call["toolName"], call["input"]) == ADDED
    assert (result["output"]["serverLabel"], result["output"]["output"]) == ("sums", "3")
    assert turn["text"] == "It is three."
    assert sums.called == [("add", {"a": 1, "b": 2})]


async def test_a_turn_after_an_mcp_call_knows_its_output(ai: AiSdk, model: Model, mcp: str) -> None:
    model.play(*ADDING_BY_MCP, Turn("You are welcome."))
    turns = await ai.run("mcp", "1 + 2?", "Thanks.", mcp=mcp)
    assert turns[-1]["text"] == "You are welcome."
    assert [(message["role"], message["content"]) for message in model.requests[-1]["messages"]][
        -3:
    ] == [
        ("tool", "3"),
        ("assistant", "It is three."),
        ("user", "Thanks."),
    ]


@pytest.mark.parametrize("approve", [True, False])
async def test_an_mcp_call_waits_for_approval(
    ai: AiSdk, model: Model, sums: McpServer, mcp: str, approve: bool
) -> None:
    model.play(*ADDING_BY_MCP)
    waiting, decided = await ai.run(
        "mcp", "1 + 2?", mcp=mcp, requireApproval="always", approve=approve
    )
    (request,) = parts(waiting, "tool-approval-request")
    assert (request["toolName"], request["input"]) == ADDED
    assert [part["output"]["output"] for part in parts(decided, "tool-result")] == ["3"] * approve
    assert decided["text"] == "It is three."
    assert sums.called == [("add", {"a": 1, "b": 2})] * approve


async def test_a_failed_mcp_call_shows_its_error(ai: AiSdk, model: Model, mcp: str) -> None:
    model.play(Turn(calls=(Call("fail", {}, "sums"),)), Turn("It failed."))
    (turn,) = await ai.run("mcp", "Fail.", mcp=mcp)
    (result,) = parts(turn, "tool-result")
    assert result["output"]["error"]["type"] == "mcp_tool_execution_error"
    assert turn["text"] == "It failed."


async def test_an_mcp_server_that_cannot_be_listed_raises(ai: AiSdk) -> None:
    with pytest.raises(
        SdkError, match="Error retrieving tool list from MCP server: 'sums'"
    ) as raised:
        await ai.run("mcp", "1 + 2?", mcp=NOWHERE)
    assert raised.value.error["data"]["error"]["type"] == "external_connector_error"
    assert raised.value.error["status"] == (
        500 if ai.stream else 424
    )  # 500 is the SDK's own for an error event


async def test_a_rejected_request_raises_with_the_servers_message(ai: AiSdk) -> None:
    with pytest.raises(SdkError, match="no-such-model") as raised:
        await ai.run("text", "hi", model="no-such-model")
    assert (raised.value.error["name"], raised.value.error["status"]) == ("AI_APICallError", 400)


async def test_a_web_search_has_its_sources(ai: AiSdk, model: Model, web: SmallWeb) -> None:
    page = f"{web.site}/harbour"
    search = Turn(calls=(Call("web_search", {"query": "harbour"}),))
    model.play(search, Turn(f"High water is at nine ([harbour]({page}))."))
    (turn,) = await ai.run("web", "When is high water?")
    (result,) = parts(turn, "tool-result")
    assert result["output"]["action"] == {
        "type": "search",
        "query": "harbour",
        "queries": ["harbour"],
    }
    assert page in [source["url"] for source in result["output"]["sources"]]
    assert [source["url"] for source in parts(turn, "source")] == [page]
