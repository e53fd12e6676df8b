"""Promises about responses, their items, chains and expiry."""

import asyncio
import time
from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import conversations, event_log, idempotency, leases, responses
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import (
    LargeItem,
    StoredConversation,
    StoredItem,
    StoredResponse,
)
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import (
    T,
    chain_of,
    hold,
    names,
    new_items,
    new_response,
    plain,
    same,
    size_of,
)
from tests.support.waiting import let_others_run

_AT_ONCE = 64


async def _comes_back_whole(store: Store) -> None:
    """A saved response is returned whole, its items in order."""
    odd = "\0 \n '\";-- \u00e9\u202e\U0001f600 \ufffe"
    no_nul = odd.replace("\0", "")
    for response in (
        new_response(),
        new_response(new_items("a", "b", "c"), new_items("d", "e")),
        new_response(
            [StoredItem(new_id("msg"), b"{}", "")],
            [StoredItem(f"{no_nul}{new_id('')}", odd.encode(), odd)],
        ),
        new_response(
            body=bytes(range(256)) * 4096,
            output=[StoredItem(new_id("msg"), b"x" * 1_000_000, "y" * 100_000)],
        ),
        new_response(new_items(*map(str, range(1000))), previous=f"{no_nul}{new_id('')}"),
    ):
        await store.save(response)
        same(await store.read(responses.load, T, response.id), response)


async def _unknown_id_is_not_found(store: Store) -> None:
    """An id that was never saved is unknown to every method, and not an error."""
    no_one = new_id("resp")
    found = (
        await store.read(responses.load, T, no_one),
        await store.read(responses.history, T, no_one),
        await store.read(responses.find_item, T, no_one),
    )
    hold(found == (None, None, None), f"load, history and find_item returned {found}")
    hold(await store.write(responses.delete, T, no_one) is False, "delete did not return False")


async def _saving_again_replaces(store: Store) -> None:
    """Saving the same id again replaces all of it: no earlier item remains, and its position in a
    chain is kept.
    """
    old = new_response(new_items("old 1", "old 2"), new_items("old 3"))
    child = new_response(new_items("child"), previous=old.id)
    new = new_response(new_items("new"), id=old.id, status="failed", body=b"new")
    for response in (old, child, new):
        await store.save(response)
    same(await store.read(responses.load, T, old.id), new)
    hold(
        await store.read(responses.find_item, T, old.output[0].id) is None,
        "an earlier item is still found",
    )
    hold(
        await store.read(responses.history, T, child.id) == [*new.input, *child.input],
        "a later turn's history is not the new one's",
    )


async def _delete_forgets(store: Store) -> None:
    """A deleted response and its items are unknown, once; others remain, and its children still
    name it.
    """
    parent = new_response(new_items("a"), new_items("b"))
    other = new_response(new_items("c"))
    child = new_response(new_items("d"), previous=parent.id)
    for response in (parent, other, child):
        await store.save(response)
    hold(await store.write(responses.delete, T, parent.id) is True, "delete did not return True")
    hold(await store.write(responses.delete, T, parent.id) is False, "delete returned True twice")
    hold(await store.read(responses.load, T, parent.id) is None, "it still loads")
    hold(
        await store.read(responses.find_item, T, parent.input[0].id) is None,
        "its item is still found",
    )
    hold(await store.read(responses.history, T, child.id) is None, "its child still has a history")
    same(await store.read(responses.load, T, child.id), child)
    same(await store.read(responses.load, T, other.id), other)


async def _history_is_in_order(store: Store) -> None:
    """A history is each ancestor's input and output, oldest first, whatever the order in which they
    were saved.
    """
    chain = chain_of(6)
    chain[3] = new_response(id=chain[3].id, previous=chain[2].id)
    for response in (chain[i] for i in (2, 5, 0, 3, 1, 4)):
        await store.save(response)
    for length in range(1, len(chain) + 1):
        expected = [item for turn in chain[:length] for item in (*turn.input, *turn.output)]
        found = await store.read(responses.history, T, chain[length - 1].id)
        hold(
            found == expected, f"after {length} turns: {names(found)} instead of {names(expected)}"
        )


async def _chain_without_head_is_not_found(store: Store) -> None:
    """A chain with a gap, or with a cycle, has no history."""
    orphan = new_response(new_items("a"), previous=new_id("resp"))
    (one, two, three) = chain_of(3)
    circle = new_response(new_items("b"), id=one.id, previous=three.id)
    for response in (orphan, circle, two, three):
        await store.save(response)
    hold(
        await store.read(responses.history, T, orphan.id) is None,
        "a history with a gap was returned",
    )
    hold(
        await store.read(responses.history, T, two.id) is None,
        "a history with a cycle was returned",
    )


