"""The parts of a message or of reasoning while they arrive, each opened by its first text and
closed once.
"""

from dataclasses import dataclass, field
from typing import Any

from antiphon.protocol import events
from antiphon.protocol.items.content import OutputText, ReasoningText, Refusal, SummaryText
from antiphon.translation.from_chat.annotations import Annotations, read_annotation
from antiphon.translation.from_responses.values import dicts, text
from antiphon.translation.stop_sequences import StopSequences, StopWatch
from antiphon.translation.writer import ResponseWriter, padding

FIELDS = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "text",
    "summary_text": "text",
}
"""The field with the text, by the type of part."""


@dataclass(slots=True)
class PartPlace:
    """The position of a part: its item, and its index in the item's content or summary."""

    output_index: int
    item_id: str
    index: int

    def content(self) -> dict[str, Any]:
        """Return it in the form of content events."""
        return {
            "output_index": self.output_index,
            "item_id": self.item_id,
            "content_index": self.index,
        }

    def summary(self) -> dict[str, Any]:
        """Return it in the form of summary events."""
        return {
            "output_index": self.output_index,
            "item_id": self.item_id,
            "summary_index": self.index,
        }


@dataclass(slots=True)
class PassedPart:
    """One part. `settle` compares it with the backend's final part; `close` ends it."""

    writer: ResponseWriter
    place: PartPlace
    kind: str
    """Its type, in the backend's terms."""
    is_closed: bool = False
    _pieces: list[str] = field(default_factory=list)
    _logprobs: list[dict[str, Any]] = field(default_factory=list)
    _length: int = 0
    _annotations: Annotations = field(default_factory=Annotations)
    _received: int = 0
    """How many annotations the backend sent."""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def open(self) -> None:
        """Announce it."""
        self.writer.emit(
            events.ResponseContentPartAddedEvent(**self.place.content(), part=_SHAPES[self.kind]())
        )

    def add(self, delta: str, logprobs: Any = None) -> None:
        """Append to its text."""
        if self.is_closed or not delta:
            return
        self._pieces.append(delta)
        self._length += len(delta)
        place = self.place.content()
        if self.kind == "refusal":
            self.writer.emit(events.ResponseRefusalDeltaEvent(**place, delta=delta))
        elif self.kind == "reasoning_text":
            self.writer.emit(events.ResponseReasoningTextDeltaEvent(**place, delta=delta))
        else:
            tokens = dicts(logprobs) if self.writer.view.logprobs else []
            self._logprobs += tokens
            event = events.ResponseTextDeltaEvent(**place, delta=delta, logprobs=tokens)
            if self.writer.view.obfuscation:
                event.obfuscation = padding(delta)
            self.writer.emit(event)
            self._emit_annotations()

    def annotate(self, value: Any) -> None:
        """Add an annotation to its text."""
        self._received += 1
        annotation = read_annotation(value)
        if self.is_closed or self.kind != "output_text" or not annotation:
            return
        self._annotations.add(annotation)
        self._emit_annotations()

    def _emit_annotations(self, *, is_over: bool = False) -> None:
        for index, annotation in self._annotations.due(self._length, is_over=is_over):
            place = self.place.content()
            self.writer.emit(
                events.ResponseOutputTextAnnotationAddedEvent(
                    **place, annotation_index=index, annotation=annotation
                )
            )

    def settle(self, whole: dict[str, Any]) -> None:
        """Emit the content of the final part that was not emitted yet.

        What was emitted and is not in it stays.
        """
        if whole.get("type", self.kind) != self.kind:
            return
        emitted = self.text
        intended = text(whole.get(FIELDS[self.kind]))
        if intended.startswith(emitted):
            self.add(intended[len(emitted) :], None if emitted else whole.get("logprobs"))
        for annotation in dicts(whole.get("annotations"))[self._received :]:
            self.annotate(annotation)

    def close(self) -> None:
        """End it."""
        if self.is_closed:
            return
        self.is_closed = True
        place = self.place.content()
        if self.kind == "refusal":
            self.writer.emit(events.ResponseRefusalDoneEvent(**place, refusal=self.text))
        elif self.kind == "reasoning_text":
            self.writer.emit(events.ResponseReasoningTextDoneEvent(**place, text=self.text))
        else:
            self._emit_annotations(is_over=True)
            self.writer.emit(
                events.ResponseTextDoneEvent(**place, text=self.text, logprobs=self._logprobs)
            )
        self.writer.emit(events.ResponseContentPartDoneEvent(**place, part=self.whole()))

    def whole(self) -> Any:
        """Return the part as the item has it."""
        if self.kind == "output_text":
            return OutputText(
                text=self.text, annotations=self._annotations.reported, logprobs=self._logprobs
            )
        return _SHAPES[self.kind](self.text)


class StoppingPart(PassedPart):
    """A text that a stop sequence can end."""

    def __init__(self, writer: ResponseWriter, place: PartPlace, stops: StopSequences) -> None:
        super().__init__(writer, place, "output_text")
        self._watch = StopWatch(stops)
        self._arrived = ""

    def add(self, delta: str, logprobs: Any = None) -> None:
        """Append to its text."""
        self._arrived += delta
        if certain := self._watch.feed(delta):
            super().add(certain)
        self.writer.stopped_by = self._watch.found or self.writer.stopped_by

    def settle(self, whole: dict[str, Any]) -> None:
        """See `PassedPart.settle`."""
        intended = text(whole.get("text"))
        if whole.get("type", self.kind) == self.kind and intended.startswith(self._arrived):
            self.add(intended[len(self._arrived) :])
        for annotation in dicts(whole.get("annotations"))[self._received :]:
            self.annotate(annotation)

    def close(self) -> None:
        """End it."""
        if not self.is_closed:
            super().add(self._watch.flush())
        super().close()


class SummaryPart(PassedPart):
    """One part of a reasoning summary; also raw reasoning, if the client requested summaries."""

    def open(self) -> None:
        """Announce it."""
        self.writer.emit(
            events.ResponseReasoningSummaryPartAddedEvent(
                **self.place.summary(), part=SummaryText(text="")
            )
        )

    def add(self, delta: str, logprobs: Any = None) -> None:
        """Append to its text."""
        if self.is_closed or not delta:
            return
        self._pieces.append(delta)
        event = events.ResponseReasoningSummaryTextDeltaEvent(**self.place.summary(), delta=delta)
        if self.writer.view.obfuscation:
            event.obfuscation = padding(delta)
        self.writer.emit(event)

    def close(self) -> None:
        """End it."""
        if self.is_closed:
            return
        self.is_closed = True
        place = self.place.summary()
        self.writer.emit(events.ResponseReasoningSummaryTextDoneEvent(**place, text=self.text))
        self.writer.emit(events.ResponseReasoningSummaryPartDoneEvent(**place, part=self.whole()))

    def whole(self) -> SummaryText:
        """Return the part as the item has it."""
        return SummaryText(text=self.text)


_SHAPES: dict[str, Any] = {
    "output_text": lambda content="": OutputText(text=content),
    "refusal": lambda content="": Refusal(refusal=content),
    "reasoning_text": lambda content="": ReasoningText(text=content),
}
