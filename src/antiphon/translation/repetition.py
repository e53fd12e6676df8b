"""Does a text that grows only repeat itself? A counter with bounded memory, linear in the text."""

LEAST = 8
"""Times that a stretch is repeated before that is a loop."""

PROBE = 32
"""Characters at the end of the text that are searched for in the text before them: a period repeats them."""

TRIES = 64
"""Occurrences that are looked at: within a period the probe may occur by itself."""


class RepetitionWatch:
    """Looks at a text from time to time; a loop is `longest` characters that are one stretch, again and again."""

    def __init__(self, longest: int) -> None:
        self._longest = max(longest, LEAST * PROBE)
        self._pieces: list[str] | None = None
        self._seen = 0
        self._tail = ""

    def is_looping(self, pieces: list[str]) -> bool:
        """Take the pieces of the text so far, which only grow; another list is another text."""
        if pieces is not self._pieces:
            self._pieces, self._seen, self._tail = pieces, 0, ""
        new = "".join(pieces[self._seen :])
        self._seen = len(pieces)
        self._tail = (self._tail + new)[-self._longest :]
        return len(self._tail) == self._longest and _repeats(self._tail)


def _repeats(text: str) -> bool:
    """Whether a text is one stretch, at least `LEAST` times."""
    start = len(text) - PROBE
    probe = text[start:]
    at = start
    for _ in range(TRIES):
        at = text.rfind(probe, 0, at + PROBE - 1)
        period = start - at
        if at < 0 or period * LEAST > len(text):
            return False
        if text[period:] == text[:-period]:
            return True
    return False
