"""What a tenant does in a store leaves what another has under the same name as it is."""

import time
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.answers import find_answer
from antiphon.storage.input_pages import input_page
from antiphon.storage.open import open_store
from antiphon.storage.operations import answers, conversations, jobs, responses
from antiphon.storage.operations.step import FEW_BYTES
from antiphon.storage.records.jobs import NOTHING_RESERVED, LockResult
from antiphon.storage.records.responses import PageQuery, StoredConversation, StoredItem
from antiphon.storage.records.tenants import StoredAnswer
from antiphon.storage.store import Store
from antiphon.storage.upkeep import trim_answers
from tests.store.making import T, new_response

OTHER = T + "2"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


async def test_the_job_of_another_tenant_is_not_found(store: Store) -> None:
    queued = new_response(status="queued")
    assert (
        await store.write(jobs.enqueue, queued, b"{}", (), None, NOTHING_RESERVED)
        is LockResult.DONE
    )

    assert await store.read(jobs.find_job, OTHER, queued.id) is None
    assert await store.read(jobs.find_job, T, queued.id) is not None


async def test_the_use_of_an_answer_does_not_keep_that_of_another_tenant(store: Store) -> None:
    until = int(time.time()) + 60
    for tenant, used_at in ((T, 2), (OTHER, 1)):
        await store.write(answers.put, StoredAnswer(tenant, b"key", bytes(1000), used_at, until))
    await find_answer(store, OTHER, b"key")
    await trim_answers(store, await store.read(answers.size) - 1)

    assert await find_answer(store, T, b"key") is None
    assert await find_answer(store, OTHER, b"key") is not None


async def test_a_known_chain_is_not_followed_by_a_response_of_another_tenant(store: Store) -> None:
    parent = replace(new_response(), tenant=OTHER)
    child = new_response(previous=parent.id)
    for response in (parent, child):
        await store.save(response)
    assert (await store.measure_chain(OTHER, parent.id, 9)).length == 1

    assert (await store.measure_chain(OTHER, child.id, 9)).length == 0


@pytest.mark.parametrize("is_down", [False, True])
async def test_a_page_of_items_has_none_of_a_response_of_another_tenant(
    store: Store, is_down: bool
) -> None:
    item = StoredItem(new_id("msg"), b"{}")
    parent = replace(new_response([StoredItem(new_id("msg"), b"{}")]), tenant=OTHER)
    child = new_response([item], previous=parent.id)
    for response in (parent, child):
        await store.save(response)

    page = await input_page(store, T, child.id, PageQuery(9, descending=is_down))
    assert page is not None
    assert list(page.data) == [item]


async def test_no_history_waits_to_read_what_another_tenant_has(store_url: str) -> None:
    reads = FairScheduler(1, 0)
    store = await open_store(store_url, reads=reads)
    large = new_response([StoredItem(new_id("msg"), b"x" * (FEW_BYTES + 1))])
    mine, theirs = (
        replace(new_response(previous=large.id), tenant=tenant) for tenant in (T, OTHER)
    )
    for response in (large, mine, theirs):
        await store.save(response)
    assert reads.take("somebody")
    for response in (large, mine):
        with pytest.raises(StoreError, match="too many large reads are waiting"):
            await store.read(responses.history, T, response.id)
    for response in (large, theirs):
        assert await store.read(responses.history, OTHER, response.id) is None
    await store.close()


async def test_an_item_is_found_in_its_own_conversation_only(store: Store) -> None:
    mine, another = (StoredConversation(new_id("conv"), 1, b"{}", T) for _ in range(2))
    item = StoredItem(new_id("msg"), b"{}")
    await store.write(conversations.create, mine, [item])
    await store.write(conversations.create, another, [])

    assert await store.read(conversations.item, T, another.id, item.id) is None
    assert await store.read(conversations.item, T, mine.id, item.id) is not None
