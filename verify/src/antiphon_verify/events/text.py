"""Text of every kind that arrives in deltas: the text in `done`, the part and the item equals the
joined deltas.

A shell's output is two texts, standard output and error; all others are one. So a text is a tuple
of strings here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon_verify.events.grammar import ITEM_TEXTS, PART_TEXTS, TEXTS, at, stem
from antiphon_verify.events.rules import Breach, displayed
from antiphon_verify.events.streams import Event

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
    """The events so far of one part's text."""

    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)


def check_details(events: list[Event]) -> Iterator[Breach]:
    """Follow both by their part."""
    parts: dict[tuple[int, int], Details] = {}
    for event in events:
        name = event["type"]
        if name not in CHECKS:
            continue
        details = parts.setdefault((event["output_index"], event["content_index"]), Details())
        yield from CHECKS[name](details, event)


def units(text: str) -> int:
    """Return the length of a text in units of UTF-16: as many as its characters, or more."""
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
        yield Breach(
            "text:logprobs-equal-deltas", f"{event['type']} has other ones than its deltas", event
        )


def _check_annotation(details: Details, event: Event) -> Iterator[Breach]:
    index = event["annotation_index"]
    expected = len(details.annotations)
    if index != expected:
        yield Breach("annotation:index-next", f"{index} arrived when {expected} was next", event)
    details.annotations.append(event["annotation"])
    yield from _check_fields(event)


def _check_fields(event: Event) -> Iterator[Breach]:
    annotation = event["annotation"]
    kind = annotation.get("type")
    fields = ANNOTATIONS.get(kind) if isinstance(kind, str) else None
    if fields is None or any(
        type(annotation.get(name)) is not wanted for name, wanted in fields.items()
    ):
        yield Breach("annotation:fields", f"the annotation is {displayed(annotation)}", event)


def _indexes(annotation: Any) -> list[int]:
    found = [annotation.get(name) for name in INDEXES] if isinstance(annotation, dict) else []
    return [index for index in found if type(index) is int]


def _check_places(part: dict[str, Any], event: Event) -> Iterator[Breach]:
    annotations = part.get("annotations")
    text = part.get("text")
    length = units(text) if isinstance(text, str) else 0
    for annotation in annotations if isinstance(annotations, list) else ():
        indexes = _indexes(annotation)
        if indexes != sorted(indexes) or any(not 0 <= index <= length for index in indexes):
            yield Breach(
                "annotation:in-text", f"{displayed(annotation)} in {length} characters", event
            )


def _check_detail(details: Details, event: Event) -> Iterator[Breach]:
    part = event["part"]
    if part.get("logprobs", details.logprobs) != details.logprobs:
        yield Breach(
            "text:logprobs-equal-deltas", "the done part has other ones than its deltas", event
        )
    if (part.get("annotations") or []) != details.annotations:
        yield Breach(
            "annotation:part-equals-added", "the done part has other ones than were added", event
        )
    yield from _check_places(part, event)


CHECKS = {
    "response.output_text.delta": _check_delta,
    "response.output_text.done": _check_done,
    "response.output_text.annotation.added": _check_annotation,
    "response.content_part.done": _check_detail,
}


STREAMS = ("stdout", "stderr")

WHOLE_AT_ONCE = ("response.mcp_call_arguments",)
"""Texts that OpenAI often sends only in a `done`."""


@dataclass(slots=True)
class Growth:
    """A text while it grows: the deltas, joined when it is done."""

    deltas: list[tuple[str, ...]] = field(default_factory=list)
    done: Any = None
    """The text in `done`, unchanged."""

    @property
    def is_done(self) -> bool:
        return self.done is not None


Texts = dict[tuple[str, int], Growth]
"""An item's texts by stem and index; an item's only text has index 0."""


