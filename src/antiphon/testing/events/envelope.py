"""The stream as a whole: its numbers, its opening, its one end."""

from collections.abc import Iterator

from antiphon.testing.events.grammar import OPENING, STATUS
from antiphon.testing.events.rules import Breach, Event

OPENINGS = (["response.created", "response.in_progress"], list(OPENING))
"""How a stream opens; a response that fails may do so earlier."""

ENDS = tuple(STATUS)  # a tuple, since a type may be anything, such as a list


def check_envelope(events: list[Event]) -> Iterator[Breach]:
    """Look at types and numbers alone, of all events, those of other servers' making too."""
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
            yield Breach("stream:sequence-numbers", f"{number} came when {expected} was next", event)
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
            yield Breach("stream:opening-order", f"{name} came when the response was under way", event)
        elif name != "keepalive" and follower is None:
            follower = event
    if follower is not None and not _opens_well(opening, follower):
        yield Breach("stream:opening-order", f"{' and '.join(opening)} came before {follower.get('type')}", follower)


def _opens_well(opening: list[str], follower: Event) -> bool:
    if follower.get("type") in ("error", "response.failed"):
        return any(opening == whole[: len(opening)] for whole in OPENINGS)
    return opening in OPENINGS


def _check_end(events: list[Event]) -> Iterator[Breach]:
    end: str | None = None
    for event in events:
        if end is not None:
            yield Breach("stream:nothing-after-terminal", f"{event.get('type')} follows {end}", event)
        elif event.get("type") in ENDS:
            end = event["type"]
    if end is None:
        yield Breach("stream:one-terminal", f"the last event is {_name(events[-1:])}", *events[-1:])


def _name(events: list[Event]) -> str:
    return str(events[0].get("type")) if events else "missing"
