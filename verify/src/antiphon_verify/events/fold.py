"""From events back to the response: the result for a client that reads every delta."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon_verify.events.check import plain, readable
from antiphon_verify.events.grammar import ITEM_TEXTS, OPENING, PART_TEXTS, STATUS, TEXTS, stem
from antiphon_verify.events.streams import Event


def fold(events: Iterable[Mapping[str, Any] | Any]) -> dict[str, Any]:
    """Rebuild the response from its events, all of them or only the first ones.

    Streamed content (content, summary, arguments, input, code, diff, commands) is joined from the
    deltas, every other field of an item has the value in its last event, and `output` is the items
    in order. So for a valid stream `fold(events)` equals the terminal event's response; its output
    is not read. Returns `{}` if no event contains the response.
    """
    response: dict[str, Any] = {}
    items: dict[int, FoldedItem] = {}
    for event in readable(map(plain, events)):
        if event["type"] in OPENING or event["type"] in STATUS:
            response = event["response"]
        elif event["type"] == "response.output_item.added":
            items[event["output_index"]] = FoldedItem(event["item"])
        elif event.get("output_index") in items:
            items[event["output_index"]].add(event)
    return (
        {**response, "output": [items[index].whole() for index in sorted(items)]}
        if response
        else {}
    )


@dataclass(slots=True)
class FoldedText:
    """A text: its deltas, or the text in `done` without any deltas."""

    deltas: list[str] = field(default_factory=list)
    done: Any = ""

    def add(self, event: Event) -> None:
        if isinstance(event.get("delta"), str):
            self.deltas.append(event["delta"])
        elif event["type"].endswith(".done"):
            self.done = event[TEXTS[stem(event["type"])].field]

    def whole(self) -> Any:
        return "".join(self.deltas) if self.deltas else self.done


@dataclass(slots=True)
class FoldedPart:
    """A part of content or summary."""

    last: dict[str, Any] = field(default_factory=dict)
    """The part in its last event."""
    text: FoldedText = field(default_factory=FoldedText)
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)

    def add(self, event: Event) -> None:
        if "part" in event:
            self.last = event["part"]
        elif "annotation" in event:
            self.annotations.append(event["annotation"])
        else:
            self.text.add(event)
            if event["type"].endswith(".delta") and isinstance(event.get("logprobs"), list):
                self.logprobs += event["logprobs"]

    def whole(self) -> dict[str, Any]:
        part = dict(self.last)
        kind = PART_TEXTS.get(part.get("type", ""))
        if kind is not None:
            part[TEXTS[kind].field] = self.text.whole()
        for key, came in (("logprobs", self.logprobs), ("annotations", self.annotations)):
            if came or part.get(key):
                part[key] = came
        return part


@dataclass(slots=True)
class FoldedItem:
    """An output item."""

    last: dict[str, Any]
    """The item in its last event."""
    content: dict[int, FoldedPart] = field(default_factory=dict)
    summary: dict[int, FoldedPart] = field(default_factory=dict)
    texts: dict[int, FoldedText] = field(default_factory=dict)
    """A call's text, or a shell's commands and outputs by their index."""

    def add(self, event: Event) -> None:
        if event["type"] == "response.output_item.done":
            self.last = event["item"]
        elif "content_index" in event:
            self.content.setdefault(event["content_index"], FoldedPart()).add(event)
        elif "summary_index" in event:
            self.summary.setdefault(event["summary_index"], FoldedPart()).add(event)
        elif stem(event["type"]) in TEXTS:
            self.texts.setdefault(event.get("command_index", 0), FoldedText()).add(event)

    def whole(self) -> dict[str, Any]:
        item = dict(self.last)
        if self.content:
            item["content"] = [part.whole() for _, part in sorted(self.content.items())]
        if self.summary:
            item["summary"] = [part.whole() for _, part in sorted(self.summary.items())]
        if self.texts and item["type"] in ITEM_TEXTS:
            self._put_text(item)
        return item

    def _put_text(self, item: dict[str, Any]) -> None:
        wholes = [text.whole() for _, text in sorted(self.texts.items())]
        match TEXTS[ITEM_TEXTS[item["type"]]].item_path:
            case ("output",):  # only its `done` says how a command ended
                item["output"] = [output for whole in wholes for output in whole]
            case ("action", "commands"):
                item["action"] = {**_object(item.get("action")), "commands": wholes}
            case ("operation", "diff"):
                item["operation"] = {**_object(item.get("operation")), "diff": wholes[0]}
            case (key,):
                item[key] = wholes[0]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
