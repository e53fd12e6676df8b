"""A text as the client receives it: marks that cite files are removed, and become annotations at
their positions.

Text that can be such a mark waits until that is decided, and so does whitespace, because a mark
removes the space before it. The rest of the text is sent as it arrives.
"""

import re
from collections.abc import Sequence
from typing import Any

from antiphon.protocol.sources import CitedFile, Sources
from antiphon.translation.citation_marks import FoundCitation
from antiphon.translation.citations import Citations

Piece = str | dict[str, Any]
"""Text to send, or an annotation of text already sent."""

_BLANKS = re.compile(r"[ \t\u00a0]{1,8}\Z")


class CitedText:
    """The text of one `output_text` part. The result does not depend on how it is split; each part
    has its own instance.
    """

    def __init__(self, sources: Sources) -> None:
        self._citations = Citations(sources)
        self._cuts_marks = any(isinstance(one, CitedFile) for one in sources.values())
        self._retained = ""
        """Text of the model that was not sent yet."""
        self._start = 0
        """Where that text begins in the text of the model."""
        self._length = 0
        """Characters that the client received."""

    def feed(self, delta: str) -> Sequence[Piece]:
        """Return what to send after this text of the model, in order."""
        if not self._cuts_marks:
            return [delta, *self._citations.feed(delta)]
        self._retained += delta
        pieces = self._pieces(self._citations.find(delta))
        self._send(pieces, self._without_blanks(self._citations.undecided))
        return pieces

    def finish(self) -> Sequence[Piece]:
        """Return what is left to send at the end of the text."""
        if not self._cuts_marks:
            return self._citations.finish()
        pieces = self._pieces(self._citations.find_rest())
        self._send(pieces, self._start + len(self._retained))
        return pieces

    def _pieces(self, found: Sequence[FoundCitation]) -> list[Piece]:
        pieces: list[Piece] = []
        for one in found:
            if self._citations.is_mark(one):
                self._send(pieces, self._without_blanks(one.start))
                self._drop(one.end)
                pieces += self._citations.annotations(one, self._length, self._length)
            else:
                self._send(pieces, one.end)
                moved = self._start - self._length
                pieces += self._citations.annotations(one, one.start - moved, one.end - moved)
        return pieces

    def _without_blanks(self, place: int) -> int:
        """Return where the whitespace before a position begins."""
        blanks = _BLANKS.search(self._retained, 0, max(0, place - self._start))
        return place - len(blanks[0]) if blanks else place

    def _send(self, pieces: list[Piece], place: int) -> None:
        """Send the text of the model up to a position."""
        text = self._retained[: max(0, place - self._start)]
        if text:
            pieces.append(text)
            self._length += len(text)
            self._drop(self._start + len(text))

    def _drop(self, place: int) -> None:
        self._retained = self._retained[place - self._start :]
        self._start = place
