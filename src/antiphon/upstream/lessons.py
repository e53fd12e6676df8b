"""What the refusals of a backend taught about one of its models, for how long, and for which
tenants.

A lesson from known words holds for every request. A lesson that a suspicion confirmed holds for the
tenant that sent the requests, and for everyone once a second tenant confirms it. A lesson names a
parameter or one value of it, a form, or the digest of a schema, and holds no content. It expires
after a day: backends change.
"""

from collections.abc import Iterable, Sequence
from time import time

from msgspec import Struct

from antiphon.ids import Clock
from antiphon.upstream.suspicions import DAY, Suspicions, parameter_of, refused_often

LIFE = DAY
"""Seconds after which a lesson expires."""

EVERYONE = ""
"""The tenant of a lesson for all requests; it is also the tenant of requests without an API key."""

MOST_LESSONS = 100
"""For one model at one backend; the oldest is dropped."""

NOTHING: frozenset[str] = frozenset()


class Lesson(Struct, frozen=True):
    """One lesson."""

    name: str
    tenant: str
    stated: str
    """The backend's words, without words of the request."""
    learned_at: int
    """Seconds since the epoch."""


class Lessons:
    """The lessons about one model at one backend."""

    __slots__ = ("_known", "_new", "_now", "by_tenant", "refused", "suspicions")

    def __init__(self, now: Clock = time) -> None:
        self._now = now
        self._known: Sequence[Lesson] = ()
        self._new: list[Lesson] = []
        """Those of them that are not stored yet."""
        self.refused = NOTHING
        """The lessons for everyone: parameters that the backend rejected, types of tools and items
        that its Responses API rejected, and names of differences.
        """
        self.by_tenant: dict[str, frozenset[str]] = {}
        """The lessons that hold for one tenant in addition."""
        self.suspicions: Suspicions | None = None
        """Unexplained refusals; None without any."""

    @property
    def known(self) -> Sequence[Lesson]:
        """All lessons, the oldest first."""
        return self._known

    def of(self, tenant: str) -> frozenset[str]:
        """Return the lessons that hold for a tenant."""
        return self.refused | self.by_tenant.get(tenant, NOTHING)

    def learn(self, name: str, text: str = "", tenant: str = EVERYONE) -> None:
        """Add a lesson; that of a second tenant holds for everyone."""
        if any(one.name == name and one.tenant not in (EVERYONE, tenant) for one in self._known):
            tenant = EVERYONE
        if not {name, parameter_of(name)}.isdisjoint(self.of(tenant)):
            return
        lesson = Lesson(name, tenant, text, int(self._now()))
        self._new.append(lesson)
        self._hold([*self._known, lesson])
        if self.suspicions is not None:
            self.suspicions.drop(name, None if tenant == EVERYONE else tenant)

    def suspect(self) -> Suspicions:
        """Return the suspicions."""
        if self.suspicions is None:
            self.suspicions = Suspicions(self._now)
        return self.suspicions

    def new(self) -> Sequence[Lesson]:
        """Return the lessons that are not stored yet."""
        return tuple(self._new)

    def follow(self, stored: Iterable[Lesson], saved: Sequence[Lesson] = ()) -> None:
        """Hold the lessons that are stored, and those that are not yet; `saved` are stored by now.

        A lesson that is no longer stored was deleted (`antiphon models forget`), or has expired.
        """
        self._new = [one for one in self._new if one not in saved]
        self._hold([*stored, *self._new])

    def _hold(self, lessons: Sequence[Lesson]) -> None:
        since = self._now() - LIFE
        current = {(one.tenant, one.name): one for one in lessons if one.learned_at > since}
        self._known = sorted(current.values(), key=lambda one: one.learned_at)[-MOST_LESSONS:]
        retained: dict[str, set[str]] = {}
        for one in self._known:
            retained.setdefault(one.tenant, set()).add(one.name)
        self.refused = _with_parameters(retained.pop(EVERYONE, set()))
        self.by_tenant = {tenant: _with_parameters(names) for tenant, names in retained.items()}


def _with_parameters(names: set[str]) -> frozenset[str]:
    """Return the names of lessons, and those of parameters of which several values were refused."""
    return frozenset(names | refused_often(names))
