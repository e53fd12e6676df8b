"""Output items while they stream: open on their first delta, grow, close once.

An item that is open is an object here; what goes into events and into the response are separate,
finished values, so nothing that was sent can change. Deltas are kept in lists and joined once.
"""

from collections.abc import Sequence
from typing import Any

from antiphon.protocol import events
from antiphon.protocol.items.content import (
    OutputText,
    Part,
    ReasoningText,
    Refusal,
    Status,
    SummaryText,
)
from antiphon.protocol.items.messages import Compaction, Message, Reasoning
from antiphon.protocol.sources import Sources
from antiphon.translation.cited_text import CitedText, Piece
from antiphon.translation.from_chat.annotations import Annotations
from antiphon.translation.from_chat.reasoning import ReasoningState
from antiphon.translation.stop_sequences import StopSequences, StopWatch
from antiphon.translation.writer import GrowingText, ResponseWriter, padding


class StreamingMessage:
    """The assistant's message: text and refusals, a part for each consecutive stretch of a kind.

    Text that cites one of the `sources` is annotated.
    """

    def __init__(self, writer: ResponseWriter, sources: Sources | None = None) -> None:
        self._writer = writer
        self._sources = sources
        self._cited: CitedText | None = None
        self._spare: list[dict[str, Any]] = []
        """The log probabilities of text that was not sent yet, or was truncated."""
        self.id = writer.new_id("msg")
        self._output_index = writer.open_item(
            Message(id=self.id, status="in_progress", role="assistant", content=[])
        )
        self._content: list[Any] = []
        self._text: GrowingText | None = None
        """The open part, if it is text."""
        self._refusal: list[str] | None = None
        """The open part, if it is a refusal."""
        self._annotations: Annotations | None = None
        self.steady: GrowingText | None = None
        """The open text, if it only grows by plain appending."""

    def add_text(self, delta: str, logprobs: list[dict[str, Any]] | None = None) -> None:
        """Append text with the log probabilities of its tokens."""
        text = self._text or self._open_text()
        if self._cited is not None:
            self._spare += logprobs or []
            self._send(text, self._cited.feed(delta))
            return
        text.add([delta], logprobs)
        if self.steady is None:
            self._emit_annotations(text)

    def add_refusal(self, delta: str) -> None:
        """Append text to a refusal."""
        if self._refusal is None:
            self._close_part()
            self._refusal = []
            self._writer.emit(
                events.ResponseContentPartAddedEvent(**self._place(), part=Refusal(refusal=""))
            )
        self._refusal.append(delta)
        self._writer.emit(events.ResponseRefusalDeltaEvent(**self._place(), delta=delta))

    def annotate(self, annotation: dict[str, Any]) -> None:
        """Annotate the text, in a new part if none exists yet.

        An annotation beyond the text so far waits for it.
        """
        text = self._text or self._open_text()
        self._annotations = self._annotations or Annotations()
        self._annotations.add(annotation)
        self._emit_annotations(text)

    @property
    def pieces(self) -> list[str]:
        """The pieces of the open part's text, a list that grows."""
        return self._text.pieces if self._text is not None else []

    def close(self, status: Status) -> "StreamingMessage | None":
        """End the message. Returns it if it needs further processing."""
        self._close_part()
        item = Message(id=self.id, status=status, role="assistant", content=self._content)
        self._writer.close_item(self._output_index, item)
        return None

    def _open_text(self) -> GrowingText:
        self._close_part()
        text = self._text = GrowingText(
            self._writer, self._output_index, self.id, len(self._content)
        )
        self._cited = CitedText(self._sources) if self._sources else None
        self.steady = text if self._cited is None else None
        self._writer.emit(
            events.ResponseContentPartAddedEvent(**self._place(), part=OutputText(text=""))
        )
        return text

    def _close_part(self) -> None:
        part: Part
        if self._text is not None:
            part = self._close_text(self._text)
        elif self._refusal is not None:
            part = Refusal(refusal="".join(self._refusal))
            self._writer.emit(
                events.ResponseRefusalDoneEvent(**self._place(), refusal=part.refusal)
            )
        else:
            return
        self._writer.emit(events.ResponseContentPartDoneEvent(**self._place(), part=part))
        self._content.append(part)
        self._text = self._refusal = self.steady = self._cited = self._annotations = None

    def _close_text(self, text: GrowingText) -> OutputText:
        if self._cited is not None:
            self._send(text, self._cited.finish())
            self._spare = []
        if self._writer.cite_files is not None:
            for annotation in self._writer.cite_files("".join(text.pieces)):
                self.annotate(annotation)
        self._emit_annotations(text, is_over=True)
        annotations = self._annotations.reported if self._annotations else []
        part = OutputText(
            text="".join(text.pieces), annotations=annotations, logprobs=text.logprobs
        )
        self._writer.emit(
            events.ResponseTextDoneEvent(**self._place(), text=part.text, logprobs=text.logprobs)
        )
        return part

    def _send(self, text: GrowingText, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                logprobs = self._spare
                self._spare = []
                text.add([piece], logprobs)
                self._emit_annotations(text)
            else:
                self.annotate(piece)

    def _emit_annotations(self, text: GrowingText, *, is_over: bool = False) -> None:
        if self._annotations is None:
            return
        for index, annotation in self._annotations.due(text.length, is_over=is_over):
            self._writer.emit(
                events.ResponseOutputTextAnnotationAddedEvent(
                    **self._place(), annotation_index=index, annotation=annotation
                )
            )
        self.steady = text if self._cited is None and not self._annotations.are_waiting else None

    def _place(self) -> dict[str, Any]:
        return {
            "output_index": self._output_index,
            "item_id": self.id,
            "content_index": len(self._content),
        }


class StoppingMessage(StreamingMessage):
    """The message of an answer that a stop sequence can end."""

    def __init__(
        self, writer: ResponseWriter, sources: Sources | None, stops: StopSequences
    ) -> None:
        super().__init__(writer, sources)
        self._watch = StopWatch(stops)

    def add_text(self, delta: str, logprobs: list[dict[str, Any]] | None = None) -> None:
        """See `StreamingMessage.add_text`."""
        if text := self._watch.feed(delta):
            super().add_text(text)
        self._writer.stopped_by = self._watch.found or self._writer.stopped_by
        self.steady = None

    def add_refusal(self, delta: str) -> None:
        """See `StreamingMessage.add_refusal`."""
        self._release()
        super().add_refusal(delta)

    def close(self, status: Status) -> StreamingMessage | None:
        """See `StreamingMessage.close`."""
        self._release()
        return super().close(status)

    def _release(self) -> None:
        """Send the text that could have been the beginning of a sequence."""
        if rest := self._watch.flush():
            super().add_text(rest)

    def _emit_annotations(self, text: GrowingText, *, is_over: bool = False) -> None:
        super()._emit_annotations(text, is_over=is_over)
        self.steady = None


class StreamingCompaction:
    """An item that represents everything before it: first it is in progress, then complete."""

    def __init__(self, writer: ResponseWriter) -> None:
        self._writer = writer
        self.id = writer.new_id("cmp")
        self._output_index = writer.open_item(Compaction(id=self.id, encrypted_content=""))
        writer.emit(
            events.ResponseCompactionCompactingEvent(
                output_index=self._output_index, item_id=self.id
            )
        )
        writer.waiting[self._output_index] = lambda: self.close("")

    def close(self, blob: str) -> None:
        """End it with its content."""
        self._writer.close_item(self._output_index, Compaction(id=self.id, encrypted_content=blob))


class StreamingReasoning:
    """The model's reasoning: one part of raw text, or of summary if the client requested
    summaries.
    """

    def __init__(self, writer: ResponseWriter) -> None:
        self._writer = writer
        self._summary = writer.view.summary
        self._obfuscate = writer.view.obfuscation
        self.id = writer.new_id("rs")
        self._text: list[str] = []
        item = Reasoning(id=self.id, status="in_progress", summary=[], content=[])
        self._output_index = writer.open_item(item)

    @property
    def text(self) -> str:
        """The reasoning so far."""
        return "".join(self._text)

    @property
    def pieces(self) -> list[str]:
        """The pieces of the reasoning so far, a list that grows."""
        return self._text

    def add(self, delta: str) -> None:
        """Append reasoning."""
        if not self._text:
            self._open_part()
        self._text.append(delta)
        event: (
            events.ResponseReasoningTextDeltaEvent | events.ResponseReasoningSummaryTextDeltaEvent
        )
        if self._summary:
            event = events.ResponseReasoningSummaryTextDeltaEvent(
                output_index=self._output_index, item_id=self.id, summary_index=0, delta=delta
            )
            if self._obfuscate:
                event.obfuscation = padding(delta)
        else:
            event = events.ResponseReasoningTextDeltaEvent(
                output_index=self._output_index, item_id=self.id, content_index=0, delta=delta
            )
        self._writer.emit(event)

    def close(self, status: Status, state: ReasoningState) -> None:
        """End the reasoning. The data that the backend expects back becomes its
        `encrypted_content`.
        """
        text = self.text
        item = Reasoning(id=self.id, status=status, summary=[], content=[])
        if text and self._summary:
            item.summary = [SummaryText(text=text)]
            self._writer.emit(
                events.ResponseReasoningSummaryTextDoneEvent(**self._place(), text=text)
            )
            self._writer.emit(
                events.ResponseReasoningSummaryPartDoneEvent(**self._place(), part=item.summary[0])
            )
        elif text:
            item.content = [ReasoningText(text=text)]
            self._writer.emit(events.ResponseReasoningTextDoneEvent(**self._place(), text=text))
            self._writer.emit(
                events.ResponseContentPartDoneEvent(**self._place(), part=ReasoningText(text=text))
            )
        self._seal(item, text, state)
        self._writer.close_item(self._output_index, item)

    def _seal(self, item: Reasoning, text: str, state: ReasoningState) -> None:
        view = self._writer.view
        if not (state or view.encrypted or view.summary):
            return
        self._writer.sealed[self.id] = blob = self._writer.seal(state.sealable(text))
        if view.encrypted:
            item.encrypted_content = blob

    def _open_part(self) -> None:
        if self._summary:
            self._writer.emit(
                events.ResponseReasoningSummaryPartAddedEvent(
                    **self._place(), part=SummaryText(text="")
                )
            )
        else:
            self._writer.emit(
                events.ResponseContentPartAddedEvent(**self._place(), part=ReasoningText(text=""))
            )

    def _place(self) -> dict[str, Any]:
        index = "summary_index" if self._summary else "content_index"
        return {"output_index": self._output_index, "item_id": self.id, index: 0}
