"""A text as the client receives it: marks that cite files are cut out of it, and become annotations at their places.

What may be such a mark waits until that is known, and so do blanks, since a mark takes the blank before it along. The
rest of the text goes out as it comes.
"""

import re
from collections.abc import Sequence
from typing import Any

from antiphon.protocol.sources import CitedFile, Sources
from antiphon.translation.citation_marks import Found
from antiphon.translation.citations import Citations

Piece = str | dict[str, Any]
"""Text to send, or an annotation of what was sent."""

_BLANKS = re.compile(r"[ \t\u00a0]{1,8}\Z")


class CitedText:
    """The text of one `output_text` part. However it is cut, the pieces say the same; a part has one of its own."""

    def __init__(self, sources: Sources) -> None:
        self._citations = Citations(sources)
        self._cuts_marks = any(isinstance(one, CitedFile) for one in sources.values())
        self._held = ""
        """What the model said, and the client did not receive yet."""
        self._start = 0
        """Where that begins in what the model said."""
        self._length = 0
        """Characters that the client received."""

    def feed(self, delta: str) -> Sequence[Piece]:
        """Return what is to be sent once the model has said this, in order."""
        if not self._cuts_marks:
            return [delta, *self._citations.feed(delta)]
        self._held += delta
        pieces = self._pieces(self._citations.find(delta))
        self._send(pieces, self._without_blanks(self._citations.undecided))
        return pieces

    def finish(self) -> Sequence[Piece]:
        """Return what is still to be sent at the end of the text."""
        if not self._cuts_marks:
            return self._citations.finish()
        pieces = self._pieces(self._citations.find_rest())
        self._send(pieces, self._start + len(self._held))
        return pieces

    def _pieces(self, found: Sequence[Found]) -> list[Piece]:
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
        """Return where the blanks before a place begin."""
        blanks = _BLANKS.search(self._held, 0, max(0, place - self._start))
        return place - len(blanks[0]) if blanks else place

    def _send(self, pieces: list[Piece], place: int) -> None:
        """Send what the model said up to a place."""
        text = self._held[: max(0, place - self._start)]
        if text:
            pieces.append(text)
            self._length += len(text)
            self._drop(self._start + len(text))

    def _drop(self, place: int) -> None:
        self._held, self._start = self._held[place - self._start :], place
