"""Promises about background work: the queue, the fencing, the log, and the jobs of a dead
worker.
"""

import asyncio
import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import api_keys, event_log, leases, webhooks
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.records.jobs import EventFrames, Job, LockResult, Progress, Reservation
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.records.tenants import Announcement, ApiKey, KeyLimits, WebhookEndpoint
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import T, hold, new_items, new_response, same

ALL_TENANTS = 1_000_000


async def _queue(
    store: Store, *, tenant: str = T, key: str = "", until: int | None = None
) -> StoredResponse:
    queued = new_response(new_items("question"), status="queued", until=until)
    queued = replace(queued, is_streamed=True, tenant=tenant)
    outcome = await store.write(
        stored_jobs.enqueue, queued, b"request", [EventFrames(0, 1, b"01")], None, Reservation(key)
    )
    hold(outcome is LockResult.DONE, f"a job was not queued: {outcome}")
    return queued


async def _claim(store: Store, worker: str) -> Job:
    job = await store.write(stored_jobs.claim, worker, ALL_TENANTS)
    if job is None:
        raise AssertionError("a waiting job cannot be claimed")
    return job


async def _advance(store: Store, job: Job, progress: Progress) -> Job:
    newer = await store.write(stored_jobs.advance, job, progress)
    if newer is None:
        raise AssertionError("the newest version of a job cannot be advanced")
    return newer


async def _end(store: Store, *responses: StoredResponse) -> None:
    for one in responses:
        while (job := await store.read(stored_jobs.find_job, one.tenant, one.id)) is not None:
            await store.write(stored_jobs.finish, job, replace(job.response, status="failed"))
        await store.write(stored_responses.delete, one.tenant, one.id)


async def _log(store: Store, one: StoredResponse, after: int = -1) -> list[tuple[int, int, bytes]]:
    tail = await store.read(event_log.tail, one.tenant, one.id, after)
    return (
        [] if tail is None else [(frames.first, frames.last, frames.body) for frames in tail.frames]
    )


async def _is_created_once(store: Store) -> None:
    """A queued response is claimed once, built step by step, and ends as its worker decides."""
    queued = await _queue(store)
    worker = new_id("worker")
    job = await _claim(store, worker)
    hold(
        job.response.id == queued.id and job.request == b"request",
        "another job was claimed than was queued",
    )
    hold((job.attempt, job.crashes, job.next_number) == (1, 0, 2), f"a new job is {job}")
    hold(
        await store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS) is None,
        "a job was claimed twice",
    )
    item = StoredItem(new_id("msg"), b"done", "sealed")
    job = await _advance(
        store, job, Progress([EventFrames(2, 4, b"234")], [(0, item)], is_resume_point=True)
    )
    found = await store.read(stored_responses.load, T, queued.id)
    same(found, replace(queued, status="in_progress", output=[item]))
    end = replace(job.response, status="completed", body=b"end", output=[item, *new_items("more")])
    hold(
        await store.write(stored_jobs.finish, job, end, [EventFrames(5, 5, b"5")]),
        "the newest version of a job cannot be finished",
    )
    same(await store.read(stored_responses.load, T, queued.id), end)
    hold(
        await store.read(stored_jobs.find_job, T, queued.id) is None,
        "a job that has ended still exists",
    )
    log = await _log(store, queued)
    hold(log == [(0, 1, b"01"), (2, 4, b"234"), (5, 5, b"5")], f"the log is {log}")
    hold(await _log(store, queued, 3) == log[1:], "a log read from the middle does not begin there")
    hold(await _log(store, queued, 5) == [], "there are events after the last")
    await store.write(stored_responses.delete, T, queued.id)


