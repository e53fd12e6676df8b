"""Tools that the server runs, where several things come together."""

from typing import Any

from tests.engine.test_hosted_tools import ROLLS, with_tools
from tests.support.engine import ask, engine, said
from tests.support.tools import MCP


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