async def _chain_is_counted(store: Store) -> None:
    """The responses of a chain are counted from any of them up to its head, or to a gap, and up to
    a limit.
    """
    chain = chain_of(5)
    for response in chain:
        await store.save(response)
    hold(
        await _lengths(store, chain) == [1, 2, 3, 4, 5],
        "a whole chain is not counted up to its head",
    )
    bounded = (
        await store.measure_chain(T, chain[4].id, 3),
        await store.measure_chain("another", chain[4].id, 99),
    )
    hold(
        [one.length for one in bounded] == [3, 0],
        f"at most 3, and another tenant's 0, were {bounded}",
    )
    await store.write(responses.delete, T, chain[1].id)
    hold(
        await _lengths(store, chain) == [1, 0, 1, 2, 3],
        "a chain with a gap is not counted up to the gap",
    )
    one, two = chain_of(2)
    for response in (new_response(new_items("a"), id=one.id, previous=two.id), two):
        await store.save(response)
    hold(
        (await store.measure_chain(T, two.id, 7)).length == 7,
        "a cycle is not counted up to the limit",
    )


async def _lengths(store: Store, chain: Sequence[StoredResponse]) -> list[int]:
    return [(await store.measure_chain(T, response.id, 99)).length for response in chain]


async def _long_chain_is_counted(store: Store) -> None:
    """A long chain is counted again after each change, whatever a store remembers of it."""
    chain = chain_of(100)
    await asyncio.gather(*(store.save(response) for response in chain))
    end = chain[-1]
    other = new_response(new_items("a"), previous=chain[-2].id)
    for length in (90, 91, 92, 100, 100, 95):
        found = await _length(store, chain[length - 1])
        hold(found == length, f"{length} responses of a long chain were counted as {found}")
    await store.save(other)
    hold(
        await _length(store, other) == 100,
        "another response that follows the same one has another length",
    )
    await store.save(end)
    hold(await _length(store, end) == 100, "saving the end of a chain again changes its length")
    await store.write(responses.delete, T, chain[49].id)
    lengths = [await _length(store, response) for response in (end, other, chain[40])]
    hold(lengths == [50, 50, 41], f"a long chain with a gap is counted as {lengths}")
    await store.save(chain[49])
    hold(
        await _length(store, end) == 100,
        "a long chain that is complete again is not counted up to its head",
    )


async def _length(store: Store, response: StoredResponse) -> int:
    return (await store.measure_chain(T, response.id, 1000)).length


async def _history_is_linear(store: Store) -> None:
    """A history takes time linear in its length."""
    chain = chain_of(400)
    await asyncio.gather(*(store.save(response) for response in chain))
    short, long = [await _least_work(store, chain[length - 1].id) for length in (25, 400)]
    # 16 times the turns: 16 times the work if it is linear, 256 times if it is quadratic.
    hold(long < 64 * short, f"400 turns take {long / short:.0f} times the CPU time of 25")


async def _least_work(store: Store, response_id: str) -> float:
    """Return seconds of this process's CPU time, which other processes do not affect."""
    times = []
    for _ in range(5):
        begun = time.process_time()
        await store.read(responses.history, T, response_id)
        times.append(time.process_time() - begun)
    return max(min(times), time.get_clock_info("process_time").resolution)


async def _items_may_come_again(store: Store) -> None:
    """An item's id can appear in many responses, and twice in one; each keeps its own, and the
    oldest is found.
    """
    first, again, last = (
        StoredItem(item_id, body) for item_id in [new_id("msg")] for body in (b"1", b"2", b"3")
    )
    older = new_response([first])
    newer = new_response([again], [last])
    for response in (older, newer):
        await store.save(response)
    same(await store.read(responses.load, T, older.id), older)
    same(await store.read(responses.load, T, newer.id), newer)
    hold(
        await store.read(responses.find_item, T, first.id) == first, "not the oldest item was found"
    )
    await store.write(responses.delete, T, older.id)
    hold(
        await store.read(responses.find_item, T, first.id) == again,
        "the newer item is lost with the older",
    )


