"""Whether a backend is worth calling, from the outcomes of earlier calls: a circuit breaker, and pauses.

A backend that fails is *ejected*: left out as long as there is another. A backend that limits its rate is *paused* for
the model: it is not called even where it is the only one. What one tenant's requests cause pauses that tenant alone,
until the backend rejects another tenant's request too.
"""

from dataclasses import dataclass, field

from antiphon.errors import AntiphonError
from antiphon.upstream.retry_policy import LONGEST_PAUSE, Failure, Verdict, verdict

MOST_FAILURES = 5
"""Failures in a row after which a backend is left out."""

PROBE_AFTER = 30.0
"""Seconds after which one request tries a backend that was left out."""

PROBING = 1.0
"""Seconds after which a request may ask again while another one finds out whether a pause is over."""

ALL = ""
"""In place of a model: whichever is requested."""


@dataclass(slots=True, eq=False)
class Pause:
    """A backend asked to be left alone.

    PAUSED until `until` ──> one request probes, the others wait for it ──> lifted, or paused anew ──> over at `asked`
    """

    error: AntiphonError
    """What it answered."""
    until: float
    """When one request may find out whether the backend accepts requests again."""
    asked: float
    """Until when the backend asked to be left alone: what clients are told. No earlier than `until`."""
    tenant: str | None
    """The tenant whose request it rejected; None, for all tenants, once it has rejected requests of two."""
    is_fault: bool
    """It failed, and did not limit its rate: a successful active check ends this."""
    probe_until: float = 0.0
    """Until when at most one request finds out whether the pause is over."""

    def left(self, now: float) -> float:
        """Return the seconds for which a request is to wait; 0 for the one that may find out, and once it is over."""
        if now < self.until:
            return self.until - now
        return PROBING if now < self.probe_until and now < self.asked else 0.0


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
    pauses: dict[str, Pause] = field(default_factory=dict)
    """By model, or for `ALL`: rate limits are each model's own. Empty for a backend that was never paused."""
    _is_gone: bool = False
    """The last failure was that it could not be connected to."""
    _is_missed: bool = False
    """The last active check failed."""

    @property
    def is_ejected(self) -> bool:
        """Whether it is left out, but for a probe."""
        return self.probe_at is not None

    def is_up(self, now: float) -> bool:
        """Whether it is healthy, or due to be tried."""
        return self.probe_at is None or now >= self.probe_at

    def asked(self, now: float) -> None:
        """A request is sent to it; where that is the probe, it is the only one for a while."""
        if self.probe_at is not None:
            self.probe_at = max(self.probe_at, now + PROBE_AFTER)

    def succeeded(self) -> None:
        """It answered as it should."""
        self.failures, self.probe_at = 0, None

    def failed(self, failure: Failure, error: AntiphonError, now: float, model: str = ALL, tenant: str = "") -> bool:
        """A tenant's call for this model failed; return whether that is the failure for which it is left out."""
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
        """Return the pause that this tenant's requests for this model have to keep, the longest; None where none."""
        known = (self.pauses.get(ALL), self.pauses.get(model))
        mine = [one for one in known if one is not None and one.tenant in {None, tenant} and one.left(now)]
        return max(mine, key=lambda one: one.until, default=None)

    def rest(self, now: float) -> float:
        """Return the seconds for which it is paused for any tenant and model; 0 where for none."""
        return max((one.until - now for one in self.pauses.values() if now < one.until), default=0.0)

    def probe(self, now: float, model: str, tenant: str) -> Pause | None:
        """A request is sent. Return the pause whose end it finds out, or None; call `lift` or `give_up` with it."""
        self._forget(now)
        for one in (self.pauses.get(ALL), self.pauses.get(model)):
            if one is not None and one.tenant in {None, tenant} and one.until <= now < one.asked:
                one.probe_until = now + LONGEST_PAUSE
                return one
        return None

    def lift(self, pause: Pause) -> None:
        """The backend accepted the request that found out."""
        self.pauses = {name: one for name, one in self.pauses.items() if one is not pause}

    def give_up(self, pause: Pause) -> None:
        """The request that found out has ended; unless the pause was lifted or renewed, the next request finds out."""
        pause.probe_until = 0.0

    def _pause(self, found: Verdict, error: AntiphonError, now: float, model: str, tenant: str) -> None:
        """Pause, unless it is paused for longer."""
        self._forget(now)
        name = ALL if found.pauses_whole else model
        pause = Pause(error, now + found.pause, now + found.wait, tenant, found.counts)
        known = self.pauses.get(name)
        if known is not None and now < known.until:
            if known.tenant != tenant:
                pause.tenant = None
            if known.tenant == pause.tenant and known.until >= pause.until:
                return
        self.pauses[name] = pause

    def _forget(self, now: float) -> None:
        """Drop the pauses that are over."""
        self.pauses = {name: one for name, one in self.pauses.items() if now < one.asked}

    # The active check.

    def seen(self) -> None:
        """It answered an active check: healthy, if it was gone or the check had failed as well.

        A backend that fails in what the check does not ask for (its list of models comes, an answer breaks off) is
        healthy only once a request has succeeded.
        """
        if self._is_gone or self._is_missed:
            self.succeeded()
            self.pauses = {name: one for name, one in self.pauses.items() if not one.is_fault}
        self._is_gone = self._is_missed = False

    def missed(self) -> None:
        """It did not answer an active check."""
        self._is_missed = True