def check_text(events: list[Event]) -> Iterator[Breach]:
    """Follow every text from its first delta to the item that contains all of it."""
    items: dict[int, Texts] = {}
    for event in events:
        name = event["type"]
        if name in GROWING:
            yield from _check_growth(items.setdefault(event["output_index"], {}), event)
        elif name in PART_DONE:
            yield from _check_part(items.get(event["output_index"], {}), event)
        elif name == "response.output_item.done":
            yield from _check_item(items.pop(event["output_index"], {}), event)


def joined(deltas: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Join deltas, each of the same texts."""
    return tuple(map("".join, zip(*deltas, strict=False)))


def pieces(value: Any) -> tuple[str, ...]:
    """Return the texts in a delta, or in `done`: a string, or a shell's output."""
    if isinstance(value, str):
        return (value,)
    outputs = value if isinstance(value, list) else [value]
    return tuple("".join(str(at(output, (key,)) or "") for output in outputs) for key in STREAMS)


GROWING = {f"{name}.{word}" for name in TEXTS for word in ("delta", "done")}
PART_DONE = {
    "response.content_part.done": "content_index",
    "response.reasoning_summary_part.done": "summary_index",
}


def _check_growth(texts: Texts, event: Event) -> Iterator[Breach]:
    name = event["type"]
    kind = stem(name)
    growth = texts.setdefault((kind, event.get(TEXTS[kind].numbered_by, 0)), Growth())
    if growth.is_done:
        yield Breach("text:done-once", f"{name} after it was done", event)
    elif name.endswith(".delta"):
        growth.deltas.append(pieces(event["delta"]))
    else:
        growth.done = event[TEXTS[kind].field]
        yield from _check_whole(kind, growth, event)


def _check_whole(kind: str, growth: Growth, event: Event) -> Iterator[Breach]:
    whole = pieces(growth.done)
    if not growth.deltas:
        if any(whole) and kind not in WHOLE_AT_ONCE:
            yield Breach("text:deltas-first", f"{event['type']} without any delta", event)
    elif joined(growth.deltas) != whole:
        item_text, grown = ("".join(text) for text in (whole, joined(growth.deltas)))
        yield Breach(
            "text:done-equals-deltas",
            f"{event['type']}: {displayed(item_text)} is not {displayed(grown)}",
            event,
        )


def _check_part(texts: Texts, event: Event) -> Iterator[Breach]:
    part = event["part"]
    kind = PART_TEXTS.get(part["type"])
    if kind is None:
        return
    growth = texts.get((kind, event[PART_DONE[event["type"]]]), Growth())
    rule = "summary:done-equals-text" if "summary_index" in event else "part:done-equals-text"
    if not growth.is_done:
        yield Breach("text:done-once", f"a {part['type']} is done without {kind}.done", event)
        growth.done = ""
    elif part.get(TEXTS[kind].field) != growth.done:
        yield Breach(rule, f"a done {part['type']} has another text", event)


def _check_item(texts: Texts, event: Event) -> Iterator[Breach]:
    item = event["item"]
    for (name, _), growth in texts.items():
        if not growth.is_done:
            yield Breach("text:done-once", f"the {item['type']} is done without {name}.done", event)
    kind = ITEM_TEXTS.get(item["type"])
    if kind is None:
        return
    item_text = at(item, TEXTS[kind].item_path)
    dones = [texts[key].done for key in sorted(texts) if key[0] == kind]
    if not dones and item_text:
        yield Breach("text:done-once", f"the {item['type']} is done without {kind}.done", event)
    elif dones and None not in dones and item_text != _as_item_has_it(kind, dones):
        yield Breach(
            "item:equals-text", f"the {item['type']} has another text than {kind}.done", event
        )


def _as_item_has_it(kind: str, dones: list[Any]) -> Any:
    """Commands are a list in their item; a shell's outputs are all in one list; every other text is
    a plain value.
    """
    if not TEXTS[kind].numbered_by:
        return dones[0]
    return dones if isinstance(dones[0], str) else [output for done in dones for output in done]
