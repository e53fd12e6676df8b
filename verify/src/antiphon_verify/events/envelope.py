"""The stream as a whole: its numbers, its beginning, its one end."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from antiphon_verify.events.grammar import OPENING, STATUS, at
from antiphon_verify.events.rules import Breach
from antiphon_verify.events.streams import Event

COUNTS = (
    ("input_tokens",),
    ("input_tokens_details", "cached_tokens"),
    ("output_tokens",),
    ("output_tokens_details", "reasoning_tokens"),
    ("total_tokens",),
)


def check_usage(events: list[Event]) -> Iterator[Breach]:
    """Check the usage of each terminal event."""
    for event in events:
        if event["type"] not in STATUS:
            continue
        usage = event["response"].get("usage")
        if usage is not None:
            yield from _check_counts(usage, event)
        elif event["type"] != "response.failed":
            yield Breach("usage:present", f"{event['type']} has no usage", event)


def _check_counts(usage: Any, event: Event) -> Iterator[Breach]:
    counts = [at(usage, path) for path in COUNTS]
    missing = [
        ".".join(path) for path, count in zip(COUNTS, counts, strict=True) if type(count) is not int
    ]
    if missing:
        yield Breach("usage:details", f"no count of {', '.join(missing)}", event)
        return
    read, cached, produced, reasoned, total = counts
    if total != read + produced:
        yield Breach("usage:totals", f"{read} and {produced} do not add up to {total}", event)
    elif not (0 <= cached <= read and 0 <= reasoned <= produced):
        yield Breach(
            "usage:totals", f"{cached} of {read} cached, {reasoned} of {produced} reasoned", event
        )


OPENINGS = (["response.created", "response.in_progress"], list(OPENING))
"""How a stream begins; a response that fails can end it earlier."""

ENDS = tuple(STATUS)  # a tuple, because a type can be anything, such as a list


def check_envelope(events: list[Event]) -> Iterator[Breach]:
    """Check only types and numbers, of all events, including those that only other servers send."""
    yield from _check_numbers(events)
    yield from _check_opening(events)
    yield from _check_end(events)


def _check_numbers(events: list[Event]) -> Iterator[Breach]:
    expected = 0
    for event in events:
        number = event.get("sequence_number")
        if type(number) is not int:
            yield Breach("stream:sequence-numbers", f"{event.get('type')} has no number", event)
            expected += 1
            continue
        if number != expected:
            yield Breach(
                "stream:sequence-numbers", f"{number} arrived when {expected} was next", event
            )
        expected = number + 1


def _check_opening(events: list[Event]) -> Iterator[Breach]:
    if not events or events[0].get("type") != "response.created":
        yield Breach("stream:first-created", f"the first event is {_name(events[:1])}", *events[:1])
        return
    opening: list[str] = []
    follower: Event | None = None
    for event in events:
        name = event.get("type")
        if name in OPENING and follower is None:
            opening.append(name)
        elif name in OPENING:
            yield Breach(
                "stream:opening-order", f"{name} arrived when the response was in progress", event
            )
        elif name != "keepalive" and follower is None:
            follower = event
    if follower is not None and not _opens_well(opening, follower):
        yield Breach(
            "stream:opening-order",
            f"{' and '.join(opening)} arrived before {follower.get('type')}",
            follower,
        )


def _opens_well(opening: list[str], follower: Event) -> bool:
    if follower.get("type") in ("error", "response.failed"):
        return any(opening == whole[: len(opening)] for whole in OPENINGS)
    return opening in OPENINGS


def _check_end(events: list[Event]) -> Iterator[Breach]:
    end: str | None = None
    for event in events:
        if end is not None:
            yield Breach(
                "stream:nothing-after-terminal", f"{event.get('type')} follows {end}", event
            )
        elif event.get("type") in ENDS:
            end = event["type"]
    if end is None:
        yield Breach("stream:one-terminal", f"the last event is {_name(events[-1:])}", *events[-1:])


def _name(events: list[Event]) -> str:
    return str(events[0].get("type")) if events else "missing"


CONSTANT = (
    "object",
    "created_at",
    "background",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "store",
    "text",
    "tool_choice",
    "tools",
    "truncation",
    "user",
)
"""The fields of a response that are final before its first event."""

OPENING_STATUS = {
    "response.created": ("queued", "in_progress"),
    "response.queued": ("queued",),
    "response.in_progress": ("in_progress",),
}

MODEL_ITEMS = ("message", "reasoning", "function_call", "custom_tool_call")
"""Items that the model itself writes; a hosted tool's item can be incomplete while the answer
continues.
"""


def check_snapshots(events: list[Event]) -> Iterator[Breach]:
    """Check the events that contain the response."""
    snapshots = [event for event in events if event["type"] in OPENING or event["type"] in STATUS]
    for event in snapshots:
        yield from _check_constant(snapshots[0]["response"], event)
        if event["type"] in OPENING:
            yield from _check_opening_snapshot(event)
        else:
            yield from _check_terminal(event)
    yield from _check_errors(events)
    yield from _check_incomplete_items(events)


def _check_constant(first: dict[str, Any], event: Event) -> Iterator[Breach]:
    response = event["response"]
    if response["id"] != first["id"]:
        yield Breach("stream:one-response-id", f"{response['id']} was {first['id']}", event)
    for key in CONSTANT:
        if response.get(key) != first.get(key):
            yield Breach("snapshot:constant", f"{key} changed in {event['type']}", event)


def _check_opening_snapshot(event: Event) -> Iterator[Breach]:
    response = event["response"]
    if response.get("status") not in OPENING_STATUS[event["type"]]:
        yield Breach(
            "opening:status", f"{event['type']} has status {response.get('status')}", event
        )
    if response["output"]:
        yield Breach(
            "opening:output-empty", f"{event['type']} has {len(response['output'])} items", event
        )
    if response.get("usage") is not None:
        yield Breach("opening:usage-null", f"{event['type']} has usage", event)


def _check_terminal(event: Event) -> Iterator[Breach]:
    response = event["response"]
    status = STATUS[event["type"]]
    if response.get("status") != status:
        yield Breach(
            "terminal:status-matches-type",
            f"{event['type']} has status {response.get('status')}",
            event,
        )
    # Servers older than 2026 do not have the key.
    if "completed_at" in response and (response["completed_at"] is not None) != (
        status == "completed"
    ):
        yield Breach(
            "terminal:completed-at", f"it is {response['completed_at']} in {event['type']}", event
        )
    if _states(response.get("error"), "code", "message") != (status == "failed"):
        yield Breach(
            "failed:error-set", f"error is {response.get('error')} in {event['type']}", event
        )
    if _states(response.get("incomplete_details"), "reason") != (status == "incomplete"):
        yield Breach(
            "incomplete:reason", f"{response.get('incomplete_details')} in {event['type']}", event
        )


def _states(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)


def _check_errors(events: list[Event]) -> Iterator[Breach]:
    error: Event | None = None
    for event, follower in zip_longest(events, events[1:]):
        if event["type"] == "response.failed":
            yield from _check_failed(error, event)
        if event["type"] != "error":
            continue
        error = event
        if not _states(error.get("error"), "message"):
            yield Breach("error:nested", "the error is flat", error)
        if follower is None or follower["type"] != "response.failed":
            yield Breach("error:then-failed", f"{follower and follower['type']} follows it", error)


def _check_failed(error: Event | None, failed: Event) -> Iterator[Breach]:
    if error is None:
        yield Breach("failed:error-before", "there was no such event", failed)
        return
    response_code = at(failed["response"], ("error", "code"))
    code = at(error.get("error", error), ("code",))
    if response_code != code:
        yield Breach(
            "failed:error-before", f"its code is {code}, the response's {response_code}", failed
        )


def _check_incomplete_items(events: list[Event]) -> Iterator[Breach]:
    cut: str | None = None
    for event in events:
        item = event.get("item", {})
        if event["type"] == "response.output_item.added" and cut is not None:
            yield Breach("incomplete:last", f"{item['type']} opens after {cut}", event)
        elif event["type"] == "response.output_item.done" and item["type"] in MODEL_ITEMS:
            cut = item["type"] if item.get("status") == "incomplete" else cut
        elif event["type"] == "response.completed" and cut is not None:
            yield Breach("incomplete:response", f"the {cut} was incomplete", event)
        elif event["type"] == "response.incomplete":
            yield from _check_cut(event)


def _check_cut(event: Event) -> Iterator[Breach]:
    reason = at(event["response"], ("incomplete_details", "reason"))
    output = event["response"]["output"]
    status = output[-1].get("status", "incomplete") if output else "incomplete"
    cut = "in_progress" if output and output[-1]["type"] == "apply_patch_call" else "incomplete"
    if reason in ("max_output_tokens", "content_filter") and status != cut:
        yield Breach("incomplete:item", f"the last item is {status}", event)
