"""Promises about long lists that are read in parts, and about their size, which is known
beforehand.
"""

from collections.abc import Sequence
from itertools import product

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import conversations, leases, pages, responses
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import (
    ChainExtent,
    PageQuery,
    StoredConversation,
    StoredItem,
)
from antiphon.storage.store import Store
from tests.store.making import T, chain_of, hold, names, new_items, new_response, size_of

MANY = 2500


async def _input_is_paged(store: Store) -> None:
    """The input and history of a response are listed in parts, between any two of its items, in
    both directions.
    """
    again = StoredItem(new_id("msg"), b"again")
    chain = chain_of(4)
    chain[1] = replace(chain[1], input=[again, *chain[1].input, again])
    chain[3] = replace(chain[3], input=[*chain[3].input, again], output=[*chain[3].output, again])
    for response in chain:
        await store.save(response)
    expected = [item for turn in chain[:3] for item in (*turn.input, *turn.output)] + [
        *chain[3].input
    ]
    await _check_parts(store, chain[3].id, expected)
    unknown = await input_page(store, T, chain[3].id, PageQuery(2, chain[3].output[0].id))
    hold(
        unknown == Page(unknown="after"),
        f"an item of the output bounds the list: {unknown}",
    )
    hold(
        await input_page(store, T, new_id("resp"), PageQuery(2)) is None,
        "an unknown response has a list",
    )
    await store.write(responses.delete, T, chain[1].id)
    await _check_parts(store, chain[3].id, [*chain[3].input])


async def _conversation_comes_first(store: Store) -> None:
    """Items that a conversation had before come before those of the response, without any later
    ones.
    """
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", T)
    before = new_items("a", "b", "c")
    await store.write(conversations.create, conversation, before)
    created = replace(
        new_response(new_items("d"), new_items("e")),
        conversation_id=conversation.id,
        conversation_end=3,
    )
    await store.write(leases.hold, T, conversation.id, created.id, "worker")
    await store.save(created, append=True)
    await store.write(conversations.add, T, conversation.id, new_items("later"))
    child = new_response(new_items("f"), previous=created.id)
    await store.save(child)
    await _check_parts(store, created.id, [*before, *created.input])
    await _check_parts(store, child.id, [*before, *created.input, *created.output, *child.input])
    extent = await store.measure_chain(T, child.id, 99)
    history = await store.read(responses.history, T, child.id) or []
    hold(
        extent == ChainExtent(2, True, len(history), size_of(history), True),
        f"its extent is {extent}",
    )
    await store.write(conversations.delete, T, conversation.id)


async def _check_parts(store: Store, response_id: str, expected: Sequence[StoredItem]) -> None:
    for descending in (False, True):
        order = [*expected][::-1] if descending else [*expected]
        ids = [item.id for item in order]
        for after, before, limit in product((None, *ids), (None, *ids), (1, 3, len(ids))):
            begin = ids.index(after) + 1 if after else 0
            between = order[begin : ids.index(before) if before else len(ids)]
            page = await input_page(
                store, T, response_id, PageQuery(limit, after, before, descending)
            )
            hold(page is not None and not page.unknown, f"there is no part: {page}")
            if page is not None:
                found = names(page.data), page.has_more
                right = names(between[:limit]), len(between) > limit
                hold(
                    found == right,
                    f"{after} to {before}, descending is {descending}: {found} instead of {right}",
                )


async def _parts_have_a_size(store: Store) -> None:
    """A part ends before it exceeds the requested bytes; a single item is returned however large it
    is.
    """
    items = [StoredItem(new_id("msg"), b"x" * 400_000) for _ in range(5)]
    response = new_response(items)
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", T)
    await store.save(response)
    await store.write(conversations.create, conversation, items)
    for most, count in ((1_000_000, 2), (10, 1), (10_000_000, 5)):
        query = PageQuery(100, most_bytes=most)
        for page in (
            await input_page(store, T, response.id, query),
            await store.read(pages.conversation_page, T, conversation.id, query),
        ):
            hold(
                page == Page(items[:count], has_more=count < 5),
                f"{most} bytes are not {count} items",
            )
    await store.write(conversations.delete, T, conversation.id)


