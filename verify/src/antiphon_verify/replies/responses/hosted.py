"""Tools that the server runs."""

from typing import Any

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, changed, error, states, streams
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.samples import UNREACHABLE_URL, mcp


def is_image(event: dict[str, Any]) -> bool:
    """Whether an event completes an image."""
    return event["type"] == "response.output_item.done" and bool(
        event["item"]["type"] == "image_generation_call"
    )


EVENTS = [
    changed(one, "item", "result", to="iVBO") if is_image(one) else one for one in STREAMS["tools"]
]

TEXT = STREAMS["answer"]

NOT_ECHOED = streams(EVENTS)


def echoing(events: list[dict[str, Any]], tool: dict[str, Any]) -> Reply:
    """Return a stream that echoes the tool in its last event."""
    return streams([*events[:-1], changed(events[-1], "response", "tools", to=[tool])])


def without(kind: str) -> list[dict[str, Any]]:
    """Return the stream without the events of a type."""
    return [one for one in EVENTS if one["type"] != kind]


def bare(kind: str) -> list[dict[str, Any]]:
    """Return the stream with items of this type that are incomplete."""
    keys = ("action", "container_id", "result")
    return [
        one | {"item": {key: value for key, value in one["item"].items() if key not in keys}}
        if one["type"] == "response.output_item.done" and one["item"]["type"] == kind
        else one
        for one in EVENTS
    ]


REJECTED = error("Invalid 'tools[0].server_url'.")

ACCEPTED = states(RESPONSE)

FAILED = {
    "id": "mcpl_1",
    "type": "mcp_list_tools",
    "server_label": "nowhere",
    "tools": [],
    "error": "unreachable",
}

ECHOED = states(RESPONSE | {"tools": [mcp(UNREACHABLE_URL)], "output": [FAILED]})
