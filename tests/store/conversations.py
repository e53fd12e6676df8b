"""Promises about conversations and their items."""

import asyncio

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import conversations, leases, pages
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredConversation, StoredItem
from antiphon.storage.store import Store
from tests.store.making import T, hold, names, new_items, new_response


async def _new(store: Store, *first: StoredItem) -> StoredConversation:
    conversation = StoredConversation(new_id("conv"), 1000, b'{"a":"b"}', T)
    await store.write(conversations.create, conversation, first)
    return conversation


async def _keeps_its_items(store: Store) -> None:
    """A conversation is returned with its metadata and its items in order, until it is deleted."""
    first = new_items("a", "b")
    conversation = await _new(store, *first)
    found = await store.read(conversations.load, T, conversation.id)
    size = sum(len(item.body) + len(item.sealed or "") for item in first)
    expected = replace(conversation, next_position=2, items=2, size=size)
    hold(found == expected, f"it is returned as {found}")
    more = new_items("c", "d")
    hold(
        await store.write(conversations.add, T, conversation.id, more) is LockResult.DONE,
        "items were not added",
    )
    everything = [*first, *more]
    listed = await store.read(conversations.items, T, conversation.id)
    hold(listed == everything, f"its items are {names(listed)}")
    hold(
        await store.read(conversations.item, T, conversation.id, more[0].id) == more[0],
        "an item is not found in it",
    )
    hold(
        await store.read(stored_responses.find_item, T, more[0].id) == more[0],
        "an item is not found",
    )
    updated = await store.write(conversations.update, T, conversation.id, b"{}")
    hold(updated is not None and updated.metadata == b"{}", f"its new metadata is {updated}")
    hold(
        await store.write(conversations.delete, T, conversation.id) is LockResult.DONE,
        "it was not deleted",
    )
    removed = [
        await store.read(conversations.load, T, conversation.id),
        await store.read(conversations.items, T, conversation.id),
        await store.read(conversations.item, T, conversation.id, more[0].id),
        await store.read(stored_responses.find_item, T, more[0].id),
    ]
    hold(removed == [None] * 4, f"of a deleted conversation there is {removed}")
    hold(
        await store.write(conversations.delete, T, conversation.id) is LockResult.UNKNOWN,
        "it was deleted twice",
    )
    hold(
        await store.write(conversations.add, T, conversation.id, more) is LockResult.UNKNOWN,
        "items were added to a deleted conversation",
    )


async def _is_paged(store: Store) -> None:
    """Items are listed starting after any of them, in both directions, up to a limit."""
    all_ = new_items(*"abcdef")
    conversation = await _new(store, *all_)
    for descending in (False, True):
        order = all_[::-1] if descending else all_
        for after in (None, 0, 3, 5):
            start = 0 if after is None else after + 1
            query = PageQuery(2, None if after is None else order[after].id, descending=descending)
            page = await store.read(pages.conversation_page, T, conversation.id, query)
            if page is None:
                raise AssertionError("a conversation has no page")
            found = list(page.data)
            is_more = start + 2 < len(order)
            hold(
                found == order[start : start + 2],
                f"after {after} are {names(found)}, descending is {descending}",
            )
            hold(
                page.has_more is is_more,
                f"after {after} there are more: {page.has_more}, descending is {descending}",
            )
    unknown = await store.read(
        pages.conversation_page, T, conversation.id, PageQuery(2, new_id("msg"))
    )
    hold(unknown == Page(unknown="after"), f"after an unknown item is {unknown}")
    hold(
        await store.write(conversations.delete_item, T, conversation.id, all_[2].id)
        is LockResult.DONE,
        "an item was not deleted",
    )
    hold(
        await store.write(conversations.delete_item, T, conversation.id, all_[2].id)
        is LockResult.UNKNOWN,
        "an item was deleted twice",
    )
    hold(
        await store.read(conversations.items, T, conversation.id) == [*all_[:2], *all_[3:]],
        "a deleted item is still listed",
    )
    await store.write(conversations.delete, T, conversation.id)


async def _items_are_single(store: Store) -> None:
    """No item is in a conversation twice; if one of a list already is, nothing is added."""
    first = new_items("a")
    conversation = await _new(store, *first)
    outcome = await store.write(conversations.add, T, conversation.id, [*new_items("b"), *first])
    hold(outcome is LockResult.DUPLICATE, f"an item was added twice: {outcome}")
    hold(
        await store.read(conversations.items, T, conversation.id) == first,
        "a list was added in part",
    )
    await store.write(conversations.delete, T, conversation.id)