async def _many_items_come_back(store: Store) -> None:
    """Many items are returned as few are, and their number and size are known before they are
    read.
    """
    first = new_response(new_items(*map(str, range(MANY))), new_items("a"))
    second = new_response(new_items("b"), previous=first.id)
    for response in (first, second):
        await store.save(response)
    expected = [*first.input, *first.output, *second.input]
    hold(
        await store.read(responses.history, T, second.id) == expected,
        "a long history is not what was saved",
    )
    for response, items in ((first, expected[:-1]), (second, expected)):
        extent = await store.measure_chain(T, response.id, 99)
        right = ChainExtent(1 if response is first else 2, False, len(items), size_of(items), True)
        hold(extent == right, f"its extent is {extent} instead of {right}")
    found = await store.read(responses.load, T, first.id)
    hold(found is not None and list(found.input) == first.input, "many items do not load")
    await store.write(responses.delete, T, first.id)
    hold(
        not (await store.measure_chain(T, second.id, 99)).is_whole,
        "a chain without a head is complete",
    )


async def _parents_of_others_are_unknown(store: Store) -> None:
    """A response that names another tenant's response as its parent, or another's conversation,
    sees nothing of it.
    """
    other = "another"
    parent = replace(new_response(new_items("secret")), tenant=other)
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", other)
    await store.save(parent)
    await store.write(conversations.create, conversation, secret := new_items("secret too"))
    child = new_response(new_items("a"), previous=parent.id)
    await store.save(child)
    mine = StoredConversation(new_id("conv"), 1000, b"{}", T)
    await store.write(conversations.create, mine, [])
    created = replace(new_response(new_items("b")), conversation_id=mine.id, conversation_end=9)
    await store.write(leases.hold, T, mine.id, created.id, "worker")
    await store.save(created)
    strayed = replace(
        new_response(new_items("c"), id=created.id),
        conversation_id=conversation.id,
        conversation_end=9,
    )
    hold(
        await store.save(strayed, append=True) is False,
        "a response was added to another tenant's conversation",
    )
    retained = await store.write(leases.hold, T, conversation.id, strayed.id, "worker")
    hold(retained is LockResult.UNKNOWN, "another tenant's conversation was held")
    hold(
        await store.read(responses.history, T, child.id) is None,
        "another tenant's response is part of a history",
    )
    extent = await store.measure_chain(T, child.id, 99)
    hold(
        (extent.length, extent.items, extent.is_whole) == (1, 1, False),
        f"another tenant's was counted: {extent}",
    )
    own = new_response(new_items("d"))
    theirs = replace(new_response(new_items("e"), previous=own.id), tenant=other)
    for response in (own, theirs):
        await store.save(response)
    lengths = [(await store.measure_chain(T, one.id, 99)).length for one in (own, theirs)]
    hold(
        lengths == [1, 0],
        f"another tenant's response that follows this one's was counted: {lengths}",
    )
    page = await input_page(store, T, child.id, PageQuery(9))
    hold(page == Page(child.input), f"another tenant's items are listed: {page}")
    known = await input_page(store, T, child.id, PageQuery(9, parent.input[0].id))
    hold(known == Page(unknown="after"), f"another tenant's item is known: {known}")
    for item in (*parent.input, *secret):
        hold(
            await store.read(responses.find_item, T, item.id) is None,
            "another tenant's item is found",
        )
    unknown = (
        await input_page(store, T, parent.id, PageQuery(9)),
        await store.read(pages.conversation_page, T, conversation.id, PageQuery(9)),
    )
    hold(unknown == (None, None), f"another tenant's lists are {unknown}")
    await store.write(conversations.delete, T, mine.id)
    await store.write(conversations.delete, other, conversation.id)
