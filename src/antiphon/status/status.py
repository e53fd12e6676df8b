"""The current state of backends and shared resources, of one process, and of all processes that
share a port.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from antiphon.sharing.scheduler import SchedulerUsage
from antiphon.status.agent_status import AgentsStatus
from antiphon.status.code_status import CodeStatus, code_together
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.registry import ModelRegistry

Health = Literal["up", "out", "resting", "mixed"]
"""`out`: it failed too often or rejected the key, and is ejected except for a probe. `resting`: it
is paused. `mixed`: the processes disagree.
"""


class LessonStatus(Struct, frozen=True, rename={"stated": "said"}):
    """What refusals of a backend taught about one of its models."""

    model: str
    """The backend's name for it."""
    name: str
    tenant: str
    """The tenant that it holds for; empty for everyone."""
    stated: str
    """The backend's words."""
    learned_at: int
    """Seconds since the epoch."""


class BackendStatus(Struct, kw_only=True, rename={"requested": "asked"}):
    """One backend. Times are in seconds."""

    name: str
    dialect: str
    health: Health
    rests_for: float
    """Until it is called again, if it is paused."""
    in_flight: int
    concurrency: int
    """Concurrent requests allowed; 0 for no limit."""
    waiting: int
    queue: int
    """Requests that can wait for it."""
    oldest_wait: float
    """How long the first of the waiting requests has waited; 0 if none waits."""
    requested: int
    failed: int
    ejections: int
    prompt_bytes: int
    """Of prompts of sessions, if the backend caches prompts; 0 otherwise."""
    prompt_reused_bytes: int
    """Bytes of these that were at the same place in the prompt of the previous turn."""
    prompt_breaks: int
    """Prompts that did not continue the prompt of the previous turn."""
    last_prompt_break: str
    """The first part that had changed in the newest one of these; empty if each prompt continued
    the previous one.
    """
    models: list[str]
    loaded: list[str] | None
    """Models in its memory, if it reports them."""
    error: str
    """Why its models could not be listed at the last poll; empty if they were."""
    last_error: str
    last_error_ago: float | None
    checked_ago: float | None = None
    """Seconds since its models were last queried; None before that."""
    next_check: float | None = None
    """Seconds until they are queried next; None if the backends are not polled."""
    lessons: list[LessonStatus] = []
    """What its refusals taught, the oldest first."""


class ResourceStatus(Struct, kw_only=True):
    """One resource that tenants share."""

    name: str
    in_use: int
    capacity: int
    """Slots; 0 for no limit."""
    waiting: int
    oldest_wait: float
    """How long the first of the waiting operations has waited, in seconds; 0 if none waits."""


class TenantStorage(Struct, kw_only=True):
    """The bytes that one tenant has stored."""

    tenant: str
    """Empty for requests without an API key."""
    stored_bytes: int


class StorageStatus(Struct, kw_only=True):
    """The data that tenants have stored, in the store that all processes share."""

    stored_bytes: int
    """Of all tenants."""
    tenants: int
    """Tenants that have stored anything."""
    max_stored_bytes: int | None
    """Bytes that each tenant can store; None for no limit."""
    largest: list[TenantStorage]
    """The tenants that have stored most, in descending order."""


class Status(Struct, kw_only=True):
    """Processes that serve one port."""

    workers: int = 1
    responses_in_flight: int
    backends: list[BackendStatus]
    shared: list[ResourceStatus]
    clock_skew: float = 0.0
    """Seconds by which the clock of one of them is ahead of the store's; the one that differs
    most.
    """
    purge_held: int = 0
    """Stored responses that have expired, if they are too many for one purge."""
    disk_full: bool = False
    """Whether the disk of the store has no room for what requests store."""
    older_failovers: int = 0
    """Times that another database server took over and lacked what one of them had seen."""
    storage: StorageStatus | None = None
    """None if the store did not answer."""
    code: CodeStatus | None = None
    """The sandbox that runs code; None if the settings name none."""
    agents: AgentsStatus | None = None
    """The agents of all workers of the store; None without agents, or if it did not answer."""


def status_of(
    models: ModelRegistry,
    responses_in_flight: int,
    shared: Mapping[str, SchedulerUsage],
    clock_skew: float = 0.0,
    purge_held: int = 0,
    *,
    disk_full: bool = False,
    older_failovers: int = 0,
    code: CodeStatus | None = None,
) -> Status:
    """Return the state of this process's backends, of its shared resources by name, and of its
    purges.
    """
    now = models.clock()
    return Status(
        responses_in_flight=responses_in_flight,
        backends=[_backend(state, now, models.next_poll) for state in models.backends],
        shared=[_resource(name, usage) for name, usage in shared.items()],
        clock_skew=clock_skew,
        purge_held=purge_held,
        disk_full=disk_full,
        older_failovers=older_failovers,
        code=code,
    )


