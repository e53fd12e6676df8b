"""Background work: the queue, the fence, the event log, and the recovery of a dead worker's jobs.

The row of a response is its job: it waits in the queue, has one owner, and is fenced by a version. A worker is
identified by a name. Its heartbeat shows that it is alive. If the heartbeat stops, other workers can call
`expire_worker`. An expired worker keeps its jobs until other workers claim them, and its next heartbeat makes it alive
again.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import starmap

from antiphon.storage.changes import INGESTIONS, JOBS
from antiphon.storage.operations import facts, item_blobs
from antiphon.storage.operations.responses import (
    ANY_SIZE,
    answer,
    dated,
    extent_of,
    held_position,
    insert,
    item_rows,
    leave_conversation,
    load_at,
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
    Rows,
    announce_read,
    ask,
    ask_many,
    first,
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
    Frames,
    Job,
    LockResult,
    Progress,
    Reservation,
    Slots,
    Tail,
)
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Announcement, Reply

QUEUE = ""
"""The worker without a name. Every worker that claims a job locks its row."""

FRAMES_AT_ONCE = 256
"""Maximum number of frames of a log to read in one step."""

FRAME_BYTES = 64 * 1024
"""Maximum bytes of these frames: a reader holds them in memory until its client has read them."""


AT_ONCE, DUE, IDLE = range(3)
"""The ranks of waiting jobs, as `next_waiting` orders them: those that are not deferred, those that can no longer wait
for an idle slot, and those that need one."""

MOST_RELATED = 256
"""Waiting jobs among which one that continues a recent job is searched."""

NEARLY = 100
"""Free places in a queue below which requests are queued one at a time: more than can be queued concurrently."""


@writes("enqueue")
def enqueue(
    response: StoredResponse,
    request: bytes,
    frames: Sequence[Frames],
    reply: Reply | None = None,
    taken: Reservation = NOTHING_RESERVED,
    *,
    most: int | None = None,
    deferral: Deferral = SOONEST,
) -> Operation[LockResult]:
    """Store a queued response with its request, and lock its conversation.

    Nothing is stored if the result is `BUSY` (another response holds the conversation's lock), `UNKNOWN` (the
    conversation does not exist) or `FULL` (the tenant already has `most` waiting jobs; None means no limit). The
    limit also holds for concurrent requests, and separately for deferred jobs and for others.
    """
    yield Changed([response.id, JOBS])
    shift: int = yield SHIFT
    response = dated(response, shift)
    if most is not None and (
        yield from _is_full("count_deferred" if deferral.begin_by else "count_waiting", response.tenant, most)
    ):
        return LockResult.FULL
    if response.conversation_id is not None:
        outcome = yield from hold(response.tenant, response.conversation_id, response.id, None)
        if outcome is not LockResult.DONE:
            return outcome
        # The end of the conversation is only certain from now on.
        response = replace(response, conversation_end=(yield from held_position(response)))
    if not (yield from answer(reply, response.id)):
        yield from ask("let_go", response.conversation_id, response.id)
        return LockResult.BUSY
    seq = yield from insert(response)
    size = _size(frames)
    reserved = (taken.key_id, taken.tokens, size, taken.cost, json.dumps(taken.models))
    waits = deferral.begin_by and deferral.begin_by + shift, deferral.continuation
    yield from ask("put_job", seq, response.tenant, _next(frames), request, *reserved, *waits)
    yield from _log(seq, frames)
    yield from facts.put(response.facts)
    return LockResult.DONE


def _is_full(count: str, tenant: str, most: int) -> Operation[bool]:
    """Return whether `most` jobs of a tenant wait, of those that `count` counts.

    Exact, even if other processes queue jobs concurrently.
    """
    (row,) = yield from ask(count, tenant, most)
    if most - NEARLY <= row[0] < most:
        yield from ask("lock_worker", QUEUE)
        (row,) = yield from ask(count, tenant, most)
    return bool(row[0] >= most)


@writes("lock")
def hold(tenant: str, conversation_id: str, response_id: str, worker: str | None) -> Operation[LockResult]:
    """Lock the conversation for a response that the worker runs."""
    row = yield from first("lock_conversation", conversation_id, tenant)
    if row is None:
        return LockResult.UNKNOWN
    _, holder, is_expired = row
    if holder not in (None, response_id) and not is_expired:
        return LockResult.BUSY
    yield from _revive(worker, (yield from ask("hold", conversation_id, response_id, worker)))
    return LockResult.DONE


def _revive(worker: str | None, rows: Rows) -> Operation[None]:
    """Make an expired worker alive again when it acquires something. The last column is whether it had expired."""
    if worker is not None and rows and rows[0][-1]:
        yield from ask("revive", worker)


@writes("claim", is_of_all=True)
def claim(
    worker: str, per_tenant: int, per_tenant_here: int | None = None, slots: Slots = ONE_SLOT
) -> Operation[Job | None]:
    """Assign the next waiting job to the worker and mark it as in progress; return None if no job waits.

    A job waits if it has no owner or its owner has expired. The next job is the oldest one of the tenant with the
    fewest jobs in progress. The queue skips a tenant that has `per_tenant` jobs in progress at all workers, or
    `per_tenant_here` at this worker (None means no limit), and an API key with as many jobs in progress as its
    limit for concurrent requests.

    A deferred job is never next while another job could be claimed. It uses an idle slot before its `begin_by`,
    and any free slot afterwards; the most urgent of a tenant is first. A job that is not deferred ignores the jobs
    in idle slots: if it needs the slot of one, or its place in the limit of the tenant or of the key, that job
    returns to the queue. Of the jobs of a tenant's key, those that continue a `recent` one are first, unless a
    deferred job is due.

    A job of an expired worker loses the events since the last `keep`, and its `lost`
    counter is incremented. A large job is returned without its request and its items, and flagged as partial:
    `find_job` returns all of it.
    """
    # Without `ask`, because this runs frequently.
    yield Query("lock_worker", (QUEUE,))
    here = per_tenant if per_tenant_here is None else per_tenant_here
    limits = (per_tenant, worker, here, (yield NOW), slots.free, slots.idle, slots.idle_per_tenant)
    rows = yield Query("next_waiting", limits)
    if not rows:
        return None
    seq, is_lost, rank, tenant, key, *limits_reached = rows[0]
    if slots.recent and not is_lost and rank != DUE:
        seq = (yield from _related(tenant, key, rank, slots.recent)) or seq
    claimed = yield Query("claim", (seq, worker, is_lost, int(rank == IDLE)))
    if not claimed:  # its worker is alive after all, or has just finished it
        return None
    yield from _revive(worker, claimed)
    over = (slots.free <= 0, *limits_reached)
    if rank == AT_ONCE and any(over) and (returned := (yield from _make_room(worker, tenant, key, over))):
        yield Changed([*returned, JOBS])
    if is_lost:
        yield Changed([row[0] for row in (yield from _drop_half_made(seq))])
    yield Query("start", (seq,))
    found = yield Query("job_by_seq", (seq, FEW_BYTES))
    return (yield from _job(found[0], few=True)) if found else None


def _related(tenant: str, key: str, rank: int, recent: Collection[tuple[str, str]]) -> Operation[int | None]:
    """Return the oldest waiting job of a tenant's key that continues a recent one, or None."""
    if all(owner != tenant for owner, _ in recent):
        return None
    rows = yield from ask("related", tenant, key, int(rank != AT_ONCE), MOST_RELATED)
    return next((seq for seq, continuation in rows if (tenant, continuation) in recent), None)


