"""Streamed messages, event by event."""

from typing import Any

from antiphon_verify.replies import Reply, streams
from antiphon_verify.replies.messages.bodies import MESSAGE, USAGE

Event = dict[str, Any]


def start(**changes: Any) -> Event:
    """Return the first event."""
    message = {**MESSAGE, "content": [], "stop_reason": None, **changes}
    return {"type": "message_start", "message": message}


def block(content: Event, *deltas: Event, index: int = 0) -> tuple[Event, ...]:
    """Return the events of a block."""
    return (
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": one} for one in deltas),
        {"type": "content_block_stop", "index": index},
    )


def text(words: str) -> Event:
    """Return a delta of a text."""
    return {"type": "text_delta", "text": words}


def arguments(words: str) -> Event:
    """Return a delta of an input."""
    return {"type": "input_json_delta", "partial_json": words}


def end(reason: str = "end_turn", usage: Event | None = None) -> tuple[Event, ...]:
    """Return the last events."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    usage = USAGE if usage is None else usage
    return ({"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"})


PING: Event = {"type": "ping"}
EMPTY: Event = {"type": "text", "text": ""}
USE: Event = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
HELLO = block(EMPTY, text("Hel"), text("lo."))

GOOD = streams([start(), PING, *HELLO, *end()])
"""A stream with a text."""

CALL = streams(
    [
        start(),
        *block(USE, arguments(""), arguments('{"city": "Pa'), arguments('ris"}')),
        *end("tool_use"),
    ]
)
"""A stream with a call."""


def stream(*events: Event) -> Reply:
    """Return a stream of these events."""
    return streams(events)
