"""How the backends are doing at this moment, as one process knows it, and as all that share a port do together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.registry import ModelRegistry

Health = Literal["up", "out", "resting", "mixed"]
"""`out`: it failed too often, and is left out but for a probe. `resting`: it asked to be left alone. `mixed`: the
processes do not agree."""


class BackendStatus(Struct, kw_only=True):
    """One backend. Times are in seconds."""

    name: str
    dialect: str
    health: Health
    rests_for: float
    """Until it is asked again, where it rests."""
    in_flight: int
    concurrency: int
    """Requests that it may have at once; 0 for any number."""
    waiting: int
    queue: int
    """Requests that may wait for it."""
    asked: int
    failed: int
    ejections: int
    models: list[str]
    loaded: list[str] | None
    """Models in its memory, where it tells."""
    error: str
    """Why its models could not be listed when it was looked at last; empty where they were."""
    last_error: str
    last_error_ago: float | None


class Status(Struct, kw_only=True):
    """Processes that serve one port."""

    workers: int = 1
    responses_in_flight: int
    backends: list[BackendStatus]


def status_of(models: ModelRegistry, responses_in_flight: int) -> Status:
    """Return the state of this process's backends."""
    now = models.clock()
    backends = [_backend(state, now) for state in models.backends]
    return Status(responses_in_flight=responses_in_flight, backends=backends)


def together(told: Sequence[Status]) -> Status:
    """Return as one what several processes told; at least one."""
    backends: dict[str, list[BackendStatus]] = {}
    for status in told:
        for backend in status.backends:
            backends.setdefault(backend.name, []).append(backend)
    return Status(
        workers=sum(status.workers for status in told),
        responses_in_flight=sum(status.responses_in_flight for status in told),
        backends=[_together(known) for known in backends.values()],
    )


def _backend(served: BackendState, now: float) -> BackendStatus:
    health, slots, loaded = served.health, served.slots, served.load.loaded
    return BackendStatus(
        name=served.name,
        dialect=served.dialect.name,
        health="resting" if health.rest(now) else "out" if health.is_ejected else "up",
        rests_for=health.rest(now),
        in_flight=slots.in_use,
        concurrency=slots.capacity,
        waiting=slots.waiting,
        queue=slots.bound,
        asked=served.asked,
        failed=served.failed,
        ejections=health.ejections,
        models=[model["id"] for model in served.offers()],
        loaded=None if loaded is None else sorted(loaded),
        error=served.error,
        last_error=health.last_error,
        last_error_ago=now - health.last_error_at if health.last_error else None,
    )


def _together(known: Sequence[BackendStatus]) -> BackendStatus:
    """What counts is added up; what is said of one backend is taken from who knows it best."""
    newest = min(known, key=lambda one: float("inf") if one.last_error_ago is None else one.last_error_ago)
    listed = max(known, key=lambda one: len(one.models))

    def total(of: Callable[[BackendStatus], int]) -> int:
        return sum(map(of, known))

    return replace(
        listed,
        health=_agreed(one.health for one in known),
        rests_for=max(one.rests_for for one in known),
        in_flight=total(lambda one: one.in_flight),
        concurrency=total(lambda one: one.concurrency),
        waiting=total(lambda one: one.waiting),
        queue=total(lambda one: one.queue),
        asked=total(lambda one: one.asked),
        failed=total(lambda one: one.failed),
        ejections=total(lambda one: one.ejections),
        error=min((one.error for one in known), key=len),
        last_error=newest.last_error,
        last_error_ago=newest.last_error_ago,
    )


def _agreed(healths: Iterable[Health]) -> Health:
    found = set(healths)
    return found.pop() if len(found) == 1 else "mixed"
