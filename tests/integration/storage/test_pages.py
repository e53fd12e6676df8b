"""Pages of a list: a large one has the sizes of its items read first, and only what fits is
returned.
"""

from itertools import product

import pytest

from antiphon.ids import new_id
from antiphon.storage.input_pages import input_page
from antiphon.storage.open import open_store
from antiphon.storage.operations import conversations, pages
from antiphon.storage.operations import pages as stored_pages
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredConversation, StoredItem
from tests.store.making import T, new_response

ITEMS = [StoredItem(f"msg_{size}", b"x" * size, "y") for size in (1, 2, 3, 4, 5)]
WEIGHTS = {item.id: size + 1 for size, item in enumerate(ITEMS, 1)}
"""The bytes of each with its sealed content."""


def expected(query: PageQuery, is_large: bool) -> Page[StoredItem]:
    order = ITEMS[::-1] if query.descending else ITEMS
    places = {item.id: place for place, item in enumerate(order)}
    wanted = order[
        places[query.after] + 1 if query.after else 0 : places[query.before]
        if query.before
        else None
    ]
    count = min(len(wanted), query.limit)
    while (
        is_large
        and count > 1
        and sum(WEIGHTS[item.id] for item in wanted[:count]) > query.most_bytes
    ):
        count -= 1
    return Page(wanted[:count], count < len(wanted))


@pytest.mark.parametrize("is_large", [False, True])
async def test_a_page_ends_with_the_last_item_that_fits(
    is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        monkeypatch.setattr(pages, "FEW_BYTES", 0)
    store = await open_store("sqlite://")
    response = new_response(ITEMS, ITEMS[:1])
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", T)
    for other in (new_response(ITEMS[::-1]), response, new_response(ITEMS[::-1])):
        await store.save(other)
    for one, items in (
        (new_id("conv"), ITEMS[::-1]),
        (conversation.id, ITEMS),
        (new_id("conv"), ITEMS[::-1]),
    ):
        await store.write(conversations.create, StoredConversation(one, 1000, b"{}", T), items)
    ids = (None, "msg_1", "msg_3", "msg_4")
    for after, before, is_down, room in product(
        ids, ids, (False, True), (5, 100) if is_large else (100,)
    ):
        query = PageQuery(3, after, before, is_down, room)
        right = expected(query, is_large)
        assert await input_page(store, T, response.id, query) == right, query
        assert (
            await store.read(stored_pages.conversation_page, T, conversation.id, query) == right
        ), query
    await store.close()