async def _large_item_reports_its_size(store: Store) -> None:
    """With `few`, a large item can be returned as its size alone; otherwise it is returned
    whole.
    """
    items = [StoredItem(new_id("msg"), b"x" * 700_000, "sealed"), StoredItem(new_id("msg"), b"few")]
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", T)
    await store.write(conversations.create, conversation, items)
    await store.save(new_response([StoredItem(new_id("msg"), b"y" * 700_000)]))
    response = new_response(
        [StoredItem(new_id("msg"), b"z" * 700_000, "sealed"), StoredItem(new_id("msg"), b"few")]
    )
    await store.save(response)
    for item in (*items, *response.input):
        found = await store.read(responses.find_item, T, item.id, few=True)
        whole = await store.read(responses.find_item, T, item.id)
        if isinstance(found, LargeItem):
            hold(
                found.size == size_of([item]),
                f"an item of {size_of([item])} bytes has the size {found.size}",
            )
        else:
            hold(found == item, f"with `few`, an item is {found!r:.200}")
        hold(whole == item, f"an item is {whole!r:.200}")
    await store.write(conversations.delete, T, conversation.id)


async def _what_expired_is_unknown(store: Store) -> None:
    """From its `expires_at` on a response is unknown; `purge` deletes it, nothing else, and returns
    the number.
    """
    await purge(store)
    past = int(time.time()) - 10
    future = int(time.time()) + 1000
    removed = [new_response(new_items("a"), until=past) for _ in range(3)]
    stored = [new_response(new_items("b"), until=until) for until in (future, None)]
    child = new_response(new_items("c"), previous=removed[0].id)
    for response in (*removed, *stored, child):
        await store.save(response)
    hold(await store.read(responses.load, T, removed[0].id) is None, "an expired one still loads")
    hold(
        await store.read(responses.find_item, T, removed[0].input[0].id) is None,
        "an item of an expired one is still found",
    )
    hold(
        await store.read(responses.history, T, child.id) is None,
        "a chain through an expired one still has a history",
    )
    hold(
        await store.write(responses.delete, T, removed[0].id) is False,
        "an expired one can be deleted",
    )
    for dry_run, count in ((True, 3), (False, 3), (False, 0)):
        found = (await purge(store, dry_run=dry_run))["responses"]
        hold(found == count, f"purge(dry_run={dry_run}) returned {found} instead of {count}")
    for response in stored:
        same(await store.read(responses.load, T, response.id), response)
        await store.write(responses.delete, T, response.id)
    await store.write(responses.delete, T, child.id)


async def _tenants_are_apart(store: Store) -> None:
    """No data of one tenant is known to another."""
    mine = new_response(new_items("a"), new_items("b"))
    item = StoredItem(new_id("msg"), b"{}")
    conversation = StoredConversation(new_id("conv"), 1, b"{}", T)
    await store.save(mine)
    await store.write(conversations.create, conversation, [item])
    await store.write(idempotency.reserve, T, mine.id, b"print", mine.id, "")
    found = [
        await store.read(responses.load, "other", mine.id),
        await store.read(responses.history, "other", mine.id),
        await store.read(responses.find_item, "other", mine.input[0].id),
        await store.read(responses.find_item, "other", item.id),
        await store.read(event_log.tail, "other", mine.id, -1),
        await store.read(stored_jobs.find_job, "other", mine.id),
        await store.read(conversations.load, "other", conversation.id),
        await store.write(conversations.update, "other", conversation.id, b"[]"),
        await store.read(conversations.items, "other", conversation.id),
        await store.read(conversations.item, "other", conversation.id, item.id),
        await store.read(idempotency.find, "other", mine.id),
    ]
    hold(found == [None] * len(found), f"another tenant found {found}")
    hold(
        await store.write(responses.delete, "other", mine.id) is False,
        "another tenant deleted a response",
    )
    outcomes = [
        await store.write(conversations.delete, "other", conversation.id),
        await store.write(conversations.add, "other", conversation.id, [item]),
        await store.write(conversations.delete_item, "other", conversation.id, item.id),
        await store.write(leases.hold, "other", conversation.id, mine.id, "w"),
    ]
    hold(
        outcomes == [LockResult.UNKNOWN] * 4, f"another tenant wrote to a conversation: {outcomes}"
    )
    await store.write(responses.delete, T, mine.id)
    await store.write(conversations.delete, T, conversation.id)
    await store.write(idempotency.free, T, mine.id, mine.id)


