"""The life of an item: added once, done once, its events in between."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from antiphon_verify.events.grammar import (
    ITEM_TEXTS,
    ITEM_TYPES,
    PART_TEXTS,
    STATUS,
    STEPS,
    TEXTS,
    at,
    stem,
)
from antiphon_verify.events.rules import Breach
from antiphon_verify.events.streams import Event

IDENTITY = ("type", "id", "call_id")

OPAQUE = ("encrypted_content",)
"""OpenAI encrypts again for every event."""

LISTS = {
    "response.content_part.done": ("content", "content_index", "item:content-equals-parts"),
    "response.reasoning_summary_part.done": (
        "summary",
        "summary_index",
        "item:summary-equals-parts",
    ),
}
"""Where the item has the completed parts, what numbers them, and the rule."""


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
            yield Breach(
                rule,
                f"the {item['type']} is done with other {key} than its {len(streamed)} parts",
                event,
            )


def _check_output(items: list[dict[str, Any]], event: Event) -> Iterator[Breach]:
    output = event["response"]["output"]
    if len(output) != len(items):
        yield Breach(
            "output:equals-done-items",
            f"{len(items)} items were done, {len(output)} are in the output",
            event,
        )
        return
    for index, (done, final) in enumerate(zip(items, output, strict=True)):
        changed = {key for key in done.keys() | final.keys() if done.get(key) != final.get(key)} - {
            *OPAQUE
        }
        if changed:
            rule = "output:equals-done-items" if changed & {*IDENTITY} else "output:same-content"
            yield Breach(
                rule,
                f"the {done['type']} at {index} was done with other {', '.join(sorted(changed))}",
                event,
            )


class Track(NamedTuple):
    """One kind of numbered parts: the first word of its rules, and the key of its numbers."""

    name: str
    numbered_by: str


TRACKS = {
    "response.content_part": Track("part", "content_index"),
    "response.reasoning_summary_part": Track("summary", "summary_index"),
    "response.shell_call_command": Track("command", "command_index"),
}
"""By the stem of the events that open and close."""

INSIDE = {
    "response.output_text": "response.content_part",
    "response.output_text.annotation": "response.content_part",
    "response.refusal": "response.content_part",
    "response.reasoning_text": "response.content_part",
    "response.reasoning_summary_text": "response.reasoning_summary_part",
    "response.shell_call_command": "response.shell_call_command",
}
"""Which parts an event grows, by its stem."""

EMPTY = ("text", "refusal", "annotations", "logprobs")


@dataclass(slots=True)
class Parts:
    """The parts of one item on one track."""

    added: int = 0
    open: dict[int, str] = field(default_factory=dict)
    """The type of each open part by its index; a command has none."""


def check_parts(events: list[Event]) -> Iterator[Breach]:
    """Follow every part by its output index and its own."""
    items: dict[int, dict[str, Parts]] = {}
    for event in events:
        name = event["type"]
        if name == "response.output_item.done":
            yield from _check_parts_done(items.pop(event["output_index"], {}), event)
            continue
        place = INSIDE.get(stem(name), stem(name))
        if place not in TRACKS:
            continue
        parts = items.setdefault(event["output_index"], {}).setdefault(place, Parts())
        if name == f"{place}.added":
            yield from _check_part_added(TRACKS[place], parts, event)
        else:
            yield from _check_inside(TRACKS[place], parts, event)
            if name == f"{place}.done":
                parts.open.pop(event[TRACKS[place].numbered_by], None)


def _check_part_added(track: Track, parts: Parts, event: Event) -> Iterator[Breach]:
    index = event[track.numbered_by]
    part = event.get("part", {})
    if index != parts.added:
        yield Breach(
            f"{track.name}:index-next", f"{index} arrived when {parts.added} was next", event
        )
    parts.added += 1
    parts.open[index] = part.get("type", "")
    for key in EMPTY:
        if part.get(key):
            yield Breach("part:opens-empty", f"a {part['type']} is added with {key}", event)


def _check_inside(track: Track, parts: Parts, event: Event) -> Iterator[Breach]:
    kind = parts.open.get(event[track.numbered_by])
    if kind is None:
        place = f"{track.numbered_by} {event[track.numbered_by]}"
        yield Breach(
            f"{track.name}:events-inside-life", f"{event['type']} while {place} is not open", event
        )
    elif "part" in event and event["part"]["type"] != kind:
        yield Breach("part:kind", f"a {kind} is done as {event['part']['type']}", event)
    elif kind and "part" not in event and not event["type"].startswith(PART_TEXTS.get(kind, "")):
        yield Breach("part:kind", f"{event['type']} in a {kind}", event)


def _check_parts_done(tracks: dict[str, Parts], event: Event) -> Iterator[Breach]:
    for place, parts in tracks.items():
        for index in parts.open:
            track = TRACKS[place]
            yield Breach(
                f"{track.name}:done-once",
                f"{track.numbered_by} {index} is not done when its item is",
                event,
            )


FINAL = ("completed", "incomplete", "failed")

STREAMED: dict[str, tuple[tuple[str, ...], ...]] = {
    "message": (("content",),),
    "reasoning": (("content",), ("summary",)),
    **{item: (TEXTS[stem].item_path,) for item, stem in ITEM_TEXTS.items()},
    "mcp_list_tools": (("tools",), ("error",)),
    "mcp_call": (("arguments",), ("output",), ("error",)),
}
"""Where an item has content that arrives later."""

APPROVED = "approval_request_id"
"""An MCP call with this field was requested for approval before, and has its arguments from the
start.
"""

CONSTANT = ("type", "id", "call_id", "name", "server_label", APPROVED)
"""The fields of an item that are final when it is added."""

OWN = ("call_id",)
"""Of these, what the API does not define for the items of hosted tools: an extra field of a server,
which can end.
"""


@dataclass(slots=True)
class Life:
    """An item since it was added."""

    added: dict[str, Any]
    is_done: bool = False


def check_items(events: list[Event]) -> Iterator[Breach]:
    """Follow every item by its output index."""
    lives: dict[int, Life] = {}
    ids: set[str] = set()
    for event in events:
        if event["type"] == "response.output_item.added":
            yield from _check_added(lives, ids, event)
        elif event["type"] == "response.output_item.done":
            yield from _check_done(lives, event)
        elif "output_index" in event:
            yield from _check_event(lives.get(event["output_index"]), event)
        elif event["type"] in STATUS:
            yield from _check_all_done(lives, event)


def _check_added(lives: dict[int, Life], ids: set[str], event: Event) -> Iterator[Breach]:
    index = event["output_index"]
    item = event["item"]
    if index in lives:
        yield Breach("item:added-once", f"output index {index} was added before", event)
        return
    if index != len(lives):
        yield Breach("item:index-next", f"{index} arrived when {len(lives)} was next", event)
    lives[index] = Life(item)
    item_id = item.get("id")
    if not isinstance(item_id, str) or not item_id:
        yield Breach("item:id-set", f"the id of a {item['type']} is {item_id!r}", event)
    elif item_id in ids:
        yield Breach("item:id-unique", f"{item_id} is the id of an earlier item", event)
    else:
        ids.add(item_id)
    yield from _check_fresh(item, event)


def _check_fresh(item: dict[str, Any], event: Event) -> Iterator[Breach]:
    for path in STREAMED.get(item["type"], ()):
        if at(item, path) and not (path == ("arguments",) and item.get(APPROVED)):
            yield Breach(
                "item:opens-empty", f"a {item['type']} is added with its {'.'.join(path)}", event
            )
    is_streamed = item["type"] in STREAMED or item["type"] in STEPS
    is_result = item["type"].endswith("_output")
    if is_streamed and not is_result and item.get("status") not in (None, "in_progress"):
        yield Breach("item:opens-in-progress", f"a {item['type']} is added {item['status']}", event)


def _check_done(lives: dict[int, Life], event: Event) -> Iterator[Breach]:
    index = event["output_index"]
    item = event["item"]
    life = lives.get(index)
    if life is None:
        yield Breach(
            "item:events-inside-life", f"a {item['type']} is done that was not added", event
        )
        return
    if life.is_done:
        yield Breach("item:done-once", f"output index {index} was done before", event)
    life.is_done = True
    for key in CONSTANT:
        is_own = key in OWN and item["type"] in STEPS
        if life.added.get(key) not in (None, item.get(key)) and not is_own:
            yield Breach(
                "item:done-matches-added", f"{key} {item.get(key)} was {life.added[key]}", event
            )
    is_excused = at(item, ("caller", "type")) == "program" or item["type"] == "apply_patch_call"
    if item.get("status") not in (None, *FINAL) and not is_excused:
        yield Breach("item:status-final", f"a {item['type']} is done and {item['status']}", event)


def _check_event(life: Life | None, event: Event) -> Iterator[Breach]:
    if life is None or life.is_done:
        when = "before its item is added" if life is None else "after its item is done"
        yield Breach("item:events-inside-life", f"{event['type']} arrives {when}", event)
        return
    if event.get("item_id", life.added.get("id")) != life.added.get("id"):
        yield Breach(
            "item:event-id",
            f"{event['type']} names {event['item_id']}, not {life.added.get('id')}",
            event,
        )
    item_type = life.added["type"]
    if ":" not in item_type and item_type not in ITEM_TYPES.get(stem(event["type"]), (item_type,)):
        yield Breach("item:event-kind", f"{event['type']} in a {item_type}", event)


def _check_all_done(lives: dict[int, Life], event: Event) -> Iterator[Breach]:
    for index, life in lives.items():
        if not life.is_done:
            life.is_done = True
            yield Breach(
                "item:done-once", f"the {life.added['type']} at {index} is never done", event
            )
