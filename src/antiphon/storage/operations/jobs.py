"""Background work: the queue, and the fence of each job.

A job is a row next to its response: it waits in the queue, has one owner, and is fenced by a
version.
`leases.py` has the workers that own jobs, `event_log.py` the events of a response.
"""

import json
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from antiphon.storage.changes import JOBS
from antiphon.storage.operations import continuations, event_log, facts, item_blobs, leases, steps
from antiphon.storage.operations.responses import (
    ANY_SIZE,
    answer,
    dated,
    extent_of,
    insert,
    item_rows,
    leave_conversation,
    load_at,
    locked_position,
    sealed_column,
)
from antiphon.storage.operations.step import (
    FEW_BYTES,
    FEW_ITEMS,
    NOW,
    SHIFT,
    Changed,
    Operation,
    Query,
    Row,
    announce_read,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.operations.webhooks import announce
from antiphon.storage.records.jobs import (
    NOTHING_RESERVED,
    ONE_SLOT,
    SOONEST,
    Backlog,
    Deferral,
    EventFrames,
    Job,
    LockResult,
    Progress,
    Reservation,
    Slots,
)
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.steps import Answers, Continued, StepWrite
from antiphon.storage.records.tenants import Announcement, StoredReply

AT_ONCE, DUE, IDLE = range(3)
"""The ranks of waiting jobs, as `next_waiting` orders them: those that are not deferred, those that
can no longer wait for an idle slot, and those that need one.
"""

MOST_RELATED = 256
"""Waiting jobs among which one that continues a recent job is searched."""

NEARLY = 100
"""Free places in a queue below which requests are queued one at a time: more than can be queued
concurrently.
"""


@writes("enqueue")
def enqueue(
    response: StoredResponse,
    request: bytes,
    frames: Sequence[EventFrames],
    reply: StoredReply | None = None,
    taken: Reservation = NOTHING_RESERVED,
    *,
    most: int | None = None,
    deferral: Deferral = SOONEST,
    queue: str = "",
    answers: Answers | None = None,
) -> Operation[LockResult | Continued]:
    """Store a queued response with its request, and lock its conversation. `queue` is the agent
    that computes it, empty for a model. With `answers`, it continues the response that waits for
    them; nothing is stored if another response already does, which is returned.

    Nothing is stored if the result is `BUSY` (another response holds the conversation's lock),
    `UNKNOWN` (the conversation does not exist) or `FULL` (the tenant already has `most` waiting
    jobs; None means no limit). The limit also holds for concurrent requests, and separately for
    deferred jobs, for each agent, and for others.
    """
    yield Changed([response.id, JOBS])
    shift: int = yield SHIFT
    response = dated(response, shift)
    if answers is not None:
        continued = yield from continuations.join(response.tenant, answers)
        if continued is not None:
            return continued
    if most is not None and (
        yield from _is_full(
            "count_deferred" if deferral.begin_by else "count_waiting", response.tenant, most, queue
        )
    ):
        return LockResult.FULL
    if response.conversation_id is not None:
        outcome = yield from leases.hold(
            response.tenant, response.conversation_id, response.id, None
        )
        if outcome is not LockResult.DONE:
            return outcome
        # The end of the conversation is only certain from now on.
        response = replace(response, conversation_end=(yield from locked_position(response)))
    if not (yield from answer(reply, response.id)):
        yield from query_rows("let_go", response.conversation_id, response.id)
        return LockResult.BUSY
    seq = yield from insert(response)
    size = event_log.size_of(frames)
    reserved = (taken.key_id, taken.tokens, size, taken.cost, json.dumps(taken.models))
    waits = deferral.begin_by and deferral.begin_by + shift, deferral.continuation
    yield from query_rows(
        *("put_job", seq, response.tenant, event_log.next_number(frames), request),
        *(*reserved, *waits, queue),
    )
    if answers is not None:
        yield from continuations.take(response.tenant, seq, response.id, answers)
    yield from event_log.append(seq, frames)
    yield from facts.put(response.facts)
    return LockResult.DONE


def _is_full(count: str, tenant: str, most: int, queue: str) -> Operation[bool]:
    """Return whether `most` jobs of a tenant wait in a queue, of those that `count` counts.

    Exact, even if other processes queue jobs concurrently.
    """
    (row,) = yield from query_rows(count, tenant, most, queue)
    if most - NEARLY <= row[0] < most:
        yield from query_rows("lock_worker", leases.QUEUE)
        (row,) = yield from query_rows(count, tenant, most, queue)
    return bool(row[0] >= most)


@writes("claim", is_of_all=True)
def claim(
    worker: str,
    per_tenant: int,
    per_tenant_here: int | None = None,
    slots: Slots = ONE_SLOT,
    queue: str = "",
) -> Operation[Job | None]:
    """Assign the next waiting job of a queue to the worker and mark it as in progress; return None
    if no job waits. The queue is that of an agent, or the empty one of all models.

    A job waits if it has no owner or its owner has expired. The next job is the oldest one of the
    tenant with the fewest jobs in progress. The queue skips a tenant that has `per_tenant` jobs in
    progress at all workers, or `per_tenant_here` at this worker (None means no limit), and an API
    key with as many jobs in progress as its limit for concurrent requests.

    A deferred job is never next while another job could be claimed. It uses an idle slot before its
    `begin_by`, and any free slot afterwards; the most urgent of a tenant is first. A job that is
    not deferred ignores the jobs in idle slots: if it needs the slot of one, or its place in the
    limit of the tenant or of the key, that job returns to the queue. Of the jobs of a tenant's key,
    those that continue a `recent` one are first, unless a deferred job is due.

    A job of an expired worker loses the events after its resume point, and its `crashes` are
    incremented. A large job is returned without its request and its items, and flagged as partial:
    `find_job` returns all of it.
    """
    # Without `query_rows`, because this runs frequently.
    yield Query("lock_worker", (leases.QUEUE,))
    here = per_tenant if per_tenant_here is None else per_tenant_here
    limits = (per_tenant, worker, here, (yield NOW), slots.free, slots.idle, slots.idle_per_tenant)
    rows = yield Query("next_waiting", (*limits, queue))
    if not rows:
        return None
    seq, is_takeover, rank, tenant, key, *limits_reached = rows[0]
    if slots.recent and not is_takeover and rank != DUE:
        seq = (yield from _related(tenant, key, rank, slots.recent)) or seq
    claimed = yield Query("claim", (seq, worker, is_takeover, int(rank == IDLE)))
    if not claimed:  # its worker is alive after all, or has just finished it
        return None
    yield from leases.revive(worker, claimed)
    over = (slots.free <= 0, *limits_reached)
    if (
        rank == AT_ONCE
        and any(over)
        and (returned := (yield from _make_room(worker, tenant, key, over)))
    ):
        yield Changed([*returned, JOBS])
    if is_takeover:
        yield Changed([row[0] for row in (yield from leases.drop_unfinished(seq))])
    yield Query("start", (seq,))
    found = yield Query("job_by_seq", (seq, FEW_BYTES))
    return (yield from _job(found[0], few=True)) if found else None


def _related(
    tenant: str, key: str, rank: int, recent: Collection[tuple[str, str]]
) -> Operation[int | None]:
    """Return the oldest waiting job of a tenant's key that continues a recent one, or None."""
    if all(owner != tenant for owner, _ in recent):
        return None
    rows = yield from query_rows("related", tenant, key, int(rank != AT_ONCE), MOST_RELATED)
    return next((seq for seq, continuation in rows if (tenant, continuation) in recent), None)


def _make_room(worker: str, tenant: str, key: str, over: Sequence[int]) -> Operation[list[str]]:
    """Return jobs in idle slots to the queue, for one of a tenant's key; return their responses."""
    rows = yield from query_rows("in_idle_slots", worker, tenant, key)
    return (yield from leases.put_back([(seq,) for seq in to_return(rows, over)]))


def to_return(rows: Sequence[Row], over: Sequence[int]) -> list[int]:
    """Return the fewest jobs that must end to leave room for another one; of equals, the newest.

    A row is a job in an idle slot, and whether it counts for each limit: the slots of the worker,
    the tenant's jobs, the key's. `over` says which of these limits is reached.
    """
    open_limits = {place for place, is_over in enumerate(over) if is_over}
    found = []
    while open_limits and rows:
        seq, *counts = max(rows, key=lambda row: sum(row[1 + place] for place in open_limits))
        relieved = {place for place in open_limits if counts[place]}
        if not relieved:
            break
        open_limits -= relieved
        found.append(seq)
        rows = [row for row in rows if row[0] != seq]
    return sorted(found)


@writes("pin")
def pin(job: Job, queue: str) -> Operation[bool]:
    """Move a job to another queue, where it waits if its worker leaves it; return False if it is
    outdated.
    """
    return (yield from first("pin", job.response.id, job.version, queue)) is not None


@reads("waiting_queues", is_of_all=True)
def waiting_queues() -> Operation[Sequence[str]]:
    """Return the queues of agents with jobs that wait, or that an expired worker owns."""
    waiting = [row[0] for row in (yield from query_rows("queues_of_agents"))]
    claimed = yield from query_rows("claimed_of_agents")
    return [*{*waiting, *(queue for _, queue, is_expired, *_ in claimed if is_expired)}]


@reads("waiting_in_queue", is_of_all=True)
def waiting_in(queue: str, most: int) -> Operation[Sequence[tuple[str, str]]]:
    """Return the tenants and the IDs of the responses that wait in a queue, at most `most`."""
    return [(tenant, one) for tenant, one in (yield from query_rows("waiting_in", queue, most))]


@writes("advance")
def advance(job: Job, progress: Progress) -> Operation[Job | None]:
    """Store progress; return the updated job, or None if `job` is not the newest version."""
    yield Changed([job.response.id])
    next_number = max(job.next_number, event_log.next_number(progress.frames))
    created = [item for _, item in progress.output]
    sizes = event_log.size_of(progress.frames), extent_of(created)[1]
    values = (
        job.response.id,
        job.version,
        next_number,
        int(progress.is_resume_point),
        progress.checkpoint,
    )
    row = yield from first("advance", *values, *sizes, steps.growth_of(progress.steps))
    if row is None:
        return None
    yield from event_log.append(row[0], progress.frames)
    before = len(job.response.input)
    rows = [
        (row[0], before + index, 1, item.id, sealed_column(item.sealed), item.body)
        for index, item in progress.output
    ]
    yield from query_many("put_item", rows)
    if progress.steps:
        yield from steps.put(row[0], progress.steps)
    return replace(
        job,
        version=job.version + 1,
        next_number=next_number,
        resume_number=next_number if progress.is_resume_point else job.resume_number,
        response=replace(job.response, output=(*job.response.output, *created)),
        checkpoint=job.checkpoint if progress.checkpoint is None else progress.checkpoint,
    )


@writes("finish")
def finish(
    job: Job,
    response: StoredResponse,
    frames: Sequence[EventFrames] = (),
    *,
    append: bool = False,
    announcement: Announcement | None = None,
    last_steps: Sequence[StepWrite] = (),
) -> Operation[bool]:
    """End a job with the final state of its response; return False, and store nothing, if `job` is
    outdated.

    Stores the response as `save` does, its last events, and a delivery to each webhook endpoint of
    the tenant that subscribes to the announcement, all in one transaction. The steps of an agent,
    with its last ones, remain if the response is stored.
    """
    yield Changed([response.id])
    shift: int = yield SHIFT
    response = dated(response, shift)
    row = yield from first("finish", job.response.id, job.version)
    if row is None:
        return False
    seq, log_bytes, step_bytes = row
    drops_log = (
        bool(job.next_number) and not response.is_streamed
    )  # no client replays the events of its open items
    stored = step_bytes if drops_log else log_bytes
    if step_bytes and not response.is_stored:
        yield from query_rows("drop_steps", seq)
        stored -= step_bytes
    elif last_steps:
        yield from steps.put(seq, last_steps)
        stored += steps.growth_of(last_steps)
    sizes = stored + event_log.size_of(frames), *extent_of(response.input, response.output)
    yield from query_rows(
        "end_response", seq, response.status, response.body, response.expires_at, *sizes
    )
    yield from query_rows("drop_output", seq)
    yield from query_many("put_item", [row for row in item_rows(seq, response) if row[2]])
    for item in response.output:
        if item.blob is not None:
            yield from item_blobs.use_by_response(seq, response.tenant, item)
    if drops_log:
        yield from query_rows("drop_log", seq)
    yield from event_log.append(seq, frames)
    position = yield from locked_position(response)
    yield from leave_conversation(response, position, append)
    yield from facts.put(response.facts)
    if announcement is not None:
        yield from announce(
            response.tenant, replace(announcement, created_at=announcement.created_at + shift)
        )
    return True


@reads("find_job")
def find_job(tenant: str, response_id: str, *, few: bool = False) -> Operation[Job | None]:
    """Return the current job of a response, whichever worker owns it, or None.

    With `few`, a large job is returned as `claim` returns it.
    """
    row = yield from first("job_by_id", response_id, tenant, FEW_BYTES)
    if row and not few and _is_large(row):
        yield from announce_read(row[-3], row[-2] + row[-1])
        row = yield from first("job_by_id", response_id, tenant, ANY_SIZE)
    return (yield from _job(row, few)) if row else None


@reads("backlog", is_of_all=True)
def backlog(lead: int = 0) -> Operation[Backlog]:
    """Return the number of waiting jobs and deliveries of all tenants together.

    A deferred job is overdue if it still waits `lead` seconds after it can use any slot.
    """
    (row,) = yield from query_rows("backlog", (yield NOW) - lead)
    return Backlog(*row)


def _is_large(row: Row) -> bool:
    """Return whether a job is so large that it is read in a separate step."""
    *_, items, requested, size = row
    return bool(items > FEW_ITEMS or requested > FEW_BYTES or size > FEW_BYTES)


def _job(row: Row, few: bool) -> Operation[Job | None]:
    """Create a job from its row. With `few`, omit the large parts of a large job."""
    (
        _,
        response_id,
        tenant,
        request,
        version,
        next_number,
        resume_number,
        attempt,
        crashes,
        checkpoint,
        *rest,
    ) = row[:17]
    key_id, tokens, cost, models, uses_idle, continuation, queue = rest
    is_partial = few and _is_large(row)
    response = yield from load_at(
        tenant, response_id, 0, is_partial
    )  # even an expired one, because it is still running
    if response is None:
        return None
    job = Job(
        *(response, request, version, next_number, resume_number, attempt, crashes),
        Reservation(key_id, tokens, cost, tuple(json.loads(models))),
        checkpoint,
        uses_idle=bool(uses_idle),
        continuation=continuation,
        queue=queue,
    )
    if is_partial:
        partial = replace(response, input=(), output=(), is_partial=True)
        return replace(
            job,
            response=partial,
            request=b"",
            checkpoint=b"",
            is_partial=True,
            items=row[-3],
            size=row[-2] + row[-1],
        )
    return job