async def _nothing_leads_to_another_tenant(store: Store) -> None:
    """A response that names another tenant's parent or conversation leads to none of their data."""
    theirs = replace(new_response(new_items("theirs"), new_items("theirs")), tenant="other")
    item = StoredItem(new_id("msg"), b"theirs")
    conversation = StoredConversation(new_id("conv"), 1, b"{}", "other")
    await store.save(theirs)
    await store.write(conversations.create, conversation, [item])
    child = new_response(new_items("mine"), previous=theirs.id)
    guest = replace(
        new_response(new_items("mine")), conversation_id=conversation.id, conversation_end=1
    )
    await store.save(child)
    hold(
        await store.read(responses.history, T, child.id) is None,
        "a history leads through another tenant's response",
    )
    found = (await store.measure_chain(T, child.id, 9)).length
    hold(found == 1, f"{found} responses are counted in a chain through another tenant's")
    hold(
        await store.save(guest, append=True) is False,
        "a response was appended to another tenant's conversation",
    )
    await store.save(replace(guest, conversation_id=None))
    outcome = await store.write(stored_jobs.enqueue, replace(guest, id=new_id("resp")), b"", [])
    hold(outcome is LockResult.UNKNOWN, f"a job in another tenant's conversation is {outcome}")
    retained = replace(guest, id=new_id("resp"), tenant="other")
    hold(
        await store.write(leases.hold, "other", conversation.id, retained.id, "w")
        is LockResult.DONE,
        "it cannot be held",
    )
    hold(await store.save(retained, append=True) is True, "its own tenant cannot append")
    hold(
        await store.read(responses.history, T, retained.id) is None,
        "a history begins at another tenant's response",
    )
    found_items = await store.read(responses.history, "other", retained.id)
    hold(
        found_items == [item, *retained.input],
        f"a history in a conversation is {names(found_items)}",
    )
    await store.write(conversations.delete, "other", conversation.id)
    await store.write(
        conversations.create, replace(conversation, tenant=T), [StoredItem(new_id("msg"), b"mine")]
    )
    hold(
        await store.read(responses.history, "other", retained.id) == [*retained.input],
        "a history begins with another tenant's conversation",
    )
    for one, tenant in ((theirs, "other"), (retained, "other"), (child, T), (guest, T)):
        await store.write(responses.delete, tenant, one.id)
    await store.write(conversations.delete, T, conversation.id)


async def _tasks_may_come_together(store: Store) -> None:
    """Many tasks can save, read and delete at once, and each sees what it has finished."""

    async def use(parent: StoredResponse) -> None:
        child = new_response(new_items("c"), new_items("d"), previous=parent.id)
        await store.save(parent)
        same(await store.read(responses.load, T, parent.id), parent)
        await store.save(child)
        expected = [*parent.input, *parent.output, *child.input, *child.output]
        hold(
            await store.read(responses.history, T, child.id) == expected,
            "a history lacks what its task had saved",
        )
        hold(
            await store.read(responses.find_item, T, child.output[0].id) == child.output[0],
            "an item that its task had saved is lost",
        )
        hold(
            await store.write(responses.delete, T, parent.id),
            "a task's own response could not be deleted",
        )
        hold(
            await store.read(responses.load, T, parent.id) is None,
            "a task's deleted response still loads",
        )

    await asyncio.gather(
        *(use(new_response(new_items("a"), new_items("b"))) for _ in range(_AT_ONCE))
    )


async def _reads_are_never_torn(store: Store) -> None:
    """A read during the replacement of a response returns all of the old or all of the new."""
    old = new_response(new_items(*map(str, range(8))), body=b"old")
    new = new_response(output=new_items("8", "9"), id=old.id, body=b"new")
    await store.save(old)
    wholes = [plain(old), plain(new)]
    histories = [[*old.input], [*new.output]]

    async def read() -> None:
        response = await store.read(responses.load, T, old.id)
        history = await store.read(responses.history, T, old.id)
        hold(
            response is not None and plain(response) in wholes,
            "a response was neither the old nor the new",
        )
        hold(history in histories, f"a history was neither the old nor the new: {names(history)}")

    await asyncio.gather(
        *(task for _ in range(20) for task in (store.save(new), read(), store.save(old), read()))
    )


async def _cancelling_tears_nothing(store: Store) -> None:
    """A save with a cancelled caller is done completely or not at all, and affects nothing else."""
    left, stored = (
        [new_response(new_items("a"), new_items("b")) for _ in range(20)] for _ in range(2)
    )
    saves = [
        asyncio.ensure_future(store.save(response))
        for pair in zip(left, stored, strict=True)
        for response in pair
    ]
    await let_others_run()
    for save in saves[::2]:
        save.cancel()
    await asyncio.gather(*saves[::2], return_exceptions=True)
    await asyncio.gather(*saves[1::2])
    for response in stored:
        same(await store.read(responses.load, T, response.id), response)
    for response in left:
        found = await store.read(responses.load, T, response.id)
        if found is not None:
            same(found, response)
