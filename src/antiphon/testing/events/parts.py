"""The life of what numbered parts an item has: content, summary, a shell call's commands. All three live alike."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from antiphon.testing.events.grammar import PART_TEXTS, stem
from antiphon.testing.events.rules import Breach, Event


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
            yield from _check_all_done(items.pop(event["output_index"], {}), event)
            continue
        place = INSIDE.get(stem(name), stem(name))
        if place not in TRACKS:
            continue
        parts = items.setdefault(event["output_index"], {}).setdefault(place, Parts())
        if name == f"{place}.added":
            yield from _check_added(TRACKS[place], parts, event)
        else:
            yield from _check_inside(TRACKS[place], parts, event)
            if name == f"{place}.done":
                parts.open.pop(event[TRACKS[place].numbered_by], None)


def _check_added(track: Track, parts: Parts, event: Event) -> Iterator[Breach]:
    index, part = event[track.numbered_by], event.get("part", {})
    if index != parts.added:
        yield Breach(f"{track.name}:index-next", f"{index} came when {parts.added} was next", event)
    parts.added += 1
    parts.open[index] = part.get("type", "")
    for key in EMPTY:
        if part.get(key):
            yield Breach("part:opens-empty", f"a {part['type']} is added with {key}", event)


def _check_inside(track: Track, parts: Parts, event: Event) -> Iterator[Breach]:
    kind = parts.open.get(event[track.numbered_by])
    if kind is None:
        place = f"{track.numbered_by} {event[track.numbered_by]}"
        yield Breach(f"{track.name}:events-inside-life", f"{event['type']} while {place} is not open", event)
    elif "part" in event and event["part"]["type"] != kind:
        yield Breach("part:kind", f"a {kind} is done as {event['part']['type']}", event)
    elif kind and "part" not in event and not event["type"].startswith(PART_TEXTS.get(kind, "")):
        yield Breach("part:kind", f"{event['type']} in a {kind}", event)


def _check_all_done(tracks: dict[str, Parts], event: Event) -> Iterator[Breach]:
    for place, parts in tracks.items():
        for index in parts.open:
            track = TRACKS[place]
            yield Breach(f"{track.name}:done-once", f"{track.numbered_by} {index} is not done when its item is", event)
