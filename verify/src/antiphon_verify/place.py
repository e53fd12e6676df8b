"""What decided a verdict: the number of the event, the path of the field, and its value."""

from collections.abc import Iterator, Sequence
from typing import Any

from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import Read, at, preview

MOST = 3
"""Number of fields that are shown: those that were read last."""


def decided(reads: Sequence[Read], exchanges: Sequence[Exchange]) -> str:
    """Return the fields of the last exchange that were read: `event 7 (response.completed)
    response.usage = null`.
    """
    if not exchanges:
        return ""
    places = {id(value): place for place, value in _values(exchanges[-1])}
    fields: dict[str, None] = {}
    for read in reversed(reads):
        if (place := places.get(id(read.inside))) is not None:
            fields.setdefault(
                f"{place}{'.'.join(map(str, read.path))} = {_displayed_value(read.found)}"
            )
        if len(fields) == MOST:
            break
    return "; ".join(reversed(fields))


def at_event(events: Sequence[Any], sequence_number: int | None) -> str:
    """Return the place of the event with this sequence number, "" without one."""
    numbered = (
        (number, event) for number, event in enumerate(events, 1) if sequence_number is not None
    )
    return next(
        (
            _event(*one).strip()
            for one in numbered
            if at(one[1], "sequence_number") == sequence_number
        ),
        "",
    )


def _displayed_value(value: Any) -> str:
    return (
        preview(value)
        if value or value is None or isinstance(value, str | int | list | dict)
        else "nothing"
    )


def _event(number: int, event: Any) -> str:
    kind = event.get("type") if isinstance(event, dict) else None
    return f"event {number} ({kind}) " if isinstance(kind, str) else f"event {number} "


def _values(exchange: Exchange) -> Iterator[tuple[str, Any]]:
    """Yield every object and list received, each with its place, as a prefix of paths below it."""
    is_stream = not isinstance(exchange.json, dict | list)
    roots = (
        [(_event(*one), one[1]) for one in enumerate(exchange.events, 1)]
        if is_stream
        else [("", exchange.json)]
    )
    rest = roots[::-1]
    while rest:
        place, value = rest.pop()
        yield place, value
        inner = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        rest += [(f"{place}{key}.", each) for key, each in inner if isinstance(each, dict | list)]