def _make_room(worker: str, tenant: str, key: str, over: Sequence[int]) -> Operation[list[str]]:
    """Return jobs in idle slots to the queue, for one of a tenant's key; return their responses."""
    rows = yield from ask("in_idle_slots", worker, tenant, key)
    return (yield from _put_back([(seq,) for seq in to_return(rows, over)]))


def to_return(rows: Sequence[Row], over: Sequence[int]) -> list[int]:
    """Return the fewest jobs that must end to leave room for another one; of equals, the newest.

    A row is a job in an idle slot, and whether it counts for each limit: the slots of the worker, the tenant's jobs,
    the key's. `over` says which of these limits is reached.
    """
    open_limits, found = {place for place, is_over in enumerate(over) if is_over}, []
    while open_limits and rows:
        seq, *counts = max(rows, key=lambda row: sum(row[1 + place] for place in open_limits))
        relieved = {place for place in open_limits if counts[place]}
        if not relieved:
            break
        open_limits -= relieved
        found.append(seq)
        rows = [row for row in rows if row[0] != seq]
    return sorted(found)


@writes("advance")
def advance(job: Job, progress: Progress) -> Operation[Job | None]:
    """Store progress; return the updated job, or None if `job` is not the newest version."""
    yield Changed([job.response.id])
    next_number = max(job.next_number, _next(progress.frames))
    made = [item for _, item in progress.output]
    sizes = _size(progress.frames), extent_of(made)[1]
    values = job.response.id, job.version, next_number, int(progress.keep), progress.called
    row = yield from first("advance", *values, *sizes)
    if row is None:
        return None
    yield from _log(row[0], progress.frames)
    before = len(job.response.input)
    rows = [
        (row[0], before + index, 1, item.id, sealed_column(item.sealed), item.body) for index, item in progress.output
    ]
    yield from ask_many("put_item", rows)
    return replace(
        job,
        version=job.version + 1,
        next_number=next_number,
        kept_number=next_number if progress.keep else job.kept_number,
        response=replace(job.response, output=(*job.response.output, *made)),
        called=job.called if progress.called is None else progress.called,
    )


