"""What is said again, whole: an item's content is its parts, and the response's output is its items."""

from collections.abc import Iterator
from typing import Any

from antiphon.testing.events.grammar import STATUS
from antiphon.testing.events.rules import Breach, Event

IDENTITY = ("type", "id", "call_id")

OPAQUE = ("encrypted_content",)
"""OpenAI encrypts afresh for every event."""

LISTS = {
    "response.content_part.done": ("content", "content_index", "item:content-equals-parts"),
    "response.reasoning_summary_part.done": ("summary", "summary_index", "item:summary-equals-parts"),
}
"""Where the item has the parts that are done, what numbers them, and the rule."""


def check_wholes(events: list[Event]) -> Iterator[Breach]:
    """Compare every part with its item, and every item with the response."""
    parts: dict[tuple[int, str], dict[int, Any]] = {}
    done: dict[int, Any] = {}
    for event in events:
        name = event["type"]
        if name in LISTS:
            key, number, _ = LISTS[name]
            parts.setdefault((event["output_index"], key), {})[event[number]] = event["part"]
        elif name == "response.output_item.done":
            done.setdefault(event["output_index"], event["item"])
            yield from _check_item(parts, event)
        elif name in STATUS:
            yield from _check_output([done[index] for index in sorted(done)], event)


def _check_item(parts: dict[tuple[int, str], dict[int, Any]], event: Event) -> Iterator[Breach]:
    item = event["item"]
    if item["type"] not in ("message", "reasoning"):
        return
    for key, _, rule in LISTS.values():
        streamed = parts.pop((event["output_index"], key), {})
        if (item.get(key) or []) != [streamed[index] for index in sorted(streamed)]:
            yield Breach(rule, f"the {item['type']} is done with other {key} than its {len(streamed)} parts", event)


def _check_output(items: list[dict[str, Any]], event: Event) -> Iterator[Breach]:
    output = event["response"]["output"]
    if len(output) != len(items):
        yield Breach(
            "output:equals-done-items", f"{len(items)} items were done, {len(output)} are in the output", event
        )
        return
    for index, (done, final) in enumerate(zip(items, output, strict=True)):
        changed = {key for key in done.keys() | final.keys() if done.get(key) != final.get(key)} - {*OPAQUE}
        if changed:
            rule = "output:equals-done-items" if changed & {*IDENTITY} else "output:same-content"
            yield Breach(rule, f"the {done['type']} at {index} was done with other {', '.join(sorted(changed))}", event)
