"""Promises about the bytes that a tenant has stored."""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import (
    conversations,
    event_log,
    idempotency,
    jobs,
    leases,
    responses,
)
from antiphon.storage.operations import sizes as stored_sizes
from antiphon.storage.records.jobs import EventFrames, Job, LockResult, Progress
from antiphon.storage.records.responses import StoredConversation, StoredItem, StoredResponse
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import hold, new_items, new_response, size_of


async def _saved_bytes_are_exact(store: Store) -> None:
    """The bytes that a tenant has stored are exact whatever is saved, replaced, changed or
    deleted.
    """
    tenant = new_id("tenant")
    response = replace(new_response(new_items("a", "b"), new_items("c")), tenant=tenant)
    larger = replace(response, body=b"{}" * 50, output=new_items("cdef"))
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", tenant)
    items = new_items("d", "e")
    await store.save(response)
    await _hold_size(store, tenant, _size(response))
    await store.save(larger)
    await _hold_size(store, tenant, _size(larger))
    await store.write(conversations.create, conversation, items)
    await _hold_size(store, tenant, _size(larger), 2, size_of(items))
    await store.write(conversations.add, tenant, conversation.id, more := new_items("f"))
    await store.write(conversations.update, tenant, conversation.id, b'{"a":"b"}')
    await _hold_size(store, tenant, _size(larger), 9, size_of([*items, *more]))
    await store.write(conversations.delete_item, tenant, conversation.id, items[1].id)
    found = await store.read(conversations.load, tenant, conversation.id)
    left = size_of([items[0], *more])
    hold(
        found is not None and (found.items, found.size) == (2, left),
        f"its items are counted as {found}",
    )
    await _hold_size(store, tenant, _size(larger), 9, left)
    hold(await store.write(responses.delete, tenant, larger.id), "a response was not deleted")
    await _hold_size(store, tenant, 9, left)
    await store.write(conversations.delete, tenant, conversation.id)
    await store.save(replace(larger, expires_at=1))
    await purge(store)
    await _hold_size(store, tenant)


async def _replies_are_counted(store: Store) -> None:
    """A reply that is stored for an `Idempotency-Key` counts, whatever it contains, even without a
    stored response.
    """
    tenant = new_id("tenant")
    key = new_id("key")
    unstored = new_response()
    stored = new_response()
    unstored, stored = (
        replace(one, tenant=tenant) for one in (replace(unstored, is_stored=False), stored)
    )
    await store.write(idempotency.reserve, tenant, key, b"print", unstored.id, "w")
    await _hold_size(store, tenant)
    await store.save(unstored, reply=StoredReply(tenant, key, False, b"reply"))
    await _hold_size(store, tenant, 5)
    await store.write(idempotency.reserve, tenant, other := new_id("key"), b"print", stored.id, "w")
    await store.save(stored, reply=StoredReply(tenant, other, True, b"other reply"))
    await _hold_size(store, tenant, 5, 11, _size(stored))
    await store.write(idempotency.reserve, tenant, freed := new_id("key"), b"print", "resp_1", "w")
    await store.write(idempotency.free, tenant, freed, "resp_1")
    await store.write(responses.delete, tenant, stored.id)
    await _hold_size(store, tenant, 5, 11)
    conversation = StoredConversation(new_id("conv"), 1, b"{}", tenant)
    await store.write(
        idempotency.reserve, tenant, third := new_id("key"), b"print", conversation.id, "w"
    )
    await store.write(
        conversations.create, conversation, [], StoredReply(tenant, third, False, b"12")
    )
    await _hold_size(store, tenant, 5, 11, 2, 2)
    await store.write(conversations.delete, tenant, conversation.id)


async def _jobs_are_counted(store: Store) -> None:
    """A job counts with its request, its log, its output and its notes, exactly, until it ends;
    then its log counts.
    """
    tenant = new_id("tenant")
    queued = replace(
        new_response(new_items("question"), status="queued"), tenant=tenant, is_streamed=True
    )
    await _enqueue(store, queued)
    await _hold_size(store, tenant, _size(queued), 7 + 2)
    job = await _claim(store, "w")
    job = await _advance(store, job, Progress([EventFrames(2, 3, b"23"), EventFrames(4, 4, b"4")]))
    await _hold_size(store, tenant, _size(queued), 7 + 5)
    items = new_items("one", "two")
    job = await _advance(
        store,
        job,
        Progress(
            [EventFrames(5, 5, b"5")],
            list(enumerate(items)),
            is_resume_point=True,
            checkpoint=b"notes",
        ),
    )
    await _hold_size(store, tenant, _size(queued), 7 + 6 + 5, size_of(items))
    job = await _advance(store, job, Progress(checkpoint=b""))
    await _hold_size(store, tenant, _size(queued), 7 + 6, size_of(items))
    ended = replace(
        job.response, status="completed", output=[*items, *new_items("three")], body=b"ended"
    )
    hold(
        await store.write(jobs.finish, job, ended, [EventFrames(6, 6, b"6")]),
        "a job was not finished",
    )
    await _hold_size(store, tenant, _size(ended), 7)
    hold(await store.write(responses.delete, tenant, queued.id), "a response was not deleted")
    await _hold_size(store, tenant)


