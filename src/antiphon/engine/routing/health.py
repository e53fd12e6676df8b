"""Whether a backend is worth asking, from what became of those who asked it."""

from dataclasses import dataclass

from antiphon.engine.routing.verdict import Failure, verdict
from antiphon.errors import AntiphonError

MOST_FAILURES = 5
"""Failures in a row after which a backend is left out."""

PROBE_AFTER = 30.0
"""Seconds after which one request tries a backend that was left out."""


@dataclass(slots=True)
class Health:
    """One backend's health. `now` is of a clock that never goes back, in seconds."""

    failures: int = 0
    """Failures in a row."""
    ejections: int = 0
    last_error: str = ""
    """What went wrong last, in words of our own."""
    last_error_at: float = 0.0
    resting_for: AntiphonError | None = None
    """Why it rests."""
    _probe_at: float | None = None
    _rests_until: float = float("-inf")
    _is_gone: bool = False
    """The last failure was that nobody answered."""

    @property
    def is_ejected(self) -> bool:
        """Whether it is left out, but for a probe."""
        return self._probe_at is not None

    def is_up(self, now: float) -> bool:
        """Whether it is healthy, or due to be tried."""
        return self._probe_at is None or now >= self._probe_at

    def rest(self, now: float) -> float:
        """Return the seconds for which it is not to be asked, 0 where it may be."""
        return max(0.0, self._rests_until - now)

    def asked(self, now: float) -> None:
        """One more asks it; where that is the probe, it is the only one for a while."""
        if self._probe_at is not None:
            self._probe_at = max(self._probe_at, now + PROBE_AFTER)

    def succeeded(self) -> None:
        """It answered as it should."""
        self.failures, self._probe_at = 0, None

    def failed(self, failure: Failure, error: AntiphonError, now: float) -> bool:
        """It failed; return whether that is the failure for which it is left out."""
        found = verdict(failure)
        self.last_error, self.last_error_at = error.gist, now
        if found.rest:
            self._rests_until, self.resting_for = max(self._rests_until, now + found.rest), error
        if not found.counts:
            return False
        self.failures += 1
        self._is_gone = found.is_gone
        was_in = self._probe_at is None
        if was_in and self.failures < MOST_FAILURES:
            return False
        self._probe_at = now + PROBE_AFTER
        self.ejections += was_in
        return was_in

    def seen(self) -> None:
        """It answered an active check: one that was only gone is back."""
        if self._is_gone:
            self.succeeded()
            self._is_gone = False
