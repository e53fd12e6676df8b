"""The text of a document, collected up to a limit."""


class Full(Exception):  # noqa: N818 - no error: the text is as long as it may be
    """The text has reached its limit; the rest is not needed."""


class Output:
    """Collects text in UTF-8, at most `longest` bytes."""

    def __init__(self, longest: int) -> None:
        self._left = longest
        self._parts: list[bytes] = []
        self.is_cut = False
        self.is_blank = True
        """Whether only whitespace was written."""
        self.pages = 0
        """Pages of the document, 0 if it has none."""

    def write(self, text: str) -> None:
        """Add text. Raises `Full` once the limit is reached."""
        if self.is_blank and not text.isspace() and text:
            self.is_blank = False
        part = text.encode(errors="replace")
        if len(part) > self._left:
            part = part[: self._left].decode(errors="ignore").encode()
            self.is_cut = True
        self._parts.append(part)
        self._left -= len(part)
        if self.is_cut:
            raise Full

    def mark(self, text: str) -> None:
        """Add a line about the document that is not its text."""
        was_blank = self.is_blank
        self.write(text)
        self.is_blank = was_blank

    def content(self) -> bytes:
        """Return everything that was written."""
        return b"".join(self._parts)