@writes("finish")
def finish(
    job: Job,
    response: StoredResponse,
    frames: Sequence[Frames] = (),
    *,
    append: bool = False,
    announcement: Announcement | None = None,
) -> Operation[bool]:
    """End a job with the final state of its response; return False, and store nothing, if `job` is outdated.

    Stores the response as `save` does, its last events, and a delivery to each webhook endpoint of the tenant that
    subscribes to the announcement, all in one transaction.
    """
    yield Changed([response.id])
    shift: int = yield SHIFT
    response = dated(response, shift)
    row = yield from first("finish", job.response.id, job.version)
    if row is None:
        return False
    seq, log_bytes = row
    drops_log = bool(job.next_number) and not response.is_streamed  # no client replays the events of its open items
    kept = 0 if drops_log else log_bytes
    sizes = kept + _size(frames), *extent_of(response.input, response.output)
    yield from ask("end_response", seq, response.status, response.body, response.expires_at, *sizes)
    yield from ask("drop_output", seq)
    yield from ask_many("put_item", [row for row in item_rows(seq, response) if row[2]])
    for item in response.output:
        if item.blob is not None:
            yield from item_blobs.use_by_response(seq, response.tenant, item)
    if drops_log:
        yield from ask("drop_log", seq)
    yield from _log(seq, frames)
    position = yield from held_position(response)
    yield from leave_conversation(response, position, append)
    yield from facts.put(response.facts)
    if announcement is not None:
        yield from announce(response.tenant, replace(announcement, created_at=announcement.created_at + shift))
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


@reads("owned", is_of_all=True)
def owned(worker: str) -> Operation[Mapping[str, int]]:
    """Return the worker's jobs as a mapping from response id to job version."""
    rows = yield from ask("owned", worker)
    return {row[0]: row[1] for row in rows}


@reads("held", is_of_all=True)
def held(worker: str) -> Operation[list[str]]:
    """Return the responses for which the worker holds a conversation lock or an idempotency key."""
    return [row[0] for row in (yield from ask("held", worker))]


@writes("release", is_of_all=True)
def release(worker: str, response_id: str) -> Operation[None]:
    """Release the lock and the key that the worker holds for a response."""
    yield Changed([response_id])
    yield from ask("release_conversation", worker, response_id)
    yield from ask("release_key", worker, response_id)


@writes("heartbeat", is_of_all=True)
def beat(worker: str) -> Operation[None]:
    """Record that the worker is alive."""
    yield from ask("beat", worker)


@reads("heartbeats", is_of_all=True)
def beats() -> Operation[Mapping[str, int]]:
    """Return the last heartbeat of each unexpired worker that owns anything. It changes while a worker is alive."""
    rows = yield from ask("beats")
    return {row[0]: row[1] for row in rows}


@writes("expire_worker", is_of_all=True)
def expire_worker(worker: str, beat: int | None) -> Operation[bool]:
    """Release everything that a worker owns, if its last heartbeat is still `beat`; return False if it is not.

    Other workers can then claim its jobs, conversations and idempotency keys. The worker can still finish jobs that
    no other worker has claimed. `beat` is None if the worker itself calls this when it stops: its jobs wait again,
    without counting an attempt, and everything else is released.
    """
    changed = yield from (retire(worker) if beat is None else expire(worker, beat))
    if changed:
        yield Changed([*changed, JOBS])
    return changed is not None


def expire(worker: str, beat: int) -> Operation[list[str] | None]:
    """Release a dead worker's leases; return the responses of its jobs, or None if the worker is alive."""
    query, values = ("expire", (worker, beat)) if beat else ("expire_silent", (worker,))
    if not (yield from ask(query, *values)):
        return None
    waiting = [row[0] for row in (yield from ask("owned", worker))]
    if (yield from ask("owned_ingestions", worker)):
        waiting.append(INGESTIONS)
    yield from ask("forget_expired")
    return waiting