async def _has_one_writer(store: Store) -> None:
    """One response holds a conversation; nothing else writes to it until that response has
    ended.
    """
    conversation = await _new(store)
    responses = [
        replace(new_response(new_items("q"), new_items("a")), conversation_id=conversation.id)
        for _ in range(8)
    ]
    worker = new_id("worker")
    retained = await asyncio.gather(
        *(store.write(leases.hold, T, conversation.id, one.id, worker) for one in responses)
    )
    hold(
        retained.count(LockResult.DONE) == 1 and retained.count(LockResult.BUSY) == 7,
        f"of 8 concurrent ones {retained} hold it",
    )
    winner = responses.pop(retained.index(LockResult.DONE))
    busy = [
        await store.write(conversations.add, T, conversation.id, new_items("x")),
        await store.write(conversations.delete, T, conversation.id),
        await store.write(stored_jobs.enqueue, responses[0], b"", []),
    ]
    hold(busy == [LockResult.BUSY] * 3, f"while it is held others receive {busy}")
    hold(
        await store.save(responses[0], append=True) is False,
        "a response appended without holding it",
    )
    hold(
        await store.read(stored_responses.load, T, responses[0].id) is None,
        "a rejected response is stored",
    )
    hold(await store.save(winner, append=True) is True, "the response that holds it cannot append")
    found = await store.read(conversations.items, T, conversation.id)
    hold(found == [*winner.input, *winner.output], f"its items are {names(found)}")
    hold(
        await store.write(leases.hold, T, conversation.id, responses[1].id, worker)
        is LockResult.DONE,
        "it is still held",
    )
    await store.write(conversations.let_go, conversation.id, winner.id)
    hold(
        await store.write(leases.hold, T, conversation.id, responses[2].id, worker)
        is LockResult.BUSY,
        "another response released it",
    )
    await store.write(leases.expire_worker, worker, None)
    hold(
        await store.write(leases.hold, T, conversation.id, responses[2].id, worker)
        is LockResult.DONE,
        "a worker that was removed holds it",
    )
    hold(await store.save(responses[2]) is True, "a response cannot end without appending")
    hold(
        await store.read(conversations.items, T, conversation.id) == found,
        "a response appended that must not",
    )
    hold(
        await store.write(leases.hold, T, new_id("conv"), winner.id, worker) is LockResult.UNKNOWN,
        "an unknown one is held",
    )
    for one in (winner, responses[2]):
        await store.write(stored_responses.delete, T, one.id)
    await store.write(conversations.delete, T, conversation.id)


async def _late_writer_keeps_it(store: Store) -> None:
    """A response of an expired worker holds its conversation until another one writes to it."""
    for takes in (None, "lock", "add", "delete"):
        conversation = await _new(store, *new_items("first"))
        late = new_id("worker")
        heir = new_id("worker")
        one, other = (
            replace(new_response(new_items("q"), new_items("a")), conversation_id=conversation.id)
            for _ in range(2)
        )
        await store.write(leases.hold, T, conversation.id, one.id, late)
        await store.write(leases.expire_worker, late, (await store.read(leases.beats))[late])
        if takes == "lock":
            outcome = await store.write(leases.hold, T, conversation.id, other.id, heir)
            hold(outcome is LockResult.DONE, f"the conversation of an expired worker is {outcome}")
            outcome = await store.write(leases.hold, T, conversation.id, one.id, late)
            hold(
                outcome is LockResult.BUSY,
                "a late response holds a conversation that another one holds",
            )
        elif takes == "add":
            outcome = await store.write(conversations.add, T, conversation.id, new_items("new"))
            hold(outcome is LockResult.DONE, f"the conversation of an expired worker is {outcome}")
        elif takes == "delete":
            first = (await store.read(conversations.items, T, conversation.id) or [])[0]
            outcome = await store.write(conversations.delete_item, T, conversation.id, first.id)
            hold(outcome is LockResult.DONE, f"the conversation of an expired worker is {outcome}")
        is_stored = await store.save(one, append=True)
        hold(
            is_stored is (takes is None),
            f"with {takes or 'nothing'} as the new holder, a late save returned {is_stored}",
        )
        if takes == "lock":
            hold(await store.save(other, append=True) is True, "the new holder cannot append")
        await store.write(stored_responses.delete, T, one.id)
        await store.write(stored_responses.delete, T, other.id)
        await store.write(conversations.delete, T, conversation.id)


