"""The health of a backend, from the outcomes of earlier calls: a circuit breaker, and pauses.

Theory of operation.

Two mechanisms decide whether a backend is called. They differ, because failures and rate limits say
different things: a backend that fails may answer the next request, so it is better than none; a
backend that limits its rate will reject the next request, which would only prolong the limit.
`retry_policy.py` says which failure has which consequence.

1. The circuit breaker. A failing backend is *ejected*: not called while another one is available.

    IN ── `MOST_FAILURES` in a row, or one that ejects ──> EJECTED ── `PROBE_AFTER` ──> DUE
    DUE ── one request is sent, the probe ──> EJECTED for all others, for another `PROBE_AFTER`
    any ── a success ──> IN

   A probe that fails or never ends is followed by the next one, `PROBE_AFTER` later. The only backend of a model is
   called although it is ejected (`candidates.order`).

2. Pauses. A backend that asks for a wait is *paused*: not called, even if it is the only one.

    PAUSED to `until` ── one request probes, others wait for it, `PROBING` at a time ──> accepted: no pause
                                                                                     ──> rejected: a new pause
                                                                                     ──> without an outcome: another one
    `requested`, the end that the backend requested ──> over, without a probe

   `until` is at most `LONGEST_PAUSE` away, however long the backend asks for: the probe finds out if the limit ends
   sooner. Clients receive the time that the backend requested.

   A pause is for one model, since models have separate limits, or for all if it concerns the account. And it is for
   the tenant of the rejected request: the limit may be of this request's size, and one tenant must not stop another.
   Once a second tenant is rejected while the pause lasts, it is for all tenants, and the second one decides how long.

3. The active check, a list of models, changes both only where it proves something. It ends the
   ejection of a backend that was unreachable or had missed the check before, and those of its
   pauses that are faults. A backend that lists its models but fails to answer stays ejected until a
   request succeeds.

What holds always:

- The clock is passed in, and nothing here waits: a backend's health is a function of what was
  reported, and when.
- One request probes a pause, and the others wait. `lift` or `give_up` ends the probe; if it hangs
  for `LONGEST_PAUSE`, another one follows.
- Pauses that are over are dropped with the next one, however many models were paused.
- What is kept of an error has no text of a client or a model.
"""  # noqa: E501 - a table, a diagram or an example

from dataclasses import dataclass, field

from antiphon.errors import AntiphonError
from antiphon.upstream.retry_policy import LONGEST_PAUSE, Failure, FailureVerdict, verdict

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

    PAUSED until `until` ──> one request probes, the others wait for it ──> lifted, or paused again
    ──> over at `requested`
    """

    error: AntiphonError
    """The backend's error."""
    until: float
    """When one request can probe whether the backend accepts requests again."""
    requested: float
    """The end of the pause that the backend requested, which clients receive. Not before
    `until`.
    """
    tenant: str | None
    """The tenant of the rejected request; None, for all tenants, once requests of two tenants were
    rejected.
    """
    is_fault: bool
    """It failed, and did not limit its rate: a successful active check ends this."""
    probe_until: float = 0.0
    """Until when at most one request probes whether the pause is over."""

    def left(self, now: float) -> float:
        """Return the seconds for which a request must wait; 0 for the one that probes, and once it
        is over.
        """
        if now < self.until:
            return self.until - now
        return PROBING if now < self.probe_until and now < self.requested else 0.0


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
    """By model, or for `ALL`: each model has its own rate limits. Empty for a backend that was
    never paused.
    """
    _is_unavailable: bool = False
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

    def requested(self, now: float) -> None:
        """A request is sent to it; if that is the probe, no other is sent for a while."""
        if self.probe_at is not None:
            self.probe_at = max(self.probe_at, now + PROBE_AFTER)

    def succeeded(self) -> None:
        """It answered successfully."""
        self.failures = 0
        self.probe_at = None

    def failed(
        self, failure: Failure, error: AntiphonError, now: float, model: str = ALL, tenant: str = ""
    ) -> bool:
        """A tenant's call for this model failed; return whether this failure ejects the backend."""
        found = verdict(failure)
        self.last_error = error.gist
        self.last_error_at = now
        if found.pause:
            self._pause(found, error, now, model, tenant)
        if not found.counts:
            return False
        self.failures += 1
        self._is_unavailable = found.is_unavailable
        was_in = self.probe_at is None
        if was_in and self.failures < MOST_FAILURES and not found.ejects:
            return False
        self.probe_at = now + PROBE_AFTER
        self.ejections += was_in
        return was_in

    # Pauses.

    def pause(self, now: float, model: str, tenant: str) -> Pause | None:
        """Return the longest pause that applies to this tenant's requests for this model, or
        None.
        """
        known = (self.pauses.get(ALL), self.pauses.get(model))
        mine = [
            one
            for one in known
            if one is not None and one.tenant in {None, tenant} and one.left(now)
        ]
        return max(mine, key=lambda one: one.until, default=None)

    def rest(self, now: float) -> float:
        """Return the seconds for which it is paused for any tenant and model; 0 if it is not."""
        return max(
            (one.until - now for one in self.pauses.values() if now < one.until), default=0.0
        )

    def probe(self, now: float, model: str, tenant: str) -> Pause | None:
        """A request is sent. Return the pause that it probes, or None; call `lift` or `give_up`
        with it.
        """
        self._forget(now)
        for one in (self.pauses.get(ALL), self.pauses.get(model)):
            if (
                one is not None
                and one.tenant in {None, tenant}
                and one.until <= now < one.requested
            ):
                one.probe_until = now + LONGEST_PAUSE
                return one
        return None

    def lift(self, pause: Pause) -> None:
        """The backend accepted the request that probed a pause."""
        self.pauses = {name: one for name, one in self.pauses.items() if one is not pause}

    def give_up(self, pause: Pause) -> None:
        """The request that probed has ended; unless the pause was lifted or renewed, the next
        request probes.
        """
        pause.probe_until = 0.0

    def _pause(
        self, found: FailureVerdict, error: AntiphonError, now: float, model: str, tenant: str
    ) -> None:
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
        self.pauses = {name: one for name, one in self.pauses.items() if now < one.requested}

    # The active check.

    def seen(self) -> None:
        """It answered an active check: healthy, if it was unreachable or the previous check had
        failed as well.

        A backend with failures that the check does not cover (its list of models works, an answer
        breaks off) is healthy only once a request has succeeded.
        """
        if self._is_unavailable or self._is_missed:
            self.succeeded()
            self.pauses = {name: one for name, one in self.pauses.items() if not one.is_fault}
        self._is_unavailable = self._is_missed = False

    def missed(self) -> None:
        """It did not answer an active check."""
        self._is_missed = True
