"""Function calls."""

from typing import Any

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.bodies import CALL, RESPONSE

TEXT = states(RESPONSE)

CUSTOM = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "call_id": "call_1",
    "name": "write_poem",
    "input": "Roses.",
}

SUNNY = TEXT.patched("output", 0, "content", 0, "text", to="It is sunny in Paris.")

REJECTED = error("No tool call found.")


def with_output(*items: dict[str, Any]) -> Reply:
    """Return a response with these items."""
    return states(RESPONSE | {"output": list(items)})


def call_named(name: str) -> dict[str, Any]:
    """Return a call of this function."""
    return CALL | {"name": name, "arguments": "{}" if name == "get_news" else CALL["arguments"]}


GOOD = with_output(CALL)

ROME = CALL | {"id": "fc_2", "call_id": "call_2", "arguments": '{"city": "Rome"}'}

TIME = ROME | {"name": "get_time"}


def streamed(*dropped: str) -> Reply:
    """Return a streamed call of get_weather, without events of some types."""
    events = [
        one | {"item": {**one["item"], "name": "get_weather"}} if "item" in one else one
        for one in STREAMS["calls"]
    ]
    return streams([one for one in events if one["type"] not in dropped])