async def _large_job_reports_its_size(store: Store) -> None:
    """A large job can be claimed without its data, and reports its size; `find_job` returns all of
    it.
    """
    for request, item in (
        (b"x" * 700_000, b"y" * 700_000),
        (b"x" * 700_000, b"y"),
        (b"x", b"y" * 700_000),
    ):
        queued = new_response([StoredItem(new_id("msg"), item)], status="queued")
        await store.write(stored_jobs.enqueue, queued, request, [])
        job = await _claim(store, new_id("worker"))
        if job.is_partial:
            least = len(request) + len(item)
            hold(
                job.items == 1 and job.size >= least,
                f"1 item and {least} bytes are {job.items} and {job.size}",
            )
            hold(
                job.response.is_partial,
                "a job without its items has a response that is not partial",
            )
        whole = await store.read(stored_jobs.find_job, T, queued.id)
        if whole is None:
            raise AssertionError("a job that is in progress is not found")
        hold(
            (whole.version, whole.request, whole.is_partial) == (job.version, request, False),
            "find_job returns another job",
        )
        same(whole.response, replace(queued, status="in_progress"))
        found = await store.read(stored_jobs.find_job, T, queued.id, few=True)
        hold(found is not None and found.version == job.version, "with `few`, the job is another")
        await _end(store, queued)


async def _is_fenced(store: Store) -> None:
    """A worker without the newest version of a job can neither advance nor finish it."""
    queued = await _queue(store)
    old = await _claim(store, new_id("worker"))
    new = await _advance(store, old, Progress([EventFrames(2, 2, b"2")]))
    end = replace(old.response, status="completed", body=b"late", output=new_items("late"))
    hold(
        await store.write(
            stored_jobs.advance, old, Progress([EventFrames(2, 9, b"late")], is_resume_point=True)
        )
        is None,
        "an old version advanced",
    )
    hold(
        await store.write(stored_jobs.finish, old, end, [EventFrames(3, 3, b"late")]) is False,
        "an old version finished",
    )
    hold(
        await _log(store, queued) == [(0, 1, b"01"), (2, 2, b"2")],
        "an old version wrote to the log",
    )
    found = await store.read(stored_jobs.find_job, T, queued.id)
    hold(
        found is not None and found.version == new.version,
        "find_job does not return the newest version",
    )
    results = await asyncio.gather(
        *(store.write(stored_jobs.finish, new, replace(end, body=b"%d" % i)) for i in range(8))
    )
    hold(sum(results) == 1, f"{sum(results)} of 8 concurrent ones finished first")
    last = await store.read(stored_responses.load, T, queued.id)
    hold(
        last is not None and last.body == b"%d" % results.index(True),
        "the result is not that of the first one",
    )
    await store.write(stored_responses.delete, T, queued.id)


async def _is_taken_over(store: Store) -> None:
    """An expired worker's jobs are claimed by another: finished parts remain, others go with their
    numbers.
    """
    queued = await _queue(store)
    dead = new_id("worker")
    heir = new_id("worker")
    job = await _claim(store, dead)
    await store.write(leases.beat, dead)
    stored = StoredItem(new_id("msg"), b"kept")
    job = await _advance(
        store, job, Progress([EventFrames(2, 3, b"23")], [(0, stored)], is_resume_point=True)
    )
    job = await _advance(store, job, Progress([EventFrames(4, 5, b"hal")], checkpoint=b"older"))
    job = await _advance(store, job, Progress(checkpoint=b"\0notes"))
    job = await _advance(store, job, Progress([EventFrames(6, 6, b"f")]))
    before = await store.read(event_log.tail, T, queued.id, -1)
    beat = (await store.read(leases.beats))[dead]
    await store.write(leases.beat, dead)
    for older in (beat, 0):
        hold(
            await store.write(leases.expire_worker, dead, older) is False,
            f"a worker with a heartbeat expired at {older}",
        )
    await _expire(store, dead)
    hold(dead not in await store.read(leases.beats), "an expired worker is still watched")
    again = await _claim(store, heir)
    hold(again.response.id == queued.id, "another job is waiting")
    hold(
        await store.write(stored_jobs.advance, job, Progress(is_resume_point=True)) is None,
        "a worker still writes to a job that another one claimed",
    )
    hold(
        dead not in await store.read(leases.beats),
        "a worker still owns a job that another one claimed",
    )
    hold(
        (again.attempt, again.crashes) == (2, 1),
        f"attempt {again.attempt}, {again.crashes} crashes",
    )
    hold(again.next_number == 7, f"used numbers are used again, from {again.next_number} on")
    hold(list(again.response.output) == [stored], "a finished item is lost")
    hold(again.checkpoint == b"\0notes", f"of the calls in progress {again.checkpoint!r} was kept")
    log = await _log(store, queued)
    hold(log == [(0, 1, b"01"), (2, 3, b"23")], f"the log is {log}")
    after = await store.read(event_log.tail, T, queued.id, -1)
    hold(
        bool(before and after and before.generation != after.generation),
        "it cannot be detected that events are missing",
    )
    await _end(store, queued)


