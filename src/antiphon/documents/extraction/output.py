"""The text of a document, collected up to its limits."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace


class Full(Exception):  # noqa: N818 - no error: the text is as long as it may be
    """The text has reached its limit; the rest is not needed."""


@dataclass(frozen=True, slots=True)
class ExtractionBounds:
    """How much of a document is read: bytes of text in UTF-8, and rows, columns and pages; None
    means all.
    """

    longest: int
    rows: int | None = None
    columns: int | None = None
    pages: int | None = None


class Output:
    """Collects text in UTF-8, within bounds."""

    def __init__(self, bounds: ExtractionBounds) -> None:
        self.bounds = bounds
        self._left = bounds.longest
        self._parts: list[bytes] = []
        self.is_cut = False
        """Whether the document has more text than this."""
        self.is_blank = True
        """Whether only whitespace was written."""
        self.pages = 0
        """Pages of the document, 0 if it has none."""

    def write(self, text: str) -> None:
        """Add text. Raises `Full` once the limit is reached."""
        if self.is_blank and not text.isspace() and text:
            self.is_blank = False
        part = text.encode(errors="replace")
        if len(part) <= self._left:
            self._parts.append(part)
            self._left -= len(part)
            return
        self._parts.append(part[: self._left].decode(errors="ignore").encode())
        self._left = 0
        self.is_cut = True
        raise Full

    def mark(self, text: str) -> None:
        """Add a line about the document that is not its text."""
        was_blank = self.is_blank
        self.write(text)
        self.is_blank = was_blank

    def leave_out(self, what: str, stored_size: int, all_of_them: int) -> None:
        """Say that only the first rows, columns or pages are in the text."""
        self.is_cut = True
        self.mark(f"[Only the first {stored_size:,} of {all_of_them:,} {what} are shown.]\n")

    def apart(self, write: "Callable[[Output], None]") -> str:
        """Return the text that a function writes, without adding it: as much as there is room
        for.
        """
        other = Output(replace(self.bounds, longest=self._left))
        with suppress(Full):
            write(other)
        self.is_cut |= other.is_cut
        return other.content().decode()

    def content(self) -> bytes:
        """Return everything that was written."""
        return b"".join(self._parts)
