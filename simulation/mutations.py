"""Faults that are put into the code while it runs, to show what the simulation finds: `python -m
simulation.worth` runs them, each on the same seeds.

Each removes one protection. A protection that another one covers completely is not in the table:
without it, nothing breaks.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.jobs.queue import BackgroundQueue
from antiphon.jobs.recorder import BackgroundRecorder
from antiphon.jobs.worker import Worker
from antiphon.recording.persistence import ForegroundRecorder
from antiphon.sharing.memory import Memory
from antiphon.storage.notifications import Subscription
from antiphon.storage.operations import jobs, leases
from antiphon.storage.operations.step import query_rows, writes
from antiphon.storage.records.jobs import LockResult, Progress
from antiphon.storage.sql import queries_of
from antiphon.storage.store import Store
from antiphon.upstream.router import Route


@dataclass(frozen=True, slots=True)
class Mutation:
    """One fault: `apply` puts it into the code of this Python process."""

    meaning: str
    apply: Callable[[], None]


def _sql(query: str, old: str, new: str) -> Callable[[], None]:
    """Change a statement."""

    def apply() -> None:
        queries: Any = queries_of("sqlite")
        assert old in queries[query], queries[query]
        queries[query] = queries[query].replace(old, new)

    return apply


def _all(*changes: Callable[[], None]) -> Callable[[], None]:
    """Make several changes."""

    def apply() -> None:
        for change in changes:
            change()

    return apply


def _method(owner: Any, name: str, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Replace a function of a class or a module; `make` gets the original."""
    return lambda: setattr(owner, name, make(getattr(owner, name)))


def _nothing(_: Any) -> Any:
    return lambda *args, **kwargs: None


def _nothing_async(_: Any) -> Any:
    async def nothing(*args: Any, **kwargs: Any) -> None:
        pass

    return nothing


def _early(operation: Any, result: Any) -> Callable[[], None]:
    """Acknowledge an operation before it is performed."""

    def make(original: Any) -> Any:
        async def write(self: Store, requested: Any, *args: Any, **kwargs: Any) -> Any:
            writing = original(self, requested, *args, **kwargs)
            if requested is not operation:
                return await writing
            asyncio.ensure_future(writing).add_done_callback(lambda done: done.exception())
            return result

        return write

    return _method(Store, "write", make)


def _unlocked(_: Any) -> Any:
    def hold(tenant: str, conversation_id: str, response_id: str, worker: str | None) -> Any:
        rows = yield from query_rows("hold", conversation_id, response_id, worker)
        yield from leases.revive(worker, rows)
        return LockResult.DONE

    return writes("lock")(hold)


def _patient(original: Any) -> Any:
    async def wait(self: Subscription, seconds: float) -> None:
        await original(self, 1e6)

    return wait


def _ends_at_once(original: Any) -> Any:
    async def persist(self: BackgroundRecorder, write: Any) -> Any:
        return await write()

    return persist


def _only_if_calm(original: Any) -> Any:
    def release(self: Route) -> None:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            original(self)

    return release


def _always_resumed(original: Any) -> Any:
    async def save(self: BackgroundRecorder, progress: Progress) -> None:
        await original(
            self,
            Progress(progress.frames, progress.output, True, progress.checkpoint, progress.steps),
        )

    return save


def _without_append(original: Any) -> Any:
    async def save(self: Store, response: Any, *, append: bool = False, reply: Any = None) -> Any:
        return await original(self, response, append=False, reply=reply)

    return save


def _own_only(_: Any) -> Any:
    async def poll_own(self: Worker) -> None:
        owned = await self.parts.store.read(leases.owned, self.parts.process.worker)
        for response_id in set(self._running) - owned.keys():
            if task := self._running.get(response_id):
                task.cancel()

    return poll_own


def _retained(original: Any) -> Any:
    async def save(self: ForegroundRecorder, *args: Any) -> None:
        await original(self, *args)
        self.leases.add(self.identity.response_id)

    return save


def _only_read(_: Any) -> Any:
    async def cancel(self: BackgroundQueue, tenant: str, response_id: str) -> Any:
        return await self._stored.retrieve(tenant, response_id)

    return cancel


FENCE = "version = $2"

MUTATIONS: Mapping[str, Mutation] = {
    "no_fence_of_progress": Mutation(
        "a worker that lost its job still writes events", _sql("advance", FENCE, "$2 >= 0")
    ),
    "no_fence_of_end": Mutation(
        "a worker that lost its job still ends it", _sql("finish", FENCE, "$2 >= 0")
    ),
    "lease_not_checked": Mutation(
        "jobs of workers that are alive are claimed",
        _all(
            _sql("next_waiting", "WHERE expired = 1 AND id <> $2", "WHERE id <> $2 AND id <> ''"),
            _sql("claim", "WHERE expired = 1)", "WHERE id <> '')"),
        ),
    ),
    "lock_not_checked": Mutation(
        "a second response locks a conversation", _method(leases, "hold", _unlocked)
    ),
    "key_not_checked": Mutation(
        "a reserved Idempotency-Key is reserved again",
        _sql("reserve", "idempotency_keys.created_at <= $7", "idempotency_keys.created_at >= $7"),
    ),
    "no_heartbeat": Mutation(
        "a worker sends no heartbeat", _method(Worker, "beat", _nothing_async)
    ),
    "lost_wake_up": Mutation(
        "a task that waits for a change relies on the notification",
        _method(Subscription, "wait", _patient),
    ),
    "number_sent_twice": Mutation(
        "a job that begins again repeats the numbers of lost events",
        _sql("claim", "uses_idle = $4,", "uses_idle = $4, next_number = kept_number,"),
    ),
    "half_item_kept": Mutation(
        "events of an item that is not complete remain after a crash",
        _method(BackgroundRecorder, "_save", _always_resumed),
    ),
    "events_not_dropped": Mutation(
        "the events after the resume point remain when another worker takes a job",
        _sql("drop_events", "number >=", "number < 0 AND number >="),
    ),
    "acknowledged_early": Mutation(
        "a background response is acknowledged before it is stored",
        _early(jobs.enqueue, LockResult.DONE),
    ),
    "memory_not_returned": Mutation(
        "memory reserved for a history is not returned", _method(Memory, "release", _nothing)
    ),
    "slot_not_returned": Mutation(
        "a cancelled request keeps its slot at the backend",
        _method(Route, "release", _only_if_calm),
    ),
    "lease_not_returned": Mutation(
        "a response that has ended keeps its lease",
        _method(ForegroundRecorder, "save", _retained),
    ),
    "store_not_retried": Mutation(
        "a background response is abandoned when the store fails",
        _method(BackgroundRecorder, "_persist", _ends_at_once),
    ),
    "strays_not_returned": Mutation(
        "a worker keeps jobs that it does not know", _method(Worker, "_poll_own", _own_only)
    ),
    "turn_not_appended": Mutation(
        "a turn is not appended to its conversation", _method(Store, "save", _without_append)
    ),
    "cancel_ignored": Mutation(
        "a cancelled response continues", _method(BackgroundQueue, "cancel", _only_read)
    ),
}
