"""What comes with a text: the log probabilities of its tokens, and its annotations."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.testing.events.rules import Breach, Event


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


def _check_part(details: Details, event: Event) -> Iterator[Breach]:
    part = event["part"]
    if part.get("logprobs", details.logprobs) != details.logprobs:
        yield Breach("text:logprobs-equal-deltas", "the done part has others than its deltas", event)
    if (part.get("annotations") or []) != details.annotations:
        yield Breach("annotation:part-equals-added", "the done part has others than were added", event)


CHECKS = {
    "response.output_text.delta": _check_delta,
    "response.output_text.done": _check_done,
    "response.output_text.annotation.added": _check_annotation,
    "response.content_part.done": _check_part,
}
