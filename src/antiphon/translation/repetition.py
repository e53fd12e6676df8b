"""Detects whether a growing text only repeats itself: a counter with bounded memory, linear in the
text.
"""

LEAST = 8
"""Repetitions of a stretch that make a loop."""

PROBE = 32
"""Characters at the end of the text that are searched for in the text before them: a period repeats
them.
"""

TRIES = 64
"""Occurrences that are checked: within a period the probe can occur by chance."""


class RepetitionWatch:
    """Checks a text from time to time; a loop is `longest` characters that repeat one stretch."""

    def __init__(self, longest: int) -> None:
        self._longest = max(longest, LEAST * PROBE)
        self._pieces: list[str] | None = None
        self._seen = 0
        self._tail = ""

    def is_looping(self, pieces: list[str]) -> bool:
        """Add the pieces of the text so far, which only grow; another list is another text."""
        if pieces is not self._pieces:
            self._pieces = pieces
            self._seen = 0
            self._tail = ""
        new = "".join(pieces[self._seen :])
        self._seen = len(pieces)
        self._tail = (self._tail + new)[-self._longest :]
        return len(self._tail) == self._longest and _repeats(self._tail)


def _repeats(text: str) -> bool:
    """Whether a text repeats one stretch, at least `LEAST` times."""
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
