"""The checker: point it at a translator, at a server over HTTP, at somebody else's server."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from antiphon.testing.events.details import check_details
from antiphon.testing.events.envelope import check_envelope
from antiphon.testing.events.hosted import check_hosted
from antiphon.testing.events.items import check_items
from antiphon.testing.events.parts import check_parts
from antiphon.testing.events.reading import check_fields, plain, readable
from antiphon.testing.events.rules import Breach, Event, Violation, violations
from antiphon.testing.events.snapshots import check_snapshots
from antiphon.testing.events.text import check_text
from antiphon.testing.events.tools import check_tools
from antiphon.testing.events.usage import check_usage
from antiphon.testing.events.wholes import check_wholes

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
    """Return one violation for each rule that a whole stream breaks; an empty list means that it is sound.

    `events` are those of one response from `response.created` to the terminal one, as dicts of plain JSON or as the
    `openai` package's models. Whatever stands in them is judged, never raised; the time is linear in their number.
    An event that lacks a field of its type is named under `event:fields` and counts for numbers and order only.
    """
    return violations(_breaches([plain(event) for event in events]))


def assert_event_stream(events: Iterable[Mapping[str, Any] | Any]) -> None:
    """Raise AssertionError, listing every rule broken, unless the stream is sound."""
    found = check_event_stream(events)
    if found:
        raise AssertionError("\n".join(["The event stream is not sound:", *map(str, found)]))


def _breaches(events: list[Event]) -> Iterator[Breach]:
    yield from check_fields(events)
    yield from check_envelope(events)
    known = readable(events)
    for check in CHECKS:
        yield from check(known)
