"""Faults that are put into the code while it runs, to show what the simulation finds: `python -m
simulation.worth` runs them, each on the same seeds.

Each removes one protection. A protection that another one covers completely is not in the table:
without it, nothing breaks.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from antiphon.access.metering import Meter
from antiphon.jobs.queue import BackgroundQueue
from antiphon.jobs.recorder import BackgroundRecorder
from antiphon.jobs.worker import Worker
from antiphon.recording.persistence import ForegroundRecorder
from antiphon.sharing.memory import Memory
from antiphon.storage.notifications import Subscription
from antiphon.storage.operations import budgets, jobs, leases, responses
from antiphon.storage.operations.step import query_rows, writes
from antiphon.storage.records.jobs import LockResult, Progress
from antiphon.storage.store import Store
from antiphon.upstream.router import Route
from antiphon.webhooks.courier import Courier
from simulation.changes import Change, Mutation, code, method, nothing, nothing_async, sql, together


def _early(operation: Any, result: Any) -> Change:
    """Acknowledge an operation before it is performed."""

    def make(original: Any) -> Any:
        async def write(self: Store, requested: Any, *args: Any, **kwargs: Any) -> Any:
            writing = original(self, requested, *args, **kwargs)
            if requested is not operation:
                return await writing
            asyncio.ensure_future(writing).add_done_callback(lambda done: done.exception())
            return result

        return write

    return method(Store, "write", make)


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
        "a worker that lost its job still writes events", sql("advance", FENCE, "$2 >= 0")
    ),
    "no_fence_of_end": Mutation(
        "a worker that lost its job still ends it", sql("finish", FENCE, "$2 >= 0")
    ),
    "lease_not_checked": Mutation(
        "jobs of workers that are alive are claimed",
        together(
            sql("next_waiting", "WHERE expired = 1 AND id <> $2", "WHERE id <> $2 AND id <> ''"),
            sql("claim", "WHERE expired = 1)", "WHERE id <> '')"),
        ),
    ),
    "lock_not_checked": Mutation(
        "a second response locks a conversation", method(leases, "hold", _unlocked)
    ),
    "key_not_checked": Mutation(
        "a reserved Idempotency-Key is reserved again",
        sql("reserve", "idempotency_keys.created_at <= $7", "idempotency_keys.created_at >= $7"),
    ),
    "no_heartbeat": Mutation("a worker sends no heartbeat", method(Worker, "beat", nothing_async)),
    "lost_wake_up": Mutation(
        "a task that waits for a change relies on the notification",
        method(Subscription, "wait", _patient),
    ),
    "number_sent_twice": Mutation(
        "a job that begins again repeats the numbers of lost events",
        sql("claim", "uses_idle = $4,", "uses_idle = $4, next_number = kept_number,"),
    ),
    "half_item_kept": Mutation(
        "events of an item that is not complete remain after a crash",
        method(BackgroundRecorder, "_save", _always_resumed),
    ),
    "events_not_dropped": Mutation(
        "the events after the resume point remain when another worker takes a job",
        sql("drop_events", "number >=", "number < 0 AND number >="),
    ),
    "acknowledged_early": Mutation(
        "a background response is acknowledged before it is stored",
        _early(jobs.enqueue, LockResult.DONE),
    ),
    "memory_not_returned": Mutation(
        "memory reserved for a history is not returned", method(Memory, "release", nothing)
    ),
    "slot_not_returned": Mutation(
        "a cancelled request keeps its slot at the backend",
        method(Route, "release", _only_if_calm),
    ),
    "lease_not_returned": Mutation(
        "a response that has ended keeps its lease",
        method(ForegroundRecorder, "save", _retained),
    ),
    "store_not_retried": Mutation(
        "a background response is abandoned when the store fails",
        method(BackgroundRecorder, "_persist", _ends_at_once),
    ),
    "strays_not_returned": Mutation(
        "a worker keeps jobs that it does not know", method(Worker, "_poll_own", _own_only)
    ),
    "turn_not_appended": Mutation(
        "a turn is not appended to its conversation", method(Store, "save", _without_append)
    ),
    "cancel_ignored": Mutation(
        "a cancelled response continues", method(BackgroundQueue, "cancel", _only_read)
    ),
    "end_sent_twice": Mutation(
        "the end of a stream is sent twice",
        code(
            BackgroundRecorder.save, "[*self._pending, *end]", "[*self._pending, *end, *end[-1:]]"
        ),
    ),
    "reply_not_stored": Mutation(
        "an Idempotency-Key is not stored with its response",
        code(ForegroundRecorder.save, "if self.identity.key and is_good", "if False"),
    ),
    "lock_not_released": Mutation(
        "a background response that has ended keeps its conversation locked",
        code(
            responses.leave_conversation,
            "if append:",
            "if not append:\n        return\n    if append:",
        ),
    ),
    "job_slot_not_returned": Mutation(
        "a worker keeps the slot of a job that has ended",
        code(
            Worker._run_job,
            "(self._idle if job.uses_idle else self._slots).leave(job.response.tenant)",
            "pass",
        ),
    ),
    "task_not_ended": Mutation(
        "a task that writes events outlives its response",
        code(
            BackgroundRecorder.record,
            "self._flushing.cancel()\n        with suppress(asyncio.CancelledError):\n"
            "            await self._flushing",
            "pass",
        ),
    ),
    "log_size_kept": Mutation(
        "events that are deleted at a take-over still count as stored bytes",
        sql("claim", "CASE WHEN $3 = 1 THEN kept_bytes ELSE log_bytes END", "log_bytes + $3 * 0"),
    ),
    "reservation_not_returned": Mutation(
        "the budget reserved for a request is not returned",
        code(Meter.charge, "(taken.cost or 0) if is_same_day else 0", "0"),
    ),
    "budget_not_checked": Mutation(
        "a request is admitted that its budget has no room for",
        code(budgets.exhausted, "levels[account][period] + cost > most", "False"),
    ),
    "key_runs_too_many": Mutation(
        "a worker claims more jobs of a key than may run at once",
        sql("next_waiting", "< api_keys.concurrency", "< api_keys.concurrency + 9"),
    ),
    "tenant_not_checked": Mutation(
        "a response is found by a client of another tenant that has its id",
        sql("load", "responses.tenant = $2", "$2 <> '!'"),
    ),
    "end_not_announced": Mutation(
        "the end of a background response is not announced to webhooks",
        code(jobs.finish, "if announcement is not None:", "if False:"),
    ),
    "delivery_not_repeated": Mutation(
        "a webhook that was not received is not sent again",
        code(Courier._try, "if not trouble:", "if True:"),
    ),
}
