"""Answers that a schema forces into JSON: `{"answer": "…"}`, or a call
(`to_chat/prompt_tools.py`).
"""

from collections.abc import Mapping

from antiphon.protocol.tool_bindings import ANSWER, Offer, TextCalls
from antiphon.translation.from_chat.text_calls.reader import Piece, TextCallReader
from antiphon.translation.json_strings import JsonStrings


class WrappedReader:
    """Reads an answer out of its JSON as it streams, and calls of `offers`.

    Anything else is read like any text.
    """

    def __init__(self, offers: Mapping[str, Offer]) -> None:
        self._text = TextCallReader(offers)
        self._strings = JsonStrings()
        self._retained: list[str] = []
        """The text so far, until its kind is clear."""
        self._is_answer: bool | None = None
        """Whether it is an answer; None until that is clear."""
        self.unread: list[str] = []
        self.is_steady = False
        """See `TextCallReader.is_steady`: no part is text before it was read."""

    def feed(self, text: str) -> list[Piece]:
        """Add text; return what is certain by now."""
        if self._is_answer is False:
            return self._text.feed(text)
        if self._is_answer is None:
            self._retained.append(text)
        texts: list[str] = []
        for path, piece, _ in self._strings.feed(text):
            if self._is_answer is None:
                self._is_answer = path == (ANSWER,)
            if path == (ANSWER,):
                texts.append(piece)
        if not self._is_answer and (self._is_answer is False or self._is_other()):
            return self._release()
        return ["".join(texts)] if any(texts) else []

    def flush(self, *, is_answer: bool) -> list[Piece]:
        """Return what was held back; see `TextCallReader.flush`."""
        pieces = self._release() if self._is_answer is None else []
        return [*pieces, *self._text.flush(is_answer=is_answer)]

    def interrupt(self) -> None:
        """See `TextCallReader.interrupt`."""
        self._text.interrupt()

    def _is_other(self) -> bool:
        """Whether the text does not begin like an object: the backend ignored the schema."""
        return self._strings.is_broken or any(
            each.strip()[:1] not in ("", "{") for each in self._retained[:1]
        )

    def _release(self) -> list[Piece]:
        self._is_answer = False
        retained = "".join(self._retained)
        self._retained = []
        return self._text.feed(retained)


def reader_of(offers: Mapping[str, Offer], text_calls: TextCalls) -> TextCallReader | WrappedReader:
    """Return the object that finds these calls of `offers` in an answer's text."""
    if text_calls == "wrapped":
        return WrappedReader(offers)
    return TextCallReader(offers, only_marked=text_calls == "marked")