async def _dropped_events_are_not_counted(store: Store) -> None:
    """Dropped events no longer count: when a job is returned, is lost, or is deleted with its
    response.
    """
    tenant = new_id("tenant")
    late = new_id("worker")
    queued = replace(
        new_response(new_items("question"), status="queued"), tenant=tenant, is_streamed=True
    )
    await _enqueue(store, queued)
    job = await _advance(
        store, await _claim(store, "w"), Progress([EventFrames(2, 2, b"2")], is_resume_point=True)
    )
    await _advance(store, job, Progress([EventFrames(3, 5, b"345")]))
    await _hold_size(store, tenant, _size(queued), 7 + 2 + 1 + 3)
    await store.write(leases.give_back, "w", queued.id)
    await _hold_size(store, tenant, _size(queued), 7 + 2 + 1)
    await _advance(store, await _claim(store, late), Progress([EventFrames(6, 6, b"lost")]))
    await store.write(leases.expire_worker, late, (await store.read(leases.beats))[late])
    await _hold_size(store, tenant, _size(queued), 7 + 2 + 1 + 4)
    job = await _claim(store, "w")
    await _hold_size(store, tenant, _size(queued), 7 + 2 + 1)
    await _advance(store, job, Progress([EventFrames(7, 7, b"7")]))
    await store.write(leases.expire_worker, "w", None)
    await _hold_size(store, tenant, _size(queued), 7 + 2 + 1)
    hold(await store.write(responses.delete, tenant, queued.id), "a response was not deleted")
    await _hold_size(store, tenant)


async def _ended_logs_are_counted(store: Store) -> None:
    """A job that has ended counts with the log that remains of it, whether its events can be
    replayed or not.
    """
    tenant = new_id("tenant")
    for is_streamed in (True, False):
        queued = replace(
            new_response(new_items("question"), status="queued"),
            tenant=tenant,
            is_streamed=is_streamed,
        )
        await _enqueue(store, queued)
        job = await _advance(store, await _claim(store, "w"), Progress([EventFrames(2, 3, b"23")]))
        ended = replace(job.response, status="cancelled")
        hold(
            await store.write(
                jobs.finish, job, ended, [EventFrames(4, 4, b"4")] if is_streamed else []
            ),
            "a job was not finished",
        )
        tail = await store.read(event_log.tail, tenant, queued.id, -1)
        await _hold_size(
            store, tenant, _size(ended), *(len(one.body) for one in (tail.frames if tail else ()))
        )
        await store.write(responses.delete, tenant, queued.id)


async def _tenants_are_added_up(store: Store) -> None:
    """All tenants' bytes are added up, with the largest tenants in descending order, up to a
    limit.
    """
    before = await store.read(stored_sizes.storage_use, 1)
    tenants = [new_id("tenant") for _ in range(3)]
    saved = [
        replace(new_response(new_items("a" * length)), tenant=tenant)
        for tenant, length in zip(tenants, (30, 10, 20), strict=True)
    ]
    sizes = {response.tenant: _size(response) for response in saved}
    for response in saved:
        await store.save(response)
    use = await store.read(stored_sizes.storage_use, before.tenants + 3)
    found = {one.tenant: one.stored_bytes for one in use.largest}
    in_order = [one.stored_bytes for one in use.largest]
    hold(
        {name: found.get(name) for name in tenants} == sizes,
        f"new tenants are not among the largest: {found}",
    )
    hold(in_order == sorted(in_order, reverse=True), "tenants that have stored less come first")
    more = use.tenants - before.tenants, use.stored_bytes - before.stored_bytes
    hold(
        more == (3, sum(sizes.values())),
        f"three tenants more have stored {sum(sizes.values())} bytes, not {more}",
    )
    hold(
        (use.tenants, use.stored_bytes) == (len(found), sum(in_order)),
        "the sum is not that of the tenants",
    )
    two = await store.read(stored_sizes.storage_use, 2)
    largest = [one.stored_bytes for one in two.largest]
    hold(
        largest == in_order[:2],
        f"the two largest tenants have stored {largest} bytes instead of {in_order[:2]}",
    )
    hold(
        (two.tenants, two.stored_bytes) == (use.tenants, use.stored_bytes),
        "only the largest tenants are added up",
    )
    for response in saved:
        hold(
            await store.write(responses.delete, response.tenant, response.id),
            "a response was not deleted",
        )
    after = await store.read(stored_sizes.storage_use, 1)
    hold(after == before, "a tenant that has deleted everything is counted")


async def _enqueue(store: Store, queued: StoredResponse) -> None:
    outcome = await store.write(jobs.enqueue, queued, b"request", [EventFrames(0, 1, b"01")])
    hold(outcome is LockResult.DONE, f"a job was not queued: {outcome}")


async def _claim(store: Store, worker: str) -> Job:
    job = await store.write(jobs.claim, worker, 1_000_000)
    if job is None:
        raise AssertionError("a waiting job cannot be claimed")
    return job


async def _advance(store: Store, job: Job, progress: Progress) -> Job:
    newer = await store.write(jobs.advance, job, progress)
    if newer is None:
        raise AssertionError("the newest version of a job cannot be advanced")
    return newer


async def _hold_size(store: Store, tenant: str, *parts: int) -> None:
    found = await store.read(stored_sizes.stored_bytes, tenant)
    hold(found == sum(parts), f"a tenant has stored {found} bytes instead of {sum(parts)}")


def _size(response: StoredResponse) -> int:
    items: Sequence[StoredItem] = [*response.input, *response.output]
    return len(response.body) + size_of(items)
