"""What comes with a text: the log probabilities of its tokens, and its annotations.

Nobody says in which units the indexes of an annotation count, so a text is as long as the longest of them makes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.testing.events.rules import Breach, Event, shown

ANNOTATIONS: dict[str, dict[str, type]] = {
    "url_citation": {"url": str, "title": str, "start_index": int, "end_index": int},
    "file_citation": {"file_id": str, "filename": str, "index": int},
    "container_file_citation": {
        "container_id": str,
        "file_id": str,
        "filename": str,
        "start_index": int,
        "end_index": int,
    },
    "file_path": {"file_id": str, "index": int},
}
"""The fields of an annotation, by its type (specification section 5)."""

INDEXES = ("start_index", "end_index", "index")


@dataclass(slots=True)
class Details:
    """What has come with one part's text."""

    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)


def check_details(events: list[Event]) -> Iterator[Breach]:
    """Follow both by the part that they belong to."""
    parts: dict[tuple[int, int], Details] = {}
    for event in events:
        name = event["type"]
        if name not in CHECKS:
            continue
        details = parts.setdefault((event["output_index"], event["content_index"]), Details())
        yield from CHECKS[name](details, event)


def units(text: str) -> int:
    """Return how long a text is in units of UTF-16: as many as its characters, or more."""
    return len(text) + sum(character > "\uffff" for character in text)


def _check_delta(details: Details, event: Event) -> Iterator[Breach]:
    if not isinstance(event.get("logprobs"), list):
        yield Breach("text:logprobs-listed", f"{event['type']} has {event.get('logprobs')}", event)
        return
    details.logprobs += event["logprobs"]


def _check_done(details: Details, event: Event) -> Iterator[Breach]:
    if not isinstance(event.get("logprobs"), list):
        yield Breach("text:logprobs-listed", f"{event['type']} has {event.get('logprobs')}", event)
    elif event["logprobs"] != details.logprobs:
        yield Breach("text:logprobs-equal-deltas", f"{event['type']} has others than its deltas", event)


def _check_annotation(details: Details, event: Event) -> Iterator[Breach]:
    index, expected = event["annotation_index"], len(details.annotations)
    if index != expected:
        yield Breach("annotation:index-next", f"{index} came when {expected} was next", event)
    details.annotations.append(event["annotation"])
    yield from _check_fields(event)


def _check_fields(event: Event) -> Iterator[Breach]:
    annotation = event["annotation"]
    kind = annotation.get("type")
    fields = ANNOTATIONS.get(kind) if isinstance(kind, str) else None
    if fields is None or any(type(annotation.get(name)) is not wanted for name, wanted in fields.items()):
        yield Breach("annotation:fields", f"the annotation is {shown(annotation)}", event)


def _indexes(annotation: Any) -> list[int]:
    found = [annotation.get(name) for name in INDEXES] if isinstance(annotation, dict) else []
    return [index for index in found if type(index) is int]


def _check_places(part: dict[str, Any], event: Event) -> Iterator[Breach]:
    annotations, text = part.get("annotations"), part.get("text")
    length = units(text) if isinstance(text, str) else 0
    for annotation in annotations if isinstance(annotations, list) else ():
        indexes = _indexes(annotation)
        if indexes != sorted(indexes) or any(not 0 <= index <= length for index in indexes):
            yield Breach("annotation:in-text", f"{shown(annotation)} in {length} characters", event)


def _check_part(details: Details, event: Event) -> Iterator[Breach]:
    part = event["part"]
    if part.get("logprobs", details.logprobs) != details.logprobs:
        yield Breach("text:logprobs-equal-deltas", "the done part has others than its deltas", event)
    if (part.get("annotations") or []) != details.annotations:
        yield Breach("annotation:part-equals-added", "the done part has others than were added", event)
    yield from _check_places(part, event)


CHECKS = {
    "response.output_text.delta": _check_delta,
    "response.output_text.done": _check_done,
    "response.output_text.annotation.added": _check_annotation,
    "response.content_part.done": _check_part,
}
