"""Promises about idempotency keys."""

import asyncio

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import conversations, idempotency, leases, responses
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import StoredConversation
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store
from tests.store.making import T, hold, new_response


async def _is_reserved_once(store: Store) -> None:
    """Of many concurrent reservations of a key one succeeds, and all receive the same."""
    key = new_id("key")
    worker = new_id("worker")
    found = await asyncio.gather(
        *(
            store.write(idempotency.reserve, T, key, b"print", f"resp_{i}", worker)
            for i in range(16)
        )
    )
    hold(len({one.response_id for one in found}) == 1, f"a key is reserved for {found}")
    await store.write(idempotency.free, T, key, "resp_none")
    hold(await store.read(idempotency.find, T, key) == found[0], "another request released the key")
    await store.write(idempotency.free, T, key, found[0].response_id)
    hold(await store.read(idempotency.find, T, key) is None, "a released key is still reserved")


async def _reply_comes_with_the_response(store: Store) -> None:
    """The reply is stored in one step with the response, by the request that reserved the key, and
    remains.
    """
    key = new_id("key")
    worker = new_id("worker")
    mine = new_response()
    late = new_response()
    await store.write(idempotency.reserve, T, key, b"print", mine.id, worker)
    hold(
        await store.save(late, reply=StoredReply(T, key, False, b"late")) is False,
        "a response without the key replied",
    )
    hold(await store.read(responses.load, T, late.id) is None, "a rejected response is stored")
    hold(
        await store.save(mine, reply=StoredReply(T, key, True, b"reply\0")) is True,
        "a reply was not stored",
    )
    found = await store.read(idempotency.find, T, key)
    hold(
        found is not None and found.reply == StoredReply(T, key, True, b"reply\0"),
        f"the reply is {found}",
    )
    await store.write(idempotency.free, T, key, mine.id)
    await store.write(leases.expire_worker, worker, None)
    hold(await store.read(idempotency.find, T, key) == found, "a key with a reply was released")
    again = await store.write(idempotency.reserve, T, key, b"other", new_id("resp"), worker)
    hold(again == found, "a key with a reply was reserved again")
    await store.write(responses.delete, T, mine.id)


async def _reply_can_be_another_response(store: Store) -> None:
    """A request that joins an earlier response stores that one as its reply, once it has it."""
    key, worker, mine = new_id("key"), new_id("worker"), new_id("resp")
    reply = StoredReply(T, key, True, b"")
    await store.write(idempotency.reserve, T, key, b"print", mine, worker)
    await store.write(idempotency.answer, reply, "resp_none", "resp_earlier")
    found = await store.read(idempotency.find, T, key)
    hold(found is not None and found.reply is None, "a request without the key replied")
    await store.write(idempotency.answer, reply, mine, "resp_earlier")
    found = await store.read(idempotency.find, T, key)
    hold(
        found is not None and (found.response_id, found.reply) == ("resp_earlier", reply),
        f"the reply is {found}",
    )


async def _dead_workers_free_their_keys(store: Store) -> None:
    """A key that a worker reserved and did not answer is free for another request once the worker
    has expired.
    """
    key = new_id("key")
    late = new_id("worker")
    heir = new_id("worker")
    one = new_response()
    other = new_response()
    await store.write(idempotency.reserve, T, key, b"print", one.id, late)
    hold(late in await store.read(leases.beats), "a worker with a reserved key is not watched")
    hold(
        await store.write(leases.expire_worker, late, (await store.read(leases.beats))[late])
        is True,
        "a silent worker does not expire",
    )
    found = await store.read(idempotency.find, T, key)
    hold(
        found is not None and found.response_id == one.id,
        "a key without another request is no longer reserved",
    )
    found = await store.write(idempotency.reserve, T, key, b"print", other.id, heir)
    hold(found.response_id == other.id, "the key of an expired worker is still reserved")
    hold(
        await store.save(one, reply=StoredReply(T, key, False, b"late")) is False,
        "a worker answered a key that it had lost",
    )
    hold(
        await store.save(other, reply=StoredReply(T, key, False, b"reply")) is True,
        "the new owner cannot answer the key",
    )


async def _expired_worker_that_reserves_is_active(store: Store) -> None:
    """A worker that had expired and reserves a key is active again: no other worker takes the key
    over.
    """
    first = new_id("key")
    key = new_id("key")
    worker = new_id("worker")
    await store.write(idempotency.reserve, T, first, b"print", "resp_1", worker)
    await store.write(leases.expire_worker, worker, (await store.read(leases.beats))[worker])
    await store.write(idempotency.reserve, T, key, b"print", "resp_2", worker)
    hold(
        worker in await store.read(leases.beats),
        "a worker that reserved a key after it expired is not watched",
    )
    found = await store.write(idempotency.reserve, T, key, b"print", "resp_3", new_id("worker"))
    hold(found.response_id == "resp_2", "the key of an active worker is reserved again")
    for response_id in ("resp_1", "resp_2"):
        await store.write(leases.release, worker, response_id)


async def _late_worker_keeps_its_key(store: Store) -> None:
    """An expired worker can answer a key that no other request reserved; then the answer is
    final.
    """
    key = new_id("key")
    late = new_id("worker")
    one = new_response()
    await store.write(idempotency.reserve, T, key, b"print", one.id, late)
    await store.write(leases.expire_worker, late, (await store.read(leases.beats))[late])
    hold(
        await store.save(one, reply=StoredReply(T, key, False, b"reply")) is True,
        "a key without another owner was rejected",
    )
    found = await store.write(
        idempotency.reserve, T, key, b"print", new_id("resp"), new_id("worker")
    )
    hold(
        found.reply is not None and found.reply.body == b"reply",
        "the answer of a late worker is not final",
    )


async def _leases_can_be_freed(store: Store) -> None:
    """A worker can list what it holds, and release what it holds for one response."""
    key = new_id("key")
    worker = new_id("worker")
    conversation = StoredConversation(new_id("conv"), 1, b"{}", T)
    await store.write(conversations.create, conversation, [])
    await store.write(idempotency.reserve, T, key, b"print", "resp_1", worker)
    await store.write(leases.hold, T, conversation.id, "resp_2", worker)
    found = sorted(await store.read(leases.retained_responses, worker))
    hold(found == ["resp_1", "resp_2"], f"it holds {found}")
    await store.write(leases.release, worker, "resp_1")
    hold(await store.read(idempotency.find, T, key) is None, "a released key is reserved")
    hold(
        list(await store.read(leases.retained_responses, worker)) == ["resp_2"],
        "too much was released",
    )
    await store.write(leases.release, worker, "resp_2")
    outcome = await store.write(leases.hold, T, conversation.id, "resp_3", worker)
    hold(outcome is LockResult.DONE, "a released conversation is held")
    await store.write(leases.release, worker, "resp_3")
    await store.write(conversations.delete, T, conversation.id)


async def _unstored_replies(store: Store) -> None:
    """A response with `store: false` stores its reply and nothing else."""
    key = new_id("key")
    one = replace(new_response(), is_stored=False)
    await store.write(idempotency.reserve, T, key, b"print", one.id, "w")
    hold(
        await store.save(one, reply=StoredReply(T, key, False, b"reply")) is True,
        "the reply was not stored",
    )
    hold(await store.read(responses.load, T, one.id) is None, "an unstored response exists")
