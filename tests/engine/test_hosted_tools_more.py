"""Tools that the server runs, where several things come together."""

from typing import Any

from antiphon.tools.base import Listing
from tests.engine.test_hosted_tools import ROLLS, items, with_tools
from tests.support.engine import ask, engine, said
from tests.support.tools import MCP, ROLL


def paired(messages: list[dict[str, Any]]) -> list[list[str]]:
    """The ids of each assistant message's calls; raises unless right behind it stands one output for each."""
    groups = []
    for place, message in enumerate(messages):
        if message.get("tool_calls"):
            ids = [call["id"] for call in message["tool_calls"]]
            behind = messages[place + 1 : place + 1 + len(ids)]
            assert [each.get("tool_call_id") for each in behind] == ids
            groups.append(ids)
    said = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert said == [each for ids in groups for each in ids]
    assert len(set(said)) == len(said)
    return groups


async def test_a_model_that_names_every_call_alike_is_told_of_each_with_its_own_output() -> None:
    made, backend = engine(ROLLS, ROLLS, said("5"), ROLLS, said("6"))
    with_tools(made)

    first = await ask(made, tools=[MCP])
    await ask(made, tools=[MCP], previous_response_id=first["id"])

    assert len(paired(backend.requests[2]["messages"])) == 2
    assert len(paired(backend.requests[4]["messages"])) == 3


def word(response: dict[str, Any], *, approve: bool = True, place: int = -1) -> dict[str, Any]:
    """The client's word on a request for approval."""
    request_id = response["output"][place]["id"]
    return {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": approve}


async def test_a_call_that_is_asked_for_anew_since_its_tool_changed_is_made_once() -> None:
    made, backend = engine(ROLLS, said("5"))
    servers = with_tools(made)
    tools = [{**MCP, "require_approval": "always"}]
    first = await ask(made, tools=tools)
    servers.lists["dice"] = Listing([{**ROLL, "description": "Rolls dice anew."}])
    second = await ask(made, tools=tools, input=[word(first)], previous_response_id=first["id"])
    assert items(second) == ["mcp_list_tools", "mcp_approval_request"]

    third = await ask(made, tools=tools, input=[word(second)], previous_response_id=second["id"])

    assert items(third) == ["mcp_call", "message"]
    assert len(servers.used) == 1
    assert paired(backend.requests[-1]["messages"]) == [["call_1"]]


async def test_a_call_that_is_asked_for_anew_can_be_refused() -> None:
    made, backend = engine(ROLLS, said("All right."))
    servers = with_tools(made)
    tools = [{**MCP, "require_approval": "always"}]
    first = await ask(made, tools=tools)
    servers.lists["dice"] = Listing([{**ROLL, "description": "Rolls dice anew."}])
    second = await ask(made, tools=tools, input=[word(first)], previous_response_id=first["id"])

    third = await ask(made, tools=tools, input=[word(second, approve=False)], previous_response_id=second["id"])

    assert items(third) == ["message"]
    assert not servers.used
    assert paired(backend.requests[-1]["messages"]) == [["call_1"]]
    assert "refused it" in backend.requests[-1]["messages"][-1]["content"]
