"""The health of a backend, from the outcomes of earlier calls: a circuit breaker, and pauses.

A backend that fails is *ejected*: not called while another is available. A backend that limits its rate is *paused*
for the model: it is not called even if it is the only one. A pause caused by one tenant's requests applies to that
tenant alone, until the backend rejects another tenant's request too.
"""

from dataclasses import dataclass, field

from antiphon.errors import AntiphonError
from antiphon.upstream.retry_policy import LONGEST_PAUSE, Failure, Verdict, verdict

MOST_FAILURES = 5
"""Consecutive failures after which a backend is ejected."""

PROBE_AFTER = 30.0
"""Seconds after which one request tries an ejected backend."""

PROBING = 1.0
"""Seconds after which a request can try while another one is probing the end of a pause."""

ALL = ""
"""Replaces a model: applies to all models."""


@dataclass(slots=True, eq=False)
class Pause:
    """A pause that a backend requested.

    PAUSED until `until` ──> one request probes, the others wait for it ──> lifted, or paused again ──> over at `asked`
    """

    error: AntiphonError
    """The backend's error."""
    until: float
    """When one request can probe whether the backend accepts requests again."""
    asked: float
    """The end of the pause that the backend requested, which clients receive. Not before `until`."""
    tenant: str | None
    """The tenant of the rejected request; None, for all tenants, once requests of two tenants were rejected."""
    is_fault: bool
    """It failed, and did not limit its rate: a successful active check ends this."""
    probe_until: float = 0.0
    """Until when at most one request probes whether the pause is over."""

    def left(self, now: float) -> float:
        """Return the seconds for which a request must wait; 0 for the one that probes, and once it is over."""
        if now < self.until:
            return self.until - now
        return PROBING if now < self.probe_until and now < self.asked else 0.0


@dataclass(slots=True)
class Health:
    """One backend's health. `now` is from a monotonic clock, in seconds."""

    failures: int = 0
    """Consecutive failures."""
    ejections: int = 0
    last_error: str = ""
    """The last failure, in this project's words."""
    last_error_at: float = 0.0
    probe_at: float | None = None
    """When the next request can try it, if it is ejected."""
    pauses: dict[str, Pause] = field(default_factory=dict)
    """By model, or for `ALL`: each model has its own rate limits. Empty for a backend that was never paused."""
    _is_gone: bool = False
    """The last failure was a failed connection."""
    _is_missed: bool = False
    """The last active check failed."""

    @property
    def is_ejected(self) -> bool:
        """Whether it is ejected, except for a probe."""
        return self.probe_at is not None

    def is_up(self, now: float) -> bool:
        """Whether it is healthy, or due to be tried."""
        return self.probe_at is None or now >= self.probe_at

    def asked(self, now: float) -> None:
        """A request is sent to it; if that is the probe, no other is sent for a while."""
        if self.probe_at is not None:
            self.probe_at = max(self.probe_at, now + PROBE_AFTER)

    def succeeded(self) -> None:
        """It answered successfully."""
        self.failures, self.probe_at = 0, None

    def failed(self, failure: Failure, error: AntiphonError, now: float, model: str = ALL, tenant: str = "") -> bool:
        """A tenant's call for this model failed; return whether this failure ejects the backend."""
        found = verdict(failure)
        self.last_error, self.last_error_at = error.gist, now
        if found.pause:
            self._pause(found, error, now, model, tenant)
        if not found.counts:
            return False
        self.failures += 1
        self._is_gone = found.is_gone
        was_in = self.probe_at is None
        if was_in and self.failures < MOST_FAILURES and not found.ejects:
            return False
        self.probe_at = now + PROBE_AFTER
        self.ejections += was_in
        return was_in

    # Pauses.

    def pause(self, now: float, model: str, tenant: str) -> Pause | None:
        """Return the longest pause that applies to this tenant's requests for this model, or None."""
        known = (self.pauses.get(ALL), self.pauses.get(model))
        mine = [one for one in known if one is not None and one.tenant in {None, tenant} and one.left(now)]
        return max(mine, key=lambda one: one.until, default=None)

    def rest(self, now: float) -> float:
        """Return the seconds for which it is paused for any tenant and model; 0 if it is not."""
        return max((one.until - now for one in self.pauses.values() if now < one.until), default=0.0)

    def probe(self, now: float, model: str, tenant: str) -> Pause | None:
        """A request is sent. Return the pause that it probes, or None; call `lift` or `give_up` with it."""
        self._forget(now)
        for one in (self.pauses.get(ALL), self.pauses.get(model)):
            if one is not None and one.tenant in {None, tenant} and one.until <= now < one.asked:
                one.probe_until = now + LONGEST_PAUSE
                return one
        return None

    def lift(self, pause: Pause) -> None:
        """The backend accepted the request that probed a pause."""
        self.pauses = {name: one for name, one in self.pauses.items() if one is not pause}

    def give_up(self, pause: Pause) -> None:
        """The request that probed has ended; unless the pause was lifted or renewed, the next request probes."""
        pause.probe_until = 0.0

    def _pause(self, found: Verdict, error: AntiphonError, now: float, model: str, tenant: str) -> None:
        """Pause, unless it is already paused for longer."""
        self._forget(now)
        name = ALL if found.pauses_whole else model
        pause = Pause(error, now + found.pause, now + found.wait, tenant, found.counts)
        known = self.pauses.get(name)
        if known is not None and now < known.until:
            if known.tenant != tenant:
                pause.tenant = None
            if known.tenant == pause.tenant:
                pause = max(known, pause, key=lambda one: one.until)
        self.pauses[name] = pause

    def _forget(self, now: float) -> None:
        """Drop the expired pauses."""
        self.pauses = {name: one for name, one in self.pauses.items() if now < one.asked}

    # The active check.

    def seen(self) -> None:
        """It answered an active check: healthy, if it was unreachable or the previous check had failed as well.

        A backend with failures that the check does not cover (its list of models works, an answer breaks off) is
        healthy only once a request has succeeded.
        """
        if self._is_gone or self._is_missed:
            self.succeeded()
            self.pauses = {name: one for name, one in self.pauses.items() if not one.is_fault}
        self._is_gone = self._is_missed = False

    def missed(self) -> None:
        """It did not answer an active check."""
        self._is_missed = True
