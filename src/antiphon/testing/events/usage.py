"""Token counts that add up."""

from collections.abc import Iterator
from typing import Any

from antiphon.testing.events.grammar import STATUS, at
from antiphon.testing.events.rules import Breach, Event

COUNTS = (
    ("input_tokens",),
    ("input_tokens_details", "cached_tokens"),
    ("output_tokens",),
    ("output_tokens_details", "reasoning_tokens"),
    ("total_tokens",),
)


def check_usage(events: list[Event]) -> Iterator[Breach]:
    """Look at the usage of each terminal event."""
    for event in events:
        if event["type"] not in STATUS:
            continue
        usage = event["response"].get("usage")
        if usage is not None:
            yield from _check_counts(usage, event)
        elif event["type"] != "response.failed":
            yield Breach("usage:present", f"{event['type']} has none", event)


def _check_counts(usage: Any, event: Event) -> Iterator[Breach]:
    counts = [at(usage, path) for path in COUNTS]
    missing = [".".join(path) for path, count in zip(COUNTS, counts, strict=True) if type(count) is not int]
    if missing:
        yield Breach("usage:details", f"no count of {', '.join(missing)}", event)
        return
    given, cached, produced, reasoned, total = counts
    if total != given + produced:
        yield Breach("usage:totals", f"{given} and {produced} are not {total}", event)
    elif not (0 <= cached <= given and 0 <= reasoned <= produced):
        yield Breach("usage:totals", f"{cached} of {given} cached, {reasoned} of {produced} reasoned", event)
