"""Promises about deferred jobs: which slots they use, when they begin, and what they return."""

import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import api_keys, deferred, jobs, leases, responses
from antiphon.storage.records.jobs import Deferral, LockResult, Reservation, Slots
from antiphon.storage.records.tenants import ApiKey, KeyLimits
from antiphon.storage.store import Store
from tests.store.making import T, hold, new_response

ALL_TENANTS = 1_000_000
LATER = int(time.time()) + 10 * 86_400
"""A `begin_by` that does not pass during a check."""
DUE = 1
"""A `begin_by` that has passed."""


async def _queue(
    store: Store,
    begin_by: int = 0,
    *,
    tenant: str = T,
    key: str = "",
    continuation: str = "",
    most: int | None = None,
) -> str:
    queued = replace(new_response(status="queued"), tenant=tenant)
    deferral = Deferral(begin_by, continuation)
    outcome = await store.write(
        jobs.enqueue, queued, b"", [], None, Reservation(key), most=most, deferral=deferral
    )
    return queued.id if outcome is LockResult.DONE else outcome.value


async def _claim(
    store: Store,
    worker: str,
    *,
    per_tenant: int = ALL_TENANTS,
    free: int = 1,
    idle: int = 1,
    recent: str = "",
) -> str | None:
    lately = {(T, recent)} if recent else ()
    job = await store.write(
        jobs.claim, worker, per_tenant, None, Slots(free, idle, ALL_TENANTS, lately)
    )
    return None if job is None else job.response.id


async def _end(store: Store, *ids: str, tenant: str = T) -> None:
    for one in ids:
        while (job := await store.read(jobs.find_job, tenant, one)) is not None:
            await store.write(jobs.finish, job, replace(job.response, status="failed"))
        await store.write(responses.delete, tenant, one)


async def _come_last(store: Store) -> None:
    """A deferred job is claimed after all others of any tenant, and one that is due before one that
    is not.
    """
    guest = new_id("tenant")
    later = await _queue(store, LATER + 1)
    sooner = await _queue(store, LATER)
    due = await _queue(store, DUE)
    own = [await _queue(store) for _ in range(2)]
    other = await _queue(store, tenant=guest)
    worker = new_id("worker")
    order = [await _claim(store, worker) for _ in range(7)]
    hold(set(order[:3]) == {*own, other}, f"a deferred job was claimed before another: {order}")
    hold(
        order[3:] == [due, sooner, later, None],
        f"deferred jobs were claimed in the order {order[3:]}",
    )
    await _end(store, later, sooner, due, *own)
    await _end(store, other, tenant=guest)


async def _wait_for_idle_slots(store: Store) -> None:
    """Without an idle slot only a job that is due is claimed; without a free one, only one that is
    not deferred.
    """
    later = await _queue(store, LATER)
    due = await _queue(store, DUE)
    worker = new_id("worker")
    hold(
        await _claim(store, worker, free=0, idle=0) is None,
        "a deferred job has a slot that is not free",
    )
    hold(
        await _claim(store, worker, free=1, idle=0) == due,
        "a job that is due waits for an idle slot",
    )
    hold(
        await _claim(store, worker, free=1, idle=0) is None,
        "a deferred job has a slot that is not idle",
    )
    soonest = await _queue(store)
    hold(
        await _claim(store, worker, free=0, idle=0) == soonest,
        "a job that is not deferred waits for a free slot",
    )
    await _end(store, later, due, soonest)


async def _return_their_slots(store: Store) -> None:
    """A job that needs the slot of a job in an idle slot returns the newest such job to the
    queue.
    """
    ids = [await _queue(store, LATER) for _ in range(2)]
    worker = new_id("worker")
    ids = [await _claim(store, worker) or "" for _ in ids]
    running = await store.read(jobs.find_job, T, ids[1])
    soonest = await _queue(store)
    hold(
        await _claim(store, worker, free=1) == soonest,
        "a job is not claimed although a slot is free",
    )
    hold(
        (await store.read(leases.owned, worker)).keys() == {*ids, soonest},
        "a job was returned although a slot was free",
    )
    more = await _queue(store)
    hold(await _claim(store, worker, free=0, idle=0) == more, "a job waits for one in an idle slot")
    hold(
        (await store.read(leases.owned, worker)).keys() == {ids[0], soonest, more},
        "the newest job in an idle slot still has it",
    )
    hold(
        running is not None and not await store.write(jobs.finish, running, running.response),
        "a returned job can still be ended",
    )
    again = await store.write(jobs.claim, worker, ALL_TENANTS)
    hold(
        again is not None and (again.response.id, again.crashes) == (ids[1], 0),
        "a returned job counts as a crash",
    )
    hold(
        again is not None and again.uses_idle,
        "a deferred job that is not due does not use an idle slot",
    )
    await _end(store, *ids, soonest, more)