async def _expire(store: Store, worker: str) -> None:
    beat = (await store.read(leases.beats)).get(worker, 0)
    hold(
        await store.write(leases.expire_worker, worker, beat) is True,
        "a silent worker does not expire",
    )


async def _late_worker_keeps_its_job(store: Store) -> None:
    """An expired worker keeps a job that no other claimed, and with its next heartbeat it is alive
    again.
    """
    one = await _queue(store)
    other = await _queue(store)
    late = new_id("worker")
    jobs = [await _claim(store, late), await _claim(store, late)]
    await _expire(store, late)
    hold(
        (await store.read(stored_jobs.backlog)).jobs >= 2,
        "the jobs of an expired worker do not wait",
    )
    hold(
        (await store.read(leases.owned, late)).keys() == {one.id, other.id},
        "an expired worker lost an unclaimed job",
    )
    hold(
        await store.write(stored_jobs.claim, late, ALL_TENANTS) is None,
        "a worker claimed its own job",
    )
    job = await _advance(store, jobs[0], Progress([EventFrames(2, 2, b"2")]))
    hold(
        await store.write(stored_jobs.finish, job, replace(job.response, status="completed")),
        "a late worker cannot end its job",
    )
    await store.write(leases.beat, late)
    hold(late in await store.read(leases.beats), "a worker with a new heartbeat is not watched")
    hold(
        await store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS) is None,
        "the job of a worker with a new heartbeat was claimed by another",
    )
    hold(
        await store.write(stored_jobs.advance, jobs[1], Progress()) is not None,
        "a worker with a new heartbeat cannot write",
    )
    await _end(store, one, other)


async def _claiming_is_a_sign_of_life(store: Store) -> None:
    """A job that a worker claims after it expired is its own, before its next heartbeat."""
    one = await _queue(store)
    late = new_id("worker")
    await _claim(store, late)
    await _expire(store, late)
    job = await _claim(store, new_id("worker"))
    other = await _queue(store)
    await _claim(store, late)
    hold(
        await store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS) is None,
        "the job of a living worker was claimed by another",
    )
    hold(job.crashes == 1, "a job claimed from an expired worker does not count as a crash")
    await _end(store, one, other)


async def _queue_is_bounded(store: Store) -> None:
    """Of concurrent jobs no more of a tenant wait than allowed; others can queue, and it can after
    a claim.
    """
    crowd = new_id("tenant")
    few = new_id("tenant")
    requested = [replace(new_response(status="queued"), tenant=crowd) for _ in range(16)]
    outcomes = await asyncio.gather(
        *(store.write(stored_jobs.enqueue, one, b"request", [], most=5) for one in requested)
    )
    created = [
        one for one, outcome in zip(requested, outcomes, strict=True) if outcome is LockResult.DONE
    ]
    hold(
        len(created) == 5 and outcomes.count(LockResult.FULL) == 11,
        f"of 16 jobs, 5 can wait: {outcomes}",
    )
    found = [
        one
        for one in requested
        if await store.read(stored_responses.load, crowd, one.id) is not None
    ]
    hold(found == created, "a rejected response is stored")
    other = replace(new_response(status="queued"), tenant=few)
    hold(
        await store.write(stored_jobs.enqueue, other, b"request", [], most=5) is LockResult.DONE,
        "another tenant cannot queue",
    )
    await _claim(store, new_id("worker"))
    more = replace(new_response(status="queued"), tenant=crowd)
    hold(
        await store.write(stored_jobs.enqueue, more, b"request", [], most=5) is LockResult.DONE,
        "a job in progress counts as waiting",
    )
    await _end(store, *created, other, more)