async def _locking_is_a_sign_of_life(store: Store) -> None:
    """A conversation that a worker holds after it expired is its own, before its next heartbeat."""
    first = await _new(store)
    second = await _new(store)
    late = new_id("worker")
    await store.write(leases.hold, T, first.id, new_id("resp"), late)
    await store.write(leases.expire_worker, late, (await store.read(leases.beats))[late])
    await store.write(leases.hold, T, second.id, new_id("resp"), late)
    outcome = await store.write(leases.hold, T, second.id, new_id("resp"), new_id("worker"))
    hold(outcome is LockResult.BUSY, f"the conversation of a living worker is {outcome}")
    await store.write(leases.expire_worker, late, None)
    for one in (first, second):
        await store.write(conversations.delete, T, one.id)


async def _a_job_knows_where_it_begins(store: Store) -> None:
    """A queued response's position in its conversation is the end of it at the moment at which it
    starts to hold it.
    """
    conversation = await _new(store)
    queued = replace(
        new_response(new_items("q"), status="queued"),
        conversation_id=conversation.id,
        conversation_end=0,
    )
    await store.write(conversations.add, T, conversation.id, new_items("meanwhile"))
    await store.write(stored_jobs.enqueue, queued, b"", [])
    found = await store.read(stored_responses.load, T, queued.id)
    hold(
        found is not None and found.conversation_end == 1,
        f"it begins at {found and found.conversation_end}",
    )
    job = await store.read(stored_jobs.find_job, T, queued.id)
    if job is not None:
        await store.write(stored_jobs.finish, job, replace(job.response, status="failed"))
    await store.write(stored_responses.delete, T, queued.id)
    await store.write(conversations.delete, T, conversation.id)


async def _is_part_of_history(store: Store) -> None:
    """The history of a chain that began in a conversation begins with the items that the
    conversation had then.
    """
    first = new_items("a")
    conversation = await _new(store, *first)
    other = await _new(store, *new_items("elsewhere"))
    created = replace(
        new_response(new_items("q"), new_items("r")),
        conversation_id=conversation.id,
        conversation_end=len(first),
    )
    await store.write(leases.hold, T, conversation.id, created.id, "")
    await store.save(created, append=True)
    await store.write(conversations.add, T, conversation.id, new_items("later"))
    child = new_response(new_items("next"), previous=created.id)
    await store.save(child)
    expected = [*first, *created.input, *created.output, *child.input]
    found = await store.read(stored_responses.history, T, child.id)
    hold(found == expected, f"the history is {names(found)}")
    for one in (created, child):
        await store.write(stored_responses.delete, T, one.id)
    for each in (conversation, other):
        await store.write(conversations.delete, T, each.id)


async def _are_listed(store: Store) -> None:
    """Conversations are listed newest first, a page at a time, those of one tenant or of all."""
    tenant = new_id("tenant")
    other = new_id("tenant")
    created = [
        StoredConversation(new_id("conv"), 1000, b'{"a":"b"}', one)
        for one in (tenant, other, tenant, tenant)
    ]
    created = sorted(created, key=lambda one: one.id)
    for one in created:
        await store.write(conversations.create, one, [])
    newest = [one.id for one in reversed(created)]
    mine = [one.id for one in reversed(created) if one.tenant == tenant]
    await store.write(conversations.add, tenant, mine[0], new_items("a"))
    listed = await store.read(conversations.page, tenant, 10)
    hold([one.id for one in listed] == mine, "a tenant's conversations are not listed newest first")
    hold(
        [one.items for one in listed] == [1, 0, 0],
        f"they have {[one.items for one in listed]} items, not 1, 0, 0",
    )
    first = [one.id for one in await store.read(conversations.page, tenant, 2)]
    rest = [one.id for one in await store.read(conversations.page, tenant, 2, first[-1])]
    hold(first + rest == mine, f"in pages of two there are {first} and {rest} of {mine}")
    everything = [one.id for one in await store.read(conversations.page, None, 10_000)]
    hold(
        [one for one in everything if one in newest] == newest, "the list of all tenants lacks some"
    )
    for one in created:
        await store.write(conversations.delete, one.tenant, one.id)
    behind = [one.id for one in await store.read(conversations.page, tenant, 10, first[-1])]
    hold(behind == [], "a conversation that was deleted is listed")
