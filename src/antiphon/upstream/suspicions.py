"""Finds out what a backend refused when its words do not say it.

A request that was refused without a known reason is sent once more in its plainest form. If that
succeeds, at least one of the simplifications was needed: they are the suspects
(`dialects.plainest`). The next requests of the same tenant that contain suspects are simplified
too, except for half of the suspects, which is a test:

    accepted                                     the backend accepts these
    refused, and accepted in the plainest form   it refuses one of these: the next test is of half of them

One suspect that is refused alone is a lesson: two separate requests have shown it. Until then a
suspicion lives in this process only. The number of attempts is limited for each tenant and set of
suspects; beyond it, all suspects are simplified without a test. This module has no I/O.
"""  # noqa: E501 - a table, a diagram or an example

from collections import Counter, deque
from collections.abc import Iterable

from msgspec import Struct

from antiphon.ids import Clock
from antiphon.translation.dialects.dialect import VALUE

HOUR = 3_600
DAY = 86_400

MOST_ATTEMPTS = 3
"""Attempts an hour for a tenant and a set of suspects."""

MOST_OF_TENANT = 20
"""Attempts an hour for a tenant: its requests can have ever new suspects."""

MOST_SUSPECTS = 500
"""Of one tenant; a suspicion with more starts over."""

MOST_TENANTS = 200
"""Tenants with suspicions about one model; the one that attempted least recently is dropped."""

MOST_VALUES = 3
"""Values of one parameter that are distinguished; a backend that refuses as many accepts none."""

Suspects = frozenset[str]

NONE: Suspects = frozenset()


def parameter_of(lesson: str) -> str:
    """Return the parameter of a lesson about a value; another lesson as it is."""
    return lesson.partition(VALUE)[0]


def refused_often(lessons: Iterable[str]) -> Suspects:
    """Return the parameters of which these lessons name several values."""
    values = Counter(parameter_of(lesson) for lesson in lessons if VALUE in lesson)
    return frozenset(parameter for parameter, count in values.items() if count >= MOST_VALUES)


class Suspicion(Struct, eq=False):
    """A tenant's refusals that are not explained yet."""

    known: Suspects
    """What the refused requests contained, and what was accepted since."""
    left: Suspects
    """Those of them that the backend may refuse; requests are accepted if all of these are
    simplified.
    """
    narrowed: Suspects
    """Some of these, one of which it refuses; empty if that is not known."""
    since: float
    parameters: Suspects = NONE
    """Those that are suspected with any value: every request can have another one."""

    def seen(self, found: Suspects) -> Suspects:
        """Return these suspects as this suspicion distinguishes them."""
        if not self.parameters:
            return found
        return frozenset(
            name if (name := parameter_of(one)) in self.parameters else one for one in found
        )

    def add(self, found: Suspects) -> None:
        """A request with these suspects was refused, and accepted in its plainest form."""
        self.parameters |= refused_often(self.left | found)
        self.known, self.left, self.narrowed = (
            self.seen(self.known | found),
            self.seen(self.left | found),
            NONE,
        )


class Trial(Struct, frozen=True, eq=False):
    """How one request is sent: with `applied` simplified."""

    suspicion: Suspicion
    found: Suspects
    """The suspects of the request."""
    left: Suspects
    """Those of the suspicion when the trial began."""
    applied: Suspects
    tested: Suspects
    """The suspects that are sent as they are, to learn whether the backend refuses them."""


class _Tenant(Struct):
    suspicion: Suspicion | None
    attempts: deque[tuple[float, Suspects]]
    """The last attempts: when, and with which suspects."""


class Suspicions:
    """The suspicions about one model at one backend."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._tenants: dict[str, _Tenant] = {}

    def is_proven(self, tenant: str, found: Suspects) -> bool:
        """Whether a request before has shown that one with these suspects is accepted in its
        plainest form.
        """
        one = self._current(self._tenants.get(tenant))
        return (
            one is not None
            and one.seen(found) <= one.known
            and not one.seen(found).isdisjoint(one.left)
        )

    def is_open(self, tenant: str) -> bool:
        """Whether a tenant has a suspicion."""
        return self._current(self._tenants.get(tenant)) is not None

    def trial(self, tenant: str, found: Suspects) -> Trial | None:
        """Return how to send a request with these suspects; None to send it as it is."""
        mine = self._tenants.get(tenant)
        one = self._current(mine)
        if one is None or one.left.isdisjoint(found := one.seen(found)):
            return None
        tested = NONE
        if found <= one.known and self._may_attempt(tenant, one.left):
            narrowed = sorted(one.narrowed & found)
            among = narrowed or sorted(one.left & found)
            tested = frozenset(among[: max(1, len(among) // 2)])
        return Trial(one, found, one.left, one.left - tested, tested)

    def attempt(self, tenant: str, found: Suspects) -> bool:
        """Return whether a request with these suspects may be sent once more, and count that."""
        if not self._may_attempt(tenant, found):
            return False
        mine = self._tenants.pop(tenant, None) or _Tenant(None, deque(maxlen=MOST_OF_TENANT))
        self._tenants[tenant] = mine
        if len(self._tenants) > MOST_TENANTS:
            del self._tenants[next(iter(self._tenants))]
        mine.attempts.append((self._now(), found))
        return True

    def accepted(self, trial: Trial) -> None:
        """A request was accepted as the trial sent it: the backend accepts what was sent as it
        is.
        """
        one = trial.suspicion
        if one.left == trial.left:
            if len(one.known | trial.found) <= MOST_SUSPECTS:
                one.known |= trial.found
            one.left -= trial.tested
            one.narrowed -= trial.tested

    def explained(self, tenant: str, trial: Trial | None, found: Suspects) -> str | None:
        """A request was refused, and accepted in its plainest form.

        Return the lesson if there is one now.

        `found` are the suspects of the request as it was refused.
        """
        if trial is None or not trial.tested:
            self._add(tenant, found)
            return None
        one = trial.suspicion
        tested = trial.tested
        if one.left != trial.left:
            return None  # another request has narrowed it meanwhile
        if len(tested) > 1:
            one.narrowed = tested
            return None
        one.left -= tested
        one.narrowed -= tested
        return next(iter(tested))

    def drop(self, lesson: str, tenant: str | None) -> None:
        """Forget the suspicion of a tenant that a lesson explains; None for those of all
        tenants.
        """
        for name, mine in self._tenants.items():
            if tenant in (None, name) and mine.suspicion is not None:
                left = mine.suspicion.left
                if lesson in left or lesson in map(parameter_of, left):
                    mine.suspicion = None

    def _current(self, mine: _Tenant | None) -> Suspicion | None:
        """Return the suspicion if it is open, and not older than a day."""
        one = mine.suspicion if mine else None
        return one if one is not None and one.left and one.since > self._now() - DAY else None

    def _add(self, tenant: str, found: Suspects) -> None:
        mine = self._tenants.get(tenant)
        if mine is None:
            return
        one = self._current(mine)
        if one is None or len(one.known | found) > MOST_SUSPECTS:
            one = mine.suspicion = Suspicion(NONE, NONE, NONE, self._now())
        one.add(found)

    def _may_attempt(self, tenant: str, found: Suspects) -> bool:
        mine = self._tenants.get(tenant)
        since = self._now() - HOUR
        recent = [suspects for at, suspects in mine.attempts if at > since] if mine else []
        return len(recent) < MOST_OF_TENANT and recent.count(found) < MOST_ATTEMPTS