async def _one_tenant_leaves_room(store: Store) -> None:
    """A worker receives no more jobs of one tenant than it allows; it still receives those of
    others.
    """
    crowd = new_id("tenant")
    few = new_id("tenant")
    worker = new_id("worker")
    many = [await _queue(store, tenant=crowd) for _ in range(3)]
    for number in range(3):
        job = await store.write(stored_jobs.claim, worker, ALL_TENANTS, 2)
        hold(
            (job is not None) == (number < 2),
            f"with at most 2 here, claim {number + 1} returned {job}",
        )
    late = await _queue(store, tenant=few)
    job = await store.write(stored_jobs.claim, worker, ALL_TENANTS, 2)
    hold(job is not None and job.response.id == late.id, "another tenant's job is delayed")
    hold(
        await store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS, 2) is not None,
        "another worker's share counts here",
    )
    await _end(store, *many, late)


async def _keys_keep_their_concurrency(store: Store) -> None:
    """A key has no more jobs in progress than its limit; the jobs of its tenant's other keys are
    not delayed.
    """
    key = ApiKey(
        new_id("key"), T, "", new_id("digest").encode(), "", 1, limits=KeyLimits(concurrency=2)
    )
    await store.write(api_keys.put, key)
    limited = [await _queue(store, key=key.id) for _ in range(3)]
    free = await _queue(store)
    claims = [await store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS) for _ in range(4)]
    order = [job and job.response.id for job in claims]
    hold(
        order == [limited[0].id, limited[1].id, free.id, None], f"the jobs in progress are {order}"
    )
    job = await store.read(stored_jobs.find_job, T, limited[0].id)
    hold(
        job is not None
        and await store.write(stored_jobs.finish, job, replace(job.response, status="completed")),
        "it cannot end",
    )
    next_one = await store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS)
    hold(next_one is not None and next_one.response.id == limited[2].id, "a free slot is not used")
    await _end(store, *limited, free)


async def _purge_spares_running_responses(store: Store) -> None:
    """A response that expired while its job runs remains until the job has ended; then it is
    purged.
    """
    await purge(store)
    queued = await _queue(store, until=int(time.time()) - 10)
    job = await _claim(store, new_id("worker"))
    for dry_run in (True, False):
        found = (await purge(store, dry_run=dry_run))["responses"]
        hold(found == 0, f"purge(dry_run={dry_run}) deleted {found} responses in progress")
    hold(
        await store.read(stored_jobs.find_job, T, queued.id) is not None,
        "the job of an expired response is missing",
    )
    hold(
        await store.write(stored_jobs.finish, job, replace(job.response, status="completed")),
        "the job of an expired response cannot end",
    )
    hold((await purge(store))["responses"] == 1, "an expired response that has ended is not purged")


async def _is_handed_back(store: Store) -> None:
    """A job that is returned, or owned by a removed worker, waits again and does not count as
    lost.
    """
    one = await _queue(store)
    other = await _queue(store)
    worker = new_id("worker")
    await _claim(store, worker)
    await _claim(store, worker)
    owned = await store.read(leases.owned, worker)
    hold(owned.keys() == {one.id, other.id}, f"a worker of two jobs owns {owned}")
    await store.write(leases.give_back, worker, one.id)
    hold(
        (await store.read(leases.owned, worker)).keys() == {other.id},
        "a returned job is still owned",
    )
    hold(
        await store.write(leases.expire_worker, worker, None) is True, "a worker cannot be removed"
    )
    hold(await store.read(leases.owned, worker) == {}, "a removed worker still owns a job")
    again = [await _claim(store, worker) for _ in range(2)]
    hold(
        [(job.attempt, job.crashes) for job in again] == [(2, 0)] * 2,
        "a returned job counts as a crash",
    )
    await _end(store, one, other)