def together(statuses: Sequence[Status]) -> Status:
    """Return the reports of several processes as one; at least one."""
    backends: dict[str, list[BackendStatus]] = {}
    shared: dict[str, list[ResourceStatus]] = {}
    for status in statuses:
        for backend in status.backends:
            backends.setdefault(backend.name, []).append(backend)
        for resource in status.shared:
            shared.setdefault(resource.name, []).append(resource)
    return Status(
        workers=sum(status.workers for status in statuses),
        responses_in_flight=sum(status.responses_in_flight for status in statuses),
        backends=[_together(known) for known in backends.values()],
        shared=[_summed(known) for known in shared.values()],
        clock_skew=max((status.clock_skew for status in statuses), key=abs),
        purge_held=max(status.purge_held for status in statuses),
        disk_full=any(status.disk_full for status in statuses),
        older_failovers=max(status.older_failovers for status in statuses),
        code=code_together([status.code for status in statuses]),
    )


def profiles_of(models: ModelRegistry) -> list[dict[str, Any]]:
    """Return the known facts about each model at each backend, measured or configured."""
    return [
        {"backend": state.name, "model": model["id"], "facts": facts}
        for state in models.backends
        for model in state.models
        if (facts := to_builtins(state.profile_of(model["id"], model["id"]).known()))
    ]


def _resource(name: str, usage: SchedulerUsage) -> ResourceStatus:
    return ResourceStatus(
        name=name,
        in_use=usage.in_use,
        capacity=usage.capacity,
        waiting=usage.waiting,
        oldest_wait=usage.oldest_wait,
    )


def _summed(known: Sequence[ResourceStatus]) -> ResourceStatus:
    """Return one resource of several processes: counts are added, the oldest wait is the longest of
    them.
    """
    return ResourceStatus(
        name=known[0].name,
        in_use=sum(one.in_use for one in known),
        capacity=sum(one.capacity for one in known),
        waiting=sum(one.waiting for one in known),
        oldest_wait=max(one.oldest_wait for one in known),
    )


def _backend(backend: BackendState, now: float, next_poll: float | None) -> BackendStatus:
    health = backend.health
    loaded = backend.load.loaded
    usage = backend.slots.usage
    return BackendStatus(
        name=backend.name,
        dialect=backend.dialect.name,
        health="resting" if health.rest(now) else "out" if health.is_ejected else "up",
        rests_for=health.rest(now),
        in_flight=usage.in_use,
        concurrency=usage.capacity,
        waiting=usage.waiting,
        queue=backend.slots.bound,
        oldest_wait=usage.oldest_wait,
        requested=backend.requested,
        failed=backend.failed,
        ejections=health.ejections,
        prompt_bytes=backend.prompts.size,
        prompt_reused_bytes=backend.prompts.reused,
        prompt_breaks=backend.prompts.breaks,
        last_prompt_break=backend.prompts.last_break,
        models=[model["id"] for model in backend.offers()],
        loaded=None if loaded is None else sorted(loaded),
        error=backend.error,
        last_error=health.last_error,
        last_error_ago=now - health.last_error_at if health.last_error else None,
        checked_ago=None if backend.checked_at is None else now - backend.checked_at,
        next_check=None if next_poll is None else max(0.0, next_poll - now),
        lessons=[
            LessonStatus(model, one.name, one.tenant, one.stated, one.learned_at)
            for model, lessons in backend.lessons.items()
            for one in lessons.known
        ],
    )


def _together(known: Sequence[BackendStatus]) -> BackendStatus:
    """Counts are added up; other values of a backend are from the process that knows it best."""
    newest = min(
        known, key=lambda one: float("inf") if one.last_error_ago is None else one.last_error_ago
    )
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
        oldest_wait=max(one.oldest_wait for one in known),
        requested=total(lambda one: one.requested),
        failed=total(lambda one: one.failed),
        ejections=total(lambda one: one.ejections),
        prompt_bytes=total(lambda one: one.prompt_bytes),
        prompt_reused_bytes=total(lambda one: one.prompt_reused_bytes),
        prompt_breaks=total(lambda one: one.prompt_breaks),
        last_prompt_break=max((one.last_prompt_break for one in known), key=len),
        error=min((one.error for one in known), key=len),
        last_error=newest.last_error,
        last_error_ago=newest.last_error_ago,
        checked_ago=_soonest(one.checked_ago for one in known),
        next_check=_soonest(one.next_check for one in known),
        lessons=sorted(
            {lesson for one in known for lesson in one.lessons},
            key=lambda lesson: lesson.learned_at,
        ),
    )


def _soonest(times: Iterable[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _agreed(healths: Iterable[Health]) -> Health:
    found = set(healths)
    return found.pop() if len(found) == 1 else "mixed"
