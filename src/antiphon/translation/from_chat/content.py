"""The content of an answer between its calls: reasoning, text and refusals.

Reasoning and message are open one at a time: each closes the other. Calls are independent of them
(`calls.py`). Content can be reasoning in tags, and can end in the middle of a character
(`text_filters.py`). If it can contain calls as well, `text_calls/content.py` reads it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.protocol.chat import ChatChoice, Delta
from antiphon.protocol.items.content import Status
from antiphon.protocol.sources import Sources
from antiphon.translation.checked_items import CheckedMessage, TextCheck
from antiphon.translation.from_chat.annotations import (
    read_annotation,
    read_citations,
    read_logprobs,
    spelling,
)
from antiphon.translation.from_chat.calls import StreamingCalls
from antiphon.translation.from_chat.reasoning import ReasoningState, thinking_parts
from antiphon.translation.from_chat.text_filters import Piece, SurrogateJoiner, ThinkSplitter
from antiphon.translation.items import StoppingMessage, StreamingMessage, StreamingReasoning
from antiphon.translation.writer import GrowingText, ResponseWriter

MAX_BLANK = 64
"""Whitespace characters that wait for a text to begin; more of them are a text."""

HasSign = Callable[[str], object]

CallSearch = tuple[str, HasSign, list[str]]
"""The characters with which a sign of a call begins; what finds a sign in a text; the texts without
one, which grow.
"""


def before_sign(texts: list[str], has_sign: HasSign) -> list[str]:
    """Return the texts before the first one that has a sign."""
    for place, text in enumerate(texts):
        if has_sign(text):
            return texts[:place]
    return texts


class StreamingContent:
    """The reasoning and the message of one answer, of which at most one is open.

    `sources` are what the model can cite; `preopened` says that the model's template opens
    `<think>`. `is_quoted` says whether the request mentions a tag. `calls` are those of the same
    answer; one without calls must match `check`.
    """

    calls: StreamingCalls
    search: CallSearch | None = None
    """What the texts that are appended to `steady_text` are searched for; None if they cannot
    contain calls.
    """

    def __init__(
        self,
        writer: ResponseWriter,
        sources: Sources | None,
        *,
        preopened: bool,
        check: TextCheck | None = None,
        is_quoted: Callable[[str], bool] | None = None,
    ) -> None:
        self._writer = writer
        self._sources = sources
        self._check = check
        self.retained: list[StreamingMessage] = []
        """Messages that are over, but violate their schema."""
        self.think = ThinkSplitter(preopened, is_quoted)
        self.surrogates = SurrogateJoiner()
        self.state = ReasoningState()
        """Data that the backend expects back with the reasoning that is open, or is next."""
        self.has_begun = False
        """Whether an item was opened, including a call."""
        self._is_calling = False
        """Whether a call that was found in the text is opening."""
        self._message: StreamingMessage | None = None
        self._reasoning: StreamingReasoning | None = None
        self._blank = ""
        self._blank_reasoning: list[str] = []
        """Whitespace that waits for reasoning: without any, there is no item."""
        self._logprobs: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []

    @property
    def steady_text(self) -> GrowingText | None:
        """The open text, if the next text is simply appended to it: a text without the mark of
        `think`.
        """
        if (
            self._message is None
            or self.think.mark is None
            or self.surrogates.halves
            or self._logprobs
        ):
            return None
        return self._message.steady

    @property
    def pieces(self) -> list[str]:
        """The pieces of the open text or reasoning, a list that grows."""
        grown = self._message or self._reasoning
        return self._blank_reasoning if grown is None else grown.pieces

    def feed(self, choice: ChatChoice, delta: Delta) -> None:
        """Read the content of a choice, except its calls."""
        if choice.logprobs and self._writer.view.logprobs:
            self._logprobs += read_logprobs(choice.logprobs, self._writer.view.rivals)
        if (
            delta.reasoning_content
            or delta.reasoning
            or delta.reasoning_details
            or delta.thinking_blocks
        ):
            self._add_reasoning(self.state.read(delta))
        if delta.extra_content:
            self.state.save_extra_content(delta.extra_content)
            self._add_reasoning("")
        if delta.content:
            if isinstance(delta.content, str):
                self._add_text(delta.content)
            else:
                self._add_content(delta.content)
        elif self._logprobs and not self.surrogates.halves:
            self._logprobs = []  # of tokens that are not text
        if delta.refusal and isinstance(delta.refusal, str):
            self._add_refusal(delta.refusal)
        if delta.annotations and isinstance(delta.annotations, list):
            self._annotate([read_annotation(annotation) for annotation in delta.annotations])

    def make_room(self) -> None:
        """A call opens: earlier content ends.

        Waiting signatures precede it if backends require them.
        """
        self.has_begun = True
        self._flush_text()
        self._blank = ""
        self._blank_reasoning = []
        if self._check is not None:
            self._release()
        if self.state:
            self._open_reasoning()
        self.close("completed")
        if not self._is_calling:
            self.think.restart()

    def finish(self, status: Status, citations: list[Any]) -> None:
        """Finish the text, with the pages that the answer as a whole cites."""
        self._flush_text()
        if self.think.is_misplaced and status == "completed":
            self._take_for_answer()
        self._annotate(read_citations(citations))

    def close(self, status: Status) -> None:
        """Close what is open."""
        self._close_message(status)
        self._close_reasoning(status)

    def close_state(self, status: Status) -> None:
        """Emit the signatures that arrived last, in a separate reasoning item."""
        self._open_reasoning()
        self._close_reasoning(status)

    def _add_content(self, content: Any) -> None:
        """Read content that is not a string: Mistral's parts, or Cloudflare's JSON value for
        structured output.
        """
        if not isinstance(content, list):
            self._add_text(msgspec.json.encode(content).decode())
            return
        reasoning, text = thinking_parts(content)
        if reasoning:
            self.state.field = "thinking"
            self._add_reasoning(reasoning)
        if text:
            self._add_text(text)

    def _add_reasoning(self, text: str) -> None:
        if text:
            if self._message is not None:
                self._flush_text()
            self.think.stop()
            if text := self.surrogates.whole("reasoning", text):
                self._reason(text)
        elif self.state and self._message is None and not self.calls:
            # Signatures arrive without text; those after the answer wait.
            self._open_reasoning()

    def _add_text(self, text: str) -> None:
        if self.surrogates.halves or not text.isascii():
            text = self.surrogates.whole("text", text)
            if not text:
                return
        if self.think.is_plain(text):
            self._emit(text)
            return
        self._write_pieces(self.think.feed(text))

    def _flush_text(self) -> None:
        """Write the text that was held back."""
        if rest := self.surrogates.rest("text"):
            self._write_pieces(self.think.feed(rest))
        self._write_pieces(self.think.flush())

    def _write_pieces(self, pieces: list[Piece]) -> None:
        for is_reasoning, piece in pieces:
            if not is_reasoning:
                self._emit(piece)
            elif piece:
                self.state.field = self.state.field or "think"
                self._blank = ""
                self._reason(piece)
            else:
                self._end_text()
        if pieces and pieces[-1][0]:
            self._logprobs = []

    def _end_text(self) -> None:
        """The text after this one is another message."""
        self._close_message("completed")

    def _emit(self, text: str) -> None:
        message = self._message
        if message is None:
            text = self._blank + text
            if text.isspace() and len(text) <= MAX_BLANK:
                self._blank = text
                return
            self._blank = ""
            self._logprobs = spelling(self._logprobs, text)
            message = self._open_message()
            self._annotate([])
        if self._logprobs:
            logprobs = self._logprobs
            self._logprobs = []
            message.add_text(text, logprobs)
        else:
            message.add_text(text)

    def _take_for_answer(self) -> None:
        """A block was never closed, and was only assumed, or began with a tag with which a text can
        begin: its text was the answer, and is sent as one.
        """
        self.think.preopened = False
        if text := self.think.unclosed:
            self._emit(text)
        elif self._reasoning is not None:
            self._emit(self._reasoning.text)

    def _add_refusal(self, text: str) -> None:
        self._flush_text()
        if text := self.surrogates.whole("refusal", text):
            message = self._message or self._open_message()
            message.add_refusal(text)

    def _reason(self, text: str) -> None:
        reasoning = self._reasoning
        if reasoning is None or self._blank_reasoning:
            if text.isspace():
                self._blank_reasoning.append(text)
                return
            blanks = self._blank_reasoning
            self._blank_reasoning = []
            text = "".join([*blanks, text])
            reasoning = self._open_reasoning()
        reasoning.add(text)

    def _annotate(self, annotations: list[dict[str, Any]]) -> None:
        """Annotate the message; without one, annotations wait for its text."""
        self._annotations += filter(None, annotations)
        if self._message is not None:
            for annotation in self._annotations:
                self._message.annotate(annotation)
            self._annotations = []

    def _open_message(self) -> StreamingMessage:
        self.has_begun = True
        self._blank_reasoning = []
        self._close_reasoning("completed")
        self.calls.close_whole()
        writer = self._writer
        if self._check is not None:
            self._message = CheckedMessage(writer, self._sources, self._check)
        elif writer.stops is not None:
            self._message = StoppingMessage(writer, self._sources, writer.stops)
        else:
            self._message = StreamingMessage(writer, self._sources)
        return self._message

    def _release(self) -> None:
        """A call follows: the text before it is not the structured answer."""
        self._check = None
        if isinstance(self._message, CheckedMessage):
            self._message.release()

    def _open_reasoning(self) -> StreamingReasoning:
        if self._reasoning is None:
            self.has_begun = True
            self._close_message("completed")
            self.calls.close_whole()
            self._reasoning = StreamingReasoning(self._writer)
        return self._reasoning

    def _close_message(self, status: Status) -> None:
        if self._message is not None:
            message = self._message
            self._message = None
            if rest := self.surrogates.rest("refusal"):
                message.add_refusal(rest)
            retained = message.close(status)
            if retained is not None:
                self.retained.append(retained)

    def _close_reasoning(self, status: Status) -> None:
        if self._reasoning is not None:
            reasoning = self._reasoning
            self._reasoning = None
            if rest := self.surrogates.rest("reasoning"):
                reasoning.add(rest)
            state = self.state
            self.state = ReasoningState()
            reasoning.close(status, state)
