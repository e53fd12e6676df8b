"""Echoed parameters."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, changed, states, streams
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.samples import CITY, WEATHER

FORMAT = {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}


NOT_ECHOED = states(RESPONSE | {"store": True, "parallel_tool_calls": True})

TOOLS = states(RESPONSE | {"tools": [WEATHER]})

FORMATTED = states(RESPONSE | {"text": {"format": FORMAT}})

TIER = states(RESPONSE | {"service_tier": "default"})

EFFORT = states(RESPONSE | {"reasoning": {"effort": "low", "summary": None}})


def opening(**fields: object) -> Reply:
    """Return a stream with these fields in the response of its first event."""
    first, *rest = STREAMS["answer"]
    for name, value in fields.items():
        first = changed(first, "response", name, to=value)
    return streams([first, *rest])
