"""How long servers that hang are left alone: asking one costs everybody who wants to know the whole time limit."""

from collections.abc import Callable
from time import monotonic

FIRST = 10.0
LONGEST = 60.0
"""Seconds of the first pause, which grows twice as long each time, and of the longest."""

MOST = 1_000
"""Servers that are left alone at once."""


class Pauses:
    """The servers that did not answer in time, each by any key."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pauses: dict[str, tuple[float, float]] = {}
        """How long each is, and when it ends."""

    def has(self, key: str) -> bool:
        """Whether a server is to be left alone for now."""
        return key in self._pauses and self._clock() < self._pauses[key][1]

    def begin(self, key: str) -> None:
        """Leave a server alone that did not answer in time; several who asked it at once count as one."""
        if self.has(key):
            return
        last, _ = self._pauses.pop(key, (FIRST / 2, 0.0))
        length = min(2 * last, LONGEST)
        self._pauses[key] = (length, self._clock() + length)
        if len(self._pauses) > MOST:
            del self._pauses[next(iter(self._pauses))]

    def end(self, key: str) -> None:
        """Ask a server again as before, since it answered."""
        self._pauses.pop(key, None)
