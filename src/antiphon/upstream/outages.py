"""Models that do not answer: since when, and when a queue or a search may call them again.

A failed call begins an outage, or continues it; a successful one ends it. While it lasts, waiting
work is not started, and a search calls the model at most every `PROBE_EVERY` seconds, so that it
does not wait for a dead server.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from antiphon.errors import AntiphonError, BackendError

SHORTEST, LONGEST = 1.0, 300.0
"""Seconds between two attempts of a queue: in between, half of the time that the outage has
lasted.
"""

PROBE_EVERY = 10.0
"""Seconds between two searches that call the model during an outage."""


@dataclass(slots=True)
class Outage:
    """One outage. Times are seconds of the clock."""

    since: float
    until: float
    """When a queue may call the model again."""
    probe_at: float
    """When a search may call it again."""
    error: AntiphonError
    """The last failure."""


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def backoff(elapsed: float) -> float:
    """Return the seconds until the next attempt, after `elapsed` seconds of failures."""
    return min(LONGEST, max(SHORTEST, elapsed / 2))


class Outages:
    """The current outages, by model. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = _loop_time) -> None:
        self.now = clock
        self.known: dict[str, Outage] = {}
        """Those that have not ended, by model."""

    def failed(self, model: str, error: AntiphonError, wait: float = 0.0) -> None:
        """A call failed. `wait` is what the server asks for, in seconds; at least that of `backoff`
        is kept.
        """
        now = self.now()
        found = self.known.get(model)
        if found is None:
            found = self.known[model] = Outage(now, now, now, error)
        pause = max(wait, backoff(now - found.since))
        found.until, found.probe_at, found.error = now + pause, now + min(pause, PROBE_EVERY), error

    def succeeded(self, model: str) -> None:
        """A call succeeded."""
        self.known.pop(model, None)

    def lasts(self, model: str) -> float | None:
        """Return the seconds since the first failure, None without an outage."""
        found = self.known.get(model)
        return None if found is None else self.now() - found.since

    def refusal(self, model: str) -> AntiphonError | None:
        """Return the error for a search that must not call the model now; None for one that may, as
        the only one.
        """
        found = self.known.get(model)
        if found is None:
            return None
        now = self.now()
        if now < found.probe_at:
            error = found.error
            waits = {"retry-after": str(math.ceil(found.probe_at - now))}
            return BackendError(
                error.message, status=503, headers=waits, gist=error.gist, detail=str(error)
            )
        found.probe_at = now + PROBE_EVERY
        return None

    def paused(self) -> Sequence[str]:
        """Return the models that a queue must not call now."""
        if not self.known:
            return ()
        now = self.now()
        return [model for model, outage in self.known.items() if now < outage.until]

    def left(self) -> float | None:
        """Return the seconds until a queue may call the next of these models; None if no model is
        paused.
        """
        now = self.now()
        return min(
            (one.until - now for one in self.known.values() if now < one.until), default=None
        )
