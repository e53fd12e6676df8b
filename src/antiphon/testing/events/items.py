"""The life of an item: added once, done once, its events between."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from antiphon.testing.events.grammar import ITEM_TEXTS, ITEM_TYPES, STATUS, STEPS, TEXTS, at, stem
from antiphon.testing.events.rules import Breach, Event

FINAL = ("completed", "incomplete", "failed")

STREAMED: dict[str, tuple[tuple[str, ...], ...]] = {
    "message": (("content",),),
    "reasoning": (("content",), ("summary",)),
    **{item: (TEXTS[stem].item_path,) for item, stem in ITEM_TEXTS.items()},
    "mcp_list_tools": (("tools",), ("error",)),
    "mcp_call": (("arguments",), ("output",), ("error",)),
}
"""Where an item has what comes later."""

APPROVED = "approval_request_id"
"""An MCP call that has it was asked for before, and has its arguments from the start."""

KEPT = ("type", "id", "call_id", "name", "server_label", APPROVED)
"""What of an item is known when it is added."""


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
    index, item = event["output_index"], event["item"]
    if index in lives:
        yield Breach("item:added-once", f"output index {index} was added before", event)
        return
    if index != len(lives):
        yield Breach("item:index-next", f"{index} came when {len(lives)} was next", event)
    lives[index] = Life(item)
    item_id = item.get("id")
    if not isinstance(item_id, str) or not item_id:
        yield Breach("item:id-set", f"the id of a {item['type']} is {item_id!r}", event)
    elif item_id in ids:
        yield Breach("item:id-unique", f"{item_id} is an earlier item's", event)
    else:
        ids.add(item_id)
    yield from _check_fresh(item, event)


def _check_fresh(item: dict[str, Any], event: Event) -> Iterator[Breach]:
    for path in STREAMED.get(item["type"], ()):
        if at(item, path) and not (path == ("arguments",) and item.get(APPROVED)):
            yield Breach("item:opens-empty", f"a {item['type']} is added with its {'.'.join(path)}", event)
    is_streamed = item["type"] in STREAMED or item["type"] in STEPS
    is_result = item["type"].endswith("_output")
    if is_streamed and not is_result and item.get("status") not in (None, "in_progress"):
        yield Breach("item:opens-in-progress", f"a {item['type']} is added {item['status']}", event)


def _check_done(lives: dict[int, Life], event: Event) -> Iterator[Breach]:
    index, item = event["output_index"], event["item"]
    life = lives.get(index)
    if life is None:
        yield Breach("item:events-inside-life", f"a {item['type']} is done that was not added", event)
        return
    if life.is_done:
        yield Breach("item:done-once", f"output index {index} was done before", event)
    life.is_done = True
    for key in KEPT:
        if life.added.get(key) not in (None, item.get(key)):
            yield Breach("item:done-matches-added", f"{key} {item.get(key)} was {life.added[key]}", event)
    is_excused = at(item, ("caller", "type")) == "program" or item["type"] == "apply_patch_call"
    if item.get("status") not in (None, *FINAL) and not is_excused:
        yield Breach("item:status-final", f"a {item['type']} is done and {item['status']}", event)


def _check_event(life: Life | None, event: Event) -> Iterator[Breach]:
    if life is None or life.is_done:
        when = "before its item is added" if life is None else "after its item is done"
        yield Breach("item:events-inside-life", f"{event['type']} comes {when}", event)
        return
    if event.get("item_id", life.added.get("id")) != life.added.get("id"):
        yield Breach("item:event-id", f"{event['type']} names {event['item_id']}, not {life.added.get('id')}", event)
    item_type = life.added["type"]
    if ":" not in item_type and item_type not in ITEM_TYPES.get(stem(event["type"]), (item_type,)):
        yield Breach("item:event-kind", f"{event['type']} in a {item_type}", event)


def _check_all_done(lives: dict[int, Life], event: Event) -> Iterator[Breach]:
    for index, life in lives.items():
        if not life.is_done:
            life.is_done = True
            yield Breach("item:done-once", f"the {life.added['type']} at {index} is never done", event)
