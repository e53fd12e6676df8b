"""A reader of Messages streams: what an SDK would make of one, and where it violates the grammar of
`antiphon_verify.events.message_stream`.
"""

import json
from collections.abc import Iterator
from typing import Any

from antiphon_verify.events import message_stream

Event = tuple[str, dict[str, Any]]


def events_in(stream: bytes) -> Iterator[Event]:
    """Yield the name and the data of each event."""
    for block in stream.decode().replace("\r\n", "\n").split("\n\n"):
        fields = dict(
            line.split(":", 1) for line in block.split("\n") if line and not line.startswith(":")
        )
        if "data" in fields:
            yield fields.get("event", "").strip(), json.loads(fields["data"])


def fold(stream: bytes) -> dict[str, Any]:
    """Return the message of a stream, as the SDKs accumulate it."""
    events = [*events_in(stream)]
    failed = [data for name, data in events if name == "error"]
    assert not failed, failed
    return message_stream.fold(events)


def violations(stream: bytes) -> list[str]:
    """Return what is wrong with a stream, nothing if it matches the grammar, and each input begins
    with an empty delta, as Anthropic's do.
    """
    events = [*events_in(stream)]
    found = [one.what for one in message_stream.violations(events)]
    return [*found, *_inputs(events)]


def _inputs(events: list[Event]) -> Iterator[str]:
    is_input = is_first = False
    for _, data in events:
        if data["type"] == "content_block_start":
            block = data["content_block"]
            is_input = is_first = block["type"] in message_stream.TOOL_USES
            is_input = is_input and not block["input"]
        elif data["type"] == "content_block_delta":
            if is_first and data["delta"].get("partial_json") != "":
                yield "the first delta of an input is not empty"
            is_first = is_input = False
        elif data["type"] == "content_block_stop" and is_input:
            yield "an input without deltas"