async def _queue_is_fair(store: Store) -> None:
    """The tenant with the fewest jobs in progress is next, its oldest first; none exceeds its
    limit.
    """
    crowd = new_id("tenant")
    few = new_id("tenant")
    worker = new_id("worker")
    many = [await _queue(store, tenant=crowd) for _ in range(4)]
    late = [await _queue(store, tenant=few) for _ in range(2)]
    order = []
    while (job := await store.write(stored_jobs.claim, worker, 2)) is not None:
        order.append(job.response.id)
    wanted = [many[0].id, late[0].id, many[1].id, late[1].id]
    hold(order == wanted, f"the order is {order} instead of {wanted}")
    await _end(store, *many, *late)


async def _claims_do_not_collide(store: Store) -> None:
    """Of many concurrent claims each receives another job."""
    queued = [await _queue(store) for _ in range(12)]
    claims = await asyncio.gather(
        *(store.write(stored_jobs.claim, new_id("worker"), ALL_TENANTS) for _ in range(16))
    )
    found = [job.response.id for job in claims if job is not None]
    hold(
        sorted(found) == sorted(one.id for one in queued),
        f"12 jobs were claimed {len(found)} times",
    )
    await _end(store, *queued)


async def _changes_are_notified(store: Store) -> None:
    """A listener is notified when a job waits, when it advanced, and when it ended."""
    received: list[str] = []
    store.on_change(received.append)
    queued = await _queue(store)
    hold(bool({"", "jobs"} & set(received)), "there was no notification that a job waits")
    job = await _claim(store, new_id("worker"))
    received.clear()
    job = await _advance(store, job, Progress([EventFrames(2, 2, b"2")]))
    hold(
        bool({"", queued.id} & set(received)), "there was no notification that a response advanced"
    )
    received.clear()
    await store.write(stored_jobs.finish, job, replace(job.response, status="completed"))
    hold(bool({"", queued.id} & set(received)), "there was no notification that a response ended")
    await store.write(stored_responses.delete, T, queued.id)


async def _announcement_comes_with_the_end(store: Store) -> None:
    """A job that cannot be finished notifies no listener."""
    endpoint = WebhookEndpoint(
        new_id("we"), T, "", "https://example.com", ["response.completed"], 1, 1, "whsec_"
    )
    await store.write(webhooks.put, endpoint)
    queued = await _queue(store)
    old = await _claim(store, new_id("worker"))
    await _advance(store, old, Progress(is_resume_point=True))
    event = Announcement(new_id("evt"), "response.completed", 1, b"{}")
    await store.write(
        stored_jobs.finish, old, replace(old.response, status="completed"), announcement=event
    )
    found = [one for one in await store.read(webhooks.deliveries) if one.endpoint.id == endpoint.id]
    hold(not found, "a rejected end was announced")
    await store.write(webhooks.delete, T, endpoint.id)
    await _end(store, queued)


async def _counts_what_waits(store: Store) -> None:
    """The backlog counts exactly the waiting jobs, and the deliveries that are due later."""
    endpoint = WebhookEndpoint(
        new_id("we"), T, "", "https://example.com", ["response.completed"], 1, 1, "whsec_"
    )
    await store.write(webhooks.put, endpoint)
    before = await store.read(stored_jobs.backlog)
    queued = [await _queue(store) for _ in range(3)]
    job = await _claim(store, new_id("worker"))
    event = Announcement(new_id("evt"), "response.completed", 1, b"{}")
    await store.write(
        stored_jobs.finish, job, replace(job.response, status="completed"), announcement=event
    )
    await _claim(store, new_id("worker"))
    found = await store.read(stored_jobs.backlog)
    waiting = found.jobs - before.jobs, found.deliveries - before.deliveries
    hold(waiting == (1, 1), f"1 job and 1 delivery wait, and {waiting} are counted")
    await store.write(webhooks.delete, T, endpoint.id)
    await _end(store, *queued)