async def _due_ones_keep_theirs(store: Store) -> None:
    """A job that was due when it was claimed is not returned for another."""
    due = await _queue(store, DUE)
    worker = new_id("worker")
    job = await store.write(jobs.claim, worker, ALL_TENANTS)
    hold(job is not None and not job.uses_idle, "a job that is due uses an idle slot")
    soonest = await _queue(store)
    hold(await _claim(store, worker, free=0, idle=0) == soonest, "a job is not claimed")
    hold(
        (await store.read(leases.owned, worker)).keys() == {due, soonest},
        "a job that is due was returned",
    )
    await _end(store, due, soonest)


async def _return_their_share(store: Store) -> None:
    """Jobs in idle slots, of any worker, fill no limit of their tenant or key for a job that is not
    deferred.
    """
    key = ApiKey(
        new_id("key"), T, "", new_id("digest").encode(), "", 1, limits=KeyLimits(concurrency=1)
    )
    await store.write(api_keys.put, key)
    here = new_id("worker")
    elsewhere = new_id("worker")
    one = await _queue(store, LATER, key=key.id)
    other = await _queue(store, LATER + 1)
    hold(await _claim(store, elsewhere, per_tenant=2) == one, "a deferred job is not claimed")
    hold(
        await _claim(store, elsewhere, per_tenant=2) == other, "another deferred job is not claimed"
    )
    third = await _queue(store, LATER + 2)
    hold(
        await _claim(store, here, per_tenant=2) is None,
        "deferred jobs exceed the limit of their tenant",
    )
    soonest = await _queue(store, key=key.id)
    hold(
        await _claim(store, here, per_tenant=2) == soonest,
        "a job waits for deferred jobs of its tenant",
    )
    hold(
        (await store.read(leases.owned, elsewhere)).keys() == {other},
        "more or other jobs than necessary were returned",
    )
    await _end(store, one, other, third, soonest)


async def _are_queued_apart(store: Store) -> None:
    """Deferred jobs do not fill the queue of the others, nor the others theirs."""
    deferred = [await _queue(store, LATER, most=1) for _ in range(2)]
    others = [await _queue(store, most=1) for _ in range(2)]
    hold(
        [deferred[1], others[1]] == [LockResult.FULL.value] * 2,
        "a second job can wait where one may",
    )
    hold(
        {LockResult.FULL.value}.isdisjoint((deferred[0], others[0])),
        "a queue is full without a job",
    )
    await _end(store, deferred[0], others[0])


async def _are_counted(store: Store) -> None:
    """The backlog counts waiting deferred jobs separately, and those that wait after their
    window.
    """
    before = await store.read(jobs.backlog, 600)
    recent = int(time.time()) - 300
    ids = [await _queue(store, begin_by) for begin_by in (LATER, recent, DUE, 0)]
    found = await store.read(jobs.backlog, 600)
    waiting = (
        found.jobs - before.jobs,
        found.deferred - before.deferred,
        found.overdue - before.overdue,
    )
    hold(
        waiting == (1, 3, 1),
        f"one job and three deferred ones wait, one of them overdue, and {waiting} are counted",
    )
    await _end(store, *ids)


async def _are_listed(store: Store) -> None:
    """Deferred jobs that wait are listed in pages, oldest first, those of one tenant alone."""
    mine, other = new_id("tenant"), new_id("tenant")
    ids = [await _queue(store, LATER + shift, tenant=mine) for shift in (1, 0)]
    foreign = await _queue(store, LATER, tenant=other)
    soon = await _queue(store, tenant=mine)
    first = await store.read(deferred.page, mine, 1)
    listed = [(one.response_id, one.begin_by) for one in first.data]
    hold(listed == [(ids[0], LATER + 1)] and first.has_more, f"the first page has {first}")
    second = await store.read(deferred.page, mine, 1, ids[0])
    listed = [(one.response_id, one.begin_by) for one in second.data]
    hold(listed == [(ids[1], LATER)] and not second.has_more, f"the second page has {second}")
    every = [one.response_id for one in (await store.read(deferred.page, None, 1_000)).data]
    hold({*ids, foreign} <= {*every}, "the list of all tenants lacks deferred jobs")
    hold(soon not in every, "a job that is not deferred is listed")
    unknown = await store.read(deferred.page, mine, 1, foreign)
    hold(unknown.unknown == "after", "a page begins after another tenant's job")
    await _end(store, *ids, soon, tenant=mine)
    await _end(store, foreign, tenant=other)


async def _continue_where_the_last_ran(store: Store) -> None:
    """A worker first receives jobs that continue one that it ran, of the same kind; others keep
    their order.
    """
    worker = new_id("worker")
    ids = [await _queue(store, continuation=name) for name in ("a", "b", "b", "")]
    late = [await _queue(store, LATER, continuation=name) for name in ("a", "b")]
    order = [await _claim(store, worker, recent="b") for _ in range(6)]
    hold(
        order == [ids[1], ids[2], ids[0], ids[3], late[1], late[0]],
        f"the order of related jobs is {order}",
    )
    await _end(store, *ids, *late)