def retire(worker: str) -> Operation[list[str]]:
    """Release everything that a stopping worker owns; return the changed responses."""
    yield from ask("retire", worker)
    changed = yield from _put_back((yield from ask("jobs_of", worker)))
    if (yield from ask("release_ingestions", worker)):
        changed.append(INGESTIONS)
    yield from ask("let_all_go", worker)
    yield from ask("free_all_keys", worker)
    return changed


@writes("release_job", is_of_all=True)
def give_back(worker: str, response_id: str) -> Operation[None]:
    """Return one of the worker's jobs to the queue, without the events since the last `keep`."""
    if changed := (yield from _put_back((yield from ask("job_of", worker, response_id)))):
        yield Changed([*changed, JOBS])


def _put_back(rows: Rows) -> Operation[list[str]]:
    changed: list[Row] = []
    for row in rows:
        changed += yield from _drop_half_made(row[0])
        yield from ask("put_back", row[0])
    return [row[0] for row in changed]


def _drop_half_made(seq: int) -> Operation[Rows]:
    """Delete the events since the last `keep`; return the id of the response."""
    yield from ask("drop_events", seq)
    return (yield from ask("next_generation", seq))


@reads("backlog", is_of_all=True)
def backlog(lead: int = 0) -> Operation[Backlog]:
    """Return the number of waiting jobs and deliveries of all tenants together.

    A deferred job is overdue if it still waits `lead` seconds after it can use any slot.
    """
    (row,) = yield from ask("backlog", (yield NOW) - lead)
    return Backlog(*row)


@reads("tail")
def tail(tenant: str, response_id: str, after: int) -> Operation[Tail | None]:
    """Return the events of a response with numbers greater than `after`, or None if the response is unknown.

    The first frames can begin before `after`; frames that end before it are omitted.
    """
    now: int = yield NOW
    rows = yield Query("tail", (response_id, tenant, now))  # without `ask`, because this runs frequently
    if not rows:
        return None
    seq, status, is_streamed, generation, item_bytes = rows[0]
    if item_bytes > FEW_BYTES:  # the events are as large, and SQLite reads a whole row to compare its key
        yield from announce_read(1, item_bytes)
    sizes = yield Query("event_sizes", (seq, after, FRAMES_AT_ONCE))
    frames: Rows = []
    if sizes:
        count, size = _fitting([row[0] for row in sizes])
        if size > FRAME_BYTES:
            yield from announce_read(count, size)
        frames = yield Query("events_after", (seq, after, count))
    return Tail(status, bool(is_streamed), generation, list(starmap(Frames, frames)))


def _fitting(sizes: Sequence[int]) -> tuple[int, int]:
    """Return how many frames to read in one step (at least one), and their bytes."""
    count = size = 0
    for each in sizes:
        if count and size + each > FRAME_BYTES:
            break
        count, size = count + 1, size + each
    return count, size


def _is_large(row: Row) -> bool:
    """Return whether a job is so large that it is read in a separate step."""
    *_, items, asked, size = row
    return bool(items > FEW_ITEMS or asked > FEW_BYTES or size > FEW_BYTES)


def _job(row: Row, few: bool) -> Operation[Job | None]:
    """Create a job from its row. With `few`, omit the large parts of a large job."""
    _, response_id, tenant, request, version, next_number, kept_number, attempt, lost, called, *rest = row[:16]
    key_id, tokens, cost, models, uses_idle, continuation = rest
    is_partial = few and _is_large(row)
    response = yield from load_at(
        tenant, response_id, 0, is_partial
    )  # even an expired one, because it is still running
    if response is None:
        return None
    job = Job(
        *(response, request, version, next_number, kept_number, attempt, lost),
        Reservation(key_id, tokens, cost, tuple(json.loads(models))),
        called,
        uses_idle=bool(uses_idle),
        continuation=continuation,
    )
    if is_partial:
        partial = replace(response, input=(), output=(), is_partial=True)
        return replace(
            job, response=partial, request=b"", called=b"", is_partial=True, items=row[-3], size=row[-2] + row[-1]
        )
    return job


def _log(seq: int, frames: Sequence[Frames]) -> Operation[None]:
    yield from ask_many("put_events", [(seq, one.first, one.last, one.body) for one in frames])


def _size(frames: Sequence[Frames]) -> int:
    size = 0
    for one in frames:
        size += len(one.body)
    return size


def _next(frames: Sequence[Frames]) -> int:
    return frames[-1].last + 1 if frames else 0
