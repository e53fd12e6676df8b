"""Tools that a client runs."""

from typing import Any

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import CALL, RESPONSE
from antiphon_verify.samples import WEATHER

WORLD = {
    "type": "namespace",
    "name": "world",
    "description": "Facts of the world.",
    "tools": [WEATHER],
}


TEXT = states(RESPONSE)

REJECTED = error("Invalid value: 'custom_tool_call_output'.")

BAD_GRAMMAR = error("Invalid grammar.", 400, "invalid_grammar", "tools[0].format.definition")


def with_output(*items: dict[str, Any], **fields: Any) -> Reply:
    """Return a response with these items."""
    return states(RESPONSE | {"output": list(items), **fields})


def custom_call(name: str, input: str = "Roses.") -> Reply:
    """Return a call of a custom_call tool."""
    return with_output(
        {
            "id": "ctc_1",
            "type": "custom_tool_call",
            "call_id": "call_1",
            "name": name,
            "input": input,
        }
    )


NAMESPACED = with_output(CALL | {"namespace": "world"}, tools=[WORLD])

SPLIT = with_output(CALL | {"name": "world__get_weather"}, tools=[WORLD])

SEARCH = {
    "id": "tsc_1",
    "type": "tool_search_call",
    "status": "completed",
    "execution": "client",
    "call_id": "call_1",
    "arguments": {"goal": "the weather"},
}

SEARCHING = with_output(SEARCH)
FOUND = with_output(CALL)


def built_in(tool: dict[str, Any], kind: str, action: dict[str, Any]) -> Reply:
    """Return a call of a built-in tool, which is echoed."""
    return with_output(
        {"id": "x_1", "type": kind, "status": "completed", "call_id": "call_1", **action},
        tools=[tool],
    )
