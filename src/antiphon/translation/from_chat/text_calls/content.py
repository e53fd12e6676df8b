"""The content of an answer in which the model can write calls as text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from antiphon.protocol.chat import ChatChoice, Delta
from antiphon.protocol.items.content import Status
from antiphon.protocol.sources import Sources
from antiphon.protocol.tool_bindings import Offer, TextCalls
from antiphon.translation.checked_items import TextCheck
from antiphon.translation.from_chat.annotations import read_citations
from antiphon.translation.from_chat.calls import CallDelta
from antiphon.translation.from_chat.content import StreamingContent
from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.last_calls import LastCallReader
from antiphon.translation.from_chat.text_calls.reader import FIRSTS, has_sign
from antiphon.translation.from_chat.text_calls.wrapped import reader_of
from antiphon.translation.items import StreamingMessage, StreamingReasoning
from antiphon.translation.writer import GrowingText, ResponseWriter


class CallingContent(StreamingContent):
    """Content that can contain calls of `offers`, as `text_calls` says, until the backend reports a
    call itself.

    A text with a call in it becomes the text before it, the call, and the text after it. In the
    reasoning, only calls that end the answer count.
    """

    def __init__(
        self,
        writer: ResponseWriter,
        sources: Sources | None,
        *,
        preopened: bool,
        check: TextCheck | None,
        offers: Mapping[str, Offer],
        text_calls: TextCalls,
        is_quoted: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(writer, sources, preopened=preopened, check=check, is_quoted=is_quoted)
        self._reads = True
        """Whether calls are still searched for: the backend has reported none."""
        self._in_text = reader_of(offers, text_calls)
        self._offers = offers
        self._in_reasoning: LastCallReader | None = None
        """None until there is reasoning."""
        self.search = FIRSTS, has_sign, self._in_text.unread

    @property
    def steady_text(self) -> GrowingText | None:
        """See `StreamingContent.steady_text`.

        None while something that can be a call is held back.
        """
        is_idle = self._in_reasoning is None or self._in_reasoning.is_idle
        if self._reads and not (self._in_text.is_steady and is_idle):
            return None
        return super().steady_text

    def feed(self, choice: ChatChoice, delta: Delta) -> None:
        """See `StreamingContent.feed`. A backend that reports calls can repeat them in the text."""
        if self._reads and (delta.tool_calls or delta.function_call):
            self._flush_text()
            self._flush_reasoning(is_answer=False)
            self._reads = False
            self.search = None
        super().feed(choice, delta)

    def finish(self, status: Status, citations: list[Any]) -> None:
        """See `StreamingContent.finish`.

        A call at the end of unclosed reasoning is ambiguous: the reasoning stays reasoning.
        """
        is_whole = status == "completed"
        self._flush_all(is_answer=is_whole)
        calls = self._flush_reasoning(is_answer=is_whole and not self.calls)
        if self.think.is_misplaced and is_whole and not calls:
            self._take_for_answer()
            self._flush_all(is_answer=True)
        self._call(calls)
        self._annotate(read_citations(citations))

    def _add_reasoning(self, text: str) -> None:
        if text:
            self._flush_text()
        super()._add_reasoning(text)

    def _flush_text(self) -> None:
        if not self._is_calling:
            self._flush_all(is_answer=False)

    def _flush_all(self, *, is_answer: bool) -> None:
        """Write the text that was held back.

        An apparently unfinished call counts only in a complete answer.
        """
        super()._flush_text()
        if self._reads:
            self._write(self._in_text.flush(is_answer=is_answer))

    def _emit(self, text: str) -> None:
        if not self._reads:
            super()._emit(text)
            return
        if not text.isspace():
            self._flush_reasoning(is_answer=False)
        self._write(self._in_text.feed(text))

    def _open_reasoning(self) -> StreamingReasoning:
        self._in_text.interrupt()
        return super()._open_reasoning()

    def _end_text(self) -> None:
        if self._reads:
            self._write(self._in_text.flush(is_answer=False))
        super()._end_text()

    def _write(self, pieces: Sequence[str | TextCall]) -> None:
        """Write text and emit the calls in it, in order.

        Once its only call was emitted, an answer is over.
        """
        for piece in pieces:
            if self.calls.is_cut:
                return
            if isinstance(piece, str):
                super()._emit(piece)
            else:
                self._logprobs = []
                self._call([piece])

    def _call(self, calls: Sequence[TextCall]) -> None:
        """Emit calls that were found in a text: each is like a call that the backend reports, with
        an id of ours.
        """
        self._is_calling = True
        for call in calls:
            delta = CallDelta(self._writer.new_id("call"), call.name, call.arguments)
            self.calls.feed(self.calls.find(None, delta), delta)
        self._is_calling = False

    def _reason(self, text: str) -> None:
        if self._reads:
            self._in_reasoning = self._in_reasoning or LastCallReader(self._offers)
            text = self._in_reasoning.feed(text)
        self._write_reasoning(text)

    def _flush_reasoning(self, *, is_answer: bool) -> Sequence[TextCall]:
        """Write the reasoning that was held back; return the calls that end the answer inside
        it.
        """
        if self._in_reasoning is None or not self._reads:
            return ()
        text, calls = self._in_reasoning.flush(is_answer=is_answer)
        self._write_reasoning(text)
        return calls

    def _write_reasoning(self, text: str) -> None:
        if text:
            super()._reason(text)

    def _open_message(self) -> StreamingMessage:
        self._flush_reasoning(is_answer=False)
        return super()._open_message()
