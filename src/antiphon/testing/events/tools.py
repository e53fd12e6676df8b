"""Hosted tools: the steps that their items go through."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.testing.events.grammar import FIELDS, STEP_ORDER, STEPS, stem
from antiphon.testing.events.rules import Breach, Event

ENDS = ("completed", "failed")


@dataclass(slots=True)
class Progress:
    """How far an item has come."""

    steps: list[str] = field(default_factory=list)
    """The last words of its steps' events."""
    reached: int = 0
    """The highest place in `STEP_ORDER`."""
    images: int = 0

    @property
    def end(self) -> str | None:
        return next((step for step in self.steps if step in ENDS), None)


def check_tools(events: list[Event]) -> Iterator[Breach]:
    """Follow every hosted tool's item."""
    items: dict[int, Progress] = {}
    for event in events:
        if event["type"] in STEP_ORDER:
            progress = items.setdefault(event["output_index"], Progress())
            yield from _check_step(progress, event)
            if event["type"] == "response.image_generation_call.partial_image":
                yield from _check_partial_image(progress, event)
        elif event["type"] == "response.output_item.done" and event["item"]["type"] in STEPS:
            yield from _check_done(items.pop(event["output_index"], Progress()), event)


def _check_step(progress: Progress, event: Event) -> Iterator[Breach]:
    name = event["type"]
    step = name.rpartition(".")[2]
    if step in STEPS.get(stem(name).removeprefix("response."), ()) or step == "failed":
        if step in progress.steps or (progress.end and step in ENDS):
            yield Breach("tool:step-once", f"{name} came before", event)
            return
        progress.steps.append(step)
    if STEP_ORDER[name] < progress.reached:
        yield Breach("tool:order", f"{name} comes too late", event)
    progress.reached = max(progress.reached, STEP_ORDER[name])


def _check_partial_image(progress: Progress, event: Event) -> Iterator[Breach]:
    index = event["partial_image_index"]
    if index != progress.images:
        yield Breach("image:partial-index-next", f"{index} came when {progress.images} was next", event)
    progress.images = index + 1


def _check_done(progress: Progress, event: Event) -> Iterator[Breach]:
    item = event["item"]
    outcome = _outcome(item)
    is_told = progress.end is not None or (outcome == "failed" and f"response.{item['type']}.failed" in FIELDS)
    if is_told and progress.end != outcome:
        yield Breach(
            "tool:end-matches-status",
            f"a {item['type']} {progress.end or 'without an end'} is done as {outcome}",
            event,
        )
    missing = [step for step in STEPS[item["type"]] if step not in progress.steps]
    if outcome == "completed" and progress.end != "failed" and missing:
        yield Breach("tool:steps-complete", f"a {item['type']} completed without {', '.join(missing)}", event)


def _outcome(item: dict[str, Any]) -> Any:
    """Return an item's status; one that has none failed if it has an error."""
    return item.get("status", "failed" if item.get("error") else "completed")
