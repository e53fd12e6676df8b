"""The checker: use it on a translator, on a server over HTTP, on another server."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from antiphon_verify.events.envelope import check_envelope, check_snapshots, check_usage
from antiphon_verify.events.grammar import FIELDS
from antiphon_verify.events.hosted import check_hosted, check_tools
from antiphon_verify.events.items import check_items, check_parts, check_wholes
from antiphon_verify.events.rules import Breach, Violation, displayed, violations
from antiphon_verify.events.streams import Event
from antiphon_verify.events.text import check_details, check_text


def plain(event: Any) -> Event:
    """Return an event as a dict of plain JSON. Raises TypeError for anything but a mapping or an
    SDK's model.
    """
    if isinstance(event, Mapping):
        return dict(event)
    if hasattr(event, "model_dump"):
        return dict(event.model_dump(mode="json", exclude_unset=True, warnings=False))
    raise TypeError(f"An event is a mapping or has model_dump(), not {type(event).__name__}.")


def readable(events: Iterable[Event]) -> list[Event]:
    """Return the API's events that have their fields, each with only these fields: the rest is not
    checked.
    """
    return [
        _known_fields(event)
        for event in events
        if _is_known(event) and next(_faults(event), None) is None
    ]


OPTIONAL = ("type", "sequence_number", "logprobs", "error", "code", "message")
"""Other fields of an event that are read if present, whatever their JSON type."""


def check_fields(events: Iterable[Event]) -> Iterator[Breach]:
    """Each event on its own: a known type, and its fields."""
    for event in events:
        name = event.get("type")
        if not isinstance(name, str):
            yield Breach("event:fields", "an event has no type", event)
        elif name in FIELDS:
            yield from (
                Breach("event:fields", f"{name}: {fault}", event) for fault in _faults(event)
            )
        elif ":" not in name:
            yield Breach("event:known-type", f"{name} is not an event of the API", event)


def _is_known(event: Event) -> bool:
    name = event.get("type")
    return isinstance(name, str) and name in FIELDS


def _known_fields(event: Event) -> Event:
    return {field: event[field] for field in (*OPTIONAL, *FIELDS[event["type"]]) if field in event}


def _faults(event: Event) -> Iterator[str]:
    for field, kind in FIELDS[event["type"]].items():
        value: Any = event.get(field)
        is_right = type(value) is kind
        if not is_right:
            yield f"{field} is {displayed(value)}, not {_JSON_NAMES[kind]}"
        elif field in ("item", "part") and not isinstance(value.get("type"), str):
            yield f"the {field} has no type"
        elif field == "response":
            yield from _response_faults(value)
    if event["type"] == "error" and not (_has_message(event) or _has_message(event.get("error"))):
        yield "it has no message"


def _response_faults(response: dict[str, Any]) -> Iterator[str]:
    if not isinstance(response.get("id"), str):
        yield "the response has no id"
    output = response.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        yield "the response's output is not a list of items"


def _has_message(error: Any) -> bool:
    return isinstance(error, dict) and isinstance(error.get("message"), str)


_JSON_NAMES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    int: "an integer",
    str: "a string",
}


CHECKS = (
    check_snapshots,
    check_usage,
    check_items,
    check_parts,
    check_text,
    check_details,
    check_tools,
    check_hosted,
    check_wholes,
)


def check_event_stream(events: Iterable[Mapping[str, Any] | Any]) -> list[Violation]:
    """Return one violation for each rule that a whole stream violates; an empty list means that it
    is valid.

    `events` are those of one response from `response.created` to the terminal one, as dicts of
    plain JSON or as the `openai` package's models. Any content is judged, and nothing is raised for
    it; the time is linear in their number. An event that lacks a field of its type is reported
    under `event:fields` and otherwise only counts for numbers and order.
    """
    return violations(_breaches([plain(event) for event in events]))


def assert_event_stream(events: Iterable[Mapping[str, Any] | Any]) -> None:
    """Raise AssertionError, listing every violated rule, unless the stream is valid."""
    found = check_event_stream(events)
    if found:
        raise AssertionError("\n".join(["The event stream is not valid:", *map(str, found)]))


def _breaches(events: list[Event]) -> Iterator[Breach]:
    yield from check_fields(events)
    yield from check_envelope(events)
    known = readable(events)
    for check in CHECKS:
        yield from check(known)
