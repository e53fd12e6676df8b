"""Ways to change a sound stream, so that it breaks one rule and no other."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from antiphon_verify.events.streams import Event, done_items, event, numbered

Change = Callable[[list[Event]], list[Event]]


class Mutation(NamedTuple):
    """A change to one of the `STREAMS`, and which copies of the changed value change too."""

    stream: str
    change: Change
    settled: str = "items"
    """`items`: items repeat their parts, and the terminal output repeats the items. `output`: only
    the latter.
    """

    def apply(self, streams: dict[str, list[Event]]) -> list[Event]:
        events = self.change(deepcopy(streams[self.stream]))
        if self.settled == "items":
            settle_items(events)
        if self.settled in ("items", "output"):
            settle_output(events)
        return events if self.settled == "numbers" else numbered(events)


def settle_items(events: list[Event]) -> None:
    """Make the items contain what their parts contain."""
    parts: dict[tuple[int, str], list[Any]] = {}
    for each in events:
        name = each["type"].removeprefix("response.")
        if name in ("content_part.done", "reasoning_summary_part.done"):
            key = "content" if "content_index" in each else "summary"
            parts.setdefault((each["output_index"], key), []).append(each["part"])
        if name == "output_item.done":
            for key in {"content", "summary"} & each["item"].keys():
                each["item"][key] = deepcopy(parts.get((each["output_index"], key), []))


def settle_output(events: list[Event]) -> None:
    """Make the output of the terminal response consist of the items."""
    for each in events:
        if each["type"] in ("response.completed", "response.incomplete", "response.failed"):
            each["response"]["output"] = done_items(events)


# Ways to change a stream. A type is written without `response.`; `nth` counts events
# of that type from 0.


def find(events: list[Event], type: str, nth: int = 0) -> int:
    """Return the place of an event of a type."""
    named = (type, f"response.{type}")
    return [place for place, each in enumerate(events) if each["type"] in named][nth]


def drop(*types: str) -> Change:
    """Drop every event of these types."""
    named = {*types, *(f"response.{name}" for name in types)}
    return lambda events: [each for each in events if each["type"] not in named]


def drop_one(type: str, nth: int = 0) -> Change:
    """Drop one event of a type."""

    def change(events: list[Event]) -> list[Event]:
        del events[find(events, type, nth)]
        return events

    return change


def double(type: str, nth: int = 0) -> Change:
    """Repeat an event."""

    def change(events: list[Event]) -> list[Event]:
        place = find(events, type, nth)
        return [*events[: place + 1], deepcopy(events[place]), *events[place + 1 :]]

    return change


def insert(new: Event, after: str, nth: int = 0) -> Change:
    """Insert an event after another one."""

    def change(events: list[Event]) -> list[Event]:
        place = find(events, after, nth) + 1
        return [*events[:place], new, *events[place:]]

    return change


def swap(first: str, second: str) -> Change:
    """Exchange two events."""

    def change(events: list[Event]) -> list[Event]:
        one = find(events, first)
        other = find(events, second)
        events[one], events[other] = events[other], events[one]
        return events

    return change


def put(type: str, path: str, value: Any, nth: int = 0) -> Change:
    """Set the value of an event at a path such as `item.status`; None is null."""

    def change(events: list[Event]) -> list[Event]:
        *keys, last = path.split(".")
        target: Any = events[find(events, type, nth)]
        for key in keys:
            target = target[int(key)] if isinstance(target, list) else target[key]
        target[int(last) if isinstance(target, list) else last] = value
        return events

    return change


def remove(type: str, key: str) -> Change:
    """Remove a key of an event."""

    def change(events: list[Event]) -> list[Event]:
        del events[find(events, type)][key]
        return events

    return change


def renumber(key: str, old: int, new: int, types: str = "") -> Change:
    """Replace `old` by `new` in every event with the word `types` in its type."""

    def change(events: list[Event]) -> list[Event]:
        return [
            {**each, key: new} if each.get(key) == old and types in each["type"] else each
            for each in events
        ]

    return change


def move(type: str, nth: int, before: tuple[str, int]) -> Change:
    """Move an event before another one."""

    def change(events: list[Event]) -> list[Event]:
        moved = events[find(events, type, nth)]
        place = find(events, *before)
        rest = [each for each in events if each is not moved]
        return [*rest[:place], moved, *rest[place:]]

    return change


def cited(**fields: Any) -> Change:
    """Set fields of the citation, where it is added and where its part is done."""
    added = "output_text.annotation.added"
    done = "content_part.done"
    places = ((added, "annotation"), (done, "part.annotations.0"))
    return both(
        *(
            put(each, f"{path}.{name}", value)
            for each, path in places
            for name, value in fields.items()
        )
    )


def relisted(label: str) -> Change:
    """List the tools of another server, at the end."""
    added: dict[str, Any] = {
        "id": "mcpl_9",
        "type": "mcp_list_tools",
        "server_label": label,
        "tools": [],
        "error": None,
    }
    place = {"output_index": 6}
    named = {**place, "item_id": "mcpl_9"}
    listing = [
        event("output_item.added", **place, item=added),
        event("mcp_list_tools.in_progress", **named),
        event("mcp_list_tools.completed", **named),
        event("output_item.done", **place, item=added),
    ]
    return lambda events: [*events[:-1], *listing, events[-1]]


def both(*changes: Change) -> Change:
    """Make several changes, one after the other."""

    def change(events: list[Event]) -> list[Event]:
        for each in changes:
            events = each(events)
        return events

    return change


ADDED = "output_item.added"
DONE = "output_item.done"
COMPACTING = event("compaction.compacting", output_index=1, item_id="msg_1")
MALFORMED = event("output_text.delta", output_index=1, delta="x")
TOOL = {"name": "roll", "input_schema": {"type": "object"}}
FLAT = {"code": "server_error", "message": "The backend broke off."}
