"""Whether a backend is worth calling, from the outcomes of earlier calls: a circuit breaker."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from antiphon.errors import AntiphonError
from antiphon.upstream.retry_policy import Failure, verdict

MOST_FAILURES = 5
"""Failures in a row after which a backend is left out."""

PROBE_AFTER = 30.0
"""Seconds after which one request tries a backend that was left out."""

ALL = ""
"""In place of a model: whichever is requested."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """Until when a backend is not to be called, and why."""

    until: float
    error: AntiphonError


@dataclass(slots=True)
class Health:
    """One backend's health. `now` is of a clock that never goes back, in seconds."""

    failures: int = 0
    """Failures in a row."""
    ejections: int = 0
    last_error: str = ""
    """What went wrong last, in words of our own."""
    last_error_at: float = 0.0
    probe_at: float | None = None
    """When the next request may try it, where it is left out."""
    rests: dict[str, _Rest] = field(default_factory=dict)
    """By model, or for `ALL`: rate limits are each model's own. Empty for a backend that never rested."""
    _is_gone: bool = False
    """The last failure was that it could not be connected to."""

    @property
    def is_ejected(self) -> bool:
        """Whether it is left out, but for a probe."""
        return self.probe_at is not None

    def is_up(self, now: float) -> bool:
        """Whether it is healthy, or due to be tried."""
        return self.probe_at is None or now >= self.probe_at

    def rest(self, now: float, model: str | None = None) -> float:
        """Return the seconds for which it is not to be called for this model, 0 where it may be; None: for any."""
        rest = self._rest(self.rests if model is None else (ALL, model))
        return max(0.0, rest.until - now) if rest else 0.0

    def resting_for(self, model: str) -> AntiphonError | None:
        """Return why it rests, or rested last, for this model."""
        rest = self._rest((ALL, model))
        return rest.error if rest else None

    def _rest(self, models: Iterable[str]) -> _Rest | None:
        """Return the longest rest of these models."""
        rests = (self.rests[model] for model in models if model in self.rests)
        return max(rests, key=lambda rest: rest.until, default=None)

    def asked(self, now: float) -> None:
        """A request is sent to it; where that is the probe, it is the only one for a while."""
        if self.probe_at is not None:
            self.probe_at = max(self.probe_at, now + PROBE_AFTER)

    def succeeded(self) -> None:
        """It answered as it should."""
        self.failures, self.probe_at = 0, None

    def failed(self, failure: Failure, error: AntiphonError, now: float, model: str = ALL) -> bool:
        """A call for this model failed; return whether that is the failure for which it is left out."""
        found = verdict(failure)
        self.last_error, self.last_error_at = error.gist, now
        if found.rest:
            self._lie_down(ALL if found.rests_whole else model, _Rest(now + found.rest, error), now)
        if not found.counts:
            return False
        self.failures += 1
        self._is_gone = found.is_gone
        was_in = self.probe_at is None
        if was_in and self.failures < MOST_FAILURES:
            return False
        self.probe_at = now + PROBE_AFTER
        self.ejections += was_in
        return was_in

    def _lie_down(self, model: str, rest: _Rest, now: float) -> None:
        """Rest, unless it does already for longer; forget the rests that are over."""
        known = self.rests.get(model, rest)
        self.rests = {name: one for name, one in self.rests.items() if one.until > now}
        self.rests[model] = max(known, rest, key=lambda one: one.until)

    def seen(self) -> None:
        """It answered an active check: one that was only gone is back."""
        if self._is_gone:
            self.succeeded()
            self._is_gone = False
