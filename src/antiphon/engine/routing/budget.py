"""How many retries there may be: a share of the requests, so that a failing backend is not asked all the more."""

SHARE = 0.1
"""Retries for a request."""

RESERVE = 10.0
"""Retries that are saved up at most, and there are at the beginning."""


class Budget:
    """Requests pay in, retries draw (cases/faults.md, row 5)."""

    def __init__(self, share: float = SHARE, reserve: float = RESERVE) -> None:
        self._share = share
        self._reserve = reserve
        self._left = reserve

    def earn(self) -> None:
        """A request is asked for the first time."""
        self._left = min(self._reserve, self._left + self._share)

    def spend(self) -> bool:
        """Return whether there may be one more retry, which is then spent."""
        if self._left < 1:
            return False
        self._left -= 1
        return True
