"""What an id leads to, in both databases."""

import time
from collections.abc import AsyncIterator

import pytest
from msgspec.json import encode
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.operations import conversations, facts_values, finding
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.records.found import FoundObject, FoundObjects
from antiphon.storage.records.responses import StoredConversation, StoredItem, StoredResponse
from antiphon.storage.store import Store
from tests.store.facts import NOW, new_facts
from tests.store.making import new_response


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()


def calling(tenant: str, call_id: str, began: int = NOW) -> StoredResponse:
    """A response that made one call."""
    item = StoredItem(new_id("fc"), b'{"call_id":' + encode(call_id) + b"}")
    response = new_response((), [item])
    facts = new_facts(response.id, tenant, began=began, tools=" function ")
    return replace(response, tenant=tenant, facts=facts)


async def test_an_item_leads_to_the_response_that_produced_it(store: Store) -> None:
    tenant = new_id("tenant")
    item = StoredItem(new_id("msg"), b"{}")
    producer = replace(new_response((), [item]), tenant=tenant)
    receiver = replace(new_response([item]), tenant=tenant)
    await store.save(receiver)
    found = FoundObject("response", receiver.id, tenant, item.id)
    assert await store.read(finding.find, tenant, item.id) == FoundObjects([found])
    await store.save(producer)
    found = FoundObject("response", producer.id, tenant, item.id)
    for reader in (tenant, None):
        assert await store.read(finding.find, reader, item.id) == FoundObjects([found])
    assert await store.read(finding.find, new_id("tenant"), item.id) == FoundObjects([])


async def test_an_item_leads_to_its_conversation(store: Store) -> None:
    tenant = new_id("tenant")
    conversation = StoredConversation(new_id("conv"), 1, b"{}", tenant)
    item = StoredItem(new_id("msg"), b"{}")
    await store.write(conversations.create, conversation, [item])
    for reader in (tenant, None):
        of_item = await store.read(finding.find, reader, item.id)
        assert of_item.found == [FoundObject("conversation", conversation.id, tenant, item.id)]
        itself = await store.read(finding.find, reader, conversation.id)
        assert itself.found == [FoundObject("conversation", conversation.id, tenant)]
    assert (await store.read(finding.find, new_id("tenant"), conversation.id)).found == []


async def test_a_call_leads_to_its_response(store: Store) -> None:
    tenant = new_id("tenant")
    one, other = calling(tenant, 'call_"1'), calling(tenant, "call_12")
    for response in (one, other):
        await store.save(response)
    for call_id, response in (('call_"1', one), ("call_12", other)):
        (found,) = (await store.read(finding.find, tenant, call_id)).found
        assert (found.id, found.part) == (response.id, response.output[0].id)
    assert (await store.read(finding.find, new_id("tenant"), "call_12")).found == []
    for unknown in ("call_1", "call_%", "call_*"):
        assert await store.read(finding.find, tenant, unknown) == FoundObjects([])


async def test_so_many_responses_are_searched_for_a_call(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "AT_ONCE", 2)
    monkeypatch.setattr(finding, "MOST_CALLING", 4)
    tenant = new_id("tenant")
    for number in range(1, 7):
        await store.save(calling(tenant, f"call_{number}", NOW + number))
    for number in (6, 3):
        assert (await store.read(finding.find, tenant, f"call_{number}")).found
    unknown = await store.read(finding.find, tenant, "call_2")
    assert unknown == FoundObjects([], searched_since=NOW + 3)
    monkeypatch.setattr(finding, "MOST_BYTES", 0)
    unknown = await store.read(finding.find, tenant, "call_2")
    assert unknown == FoundObjects([], searched_since=NOW + 5)


async def test_a_call_with_a_time_is_searched_from_that_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "AT_ONCE", 1)
    monkeypatch.setattr(finding, "MOST_CALLING", 1)
    tenant = new_id("tenant")
    call_id = new_id("call")
    now = int(time.time() * 1000)
    older = calling(tenant, call_id, now)
    for response in (older, calling(tenant, "call_1", now + 2 * finding.SKEW)):
        await store.save(response)
    (found,) = (await store.read(finding.find, tenant, call_id)).found
    assert found.id == older.id


async def test_values_of_recent_responses_are_counted(store: Store) -> None:
    tenant = new_id("tenant")
    models = ["a", "b", "b", "b", "a", "c"]
    facts = [
        new_facts(tenant=tenant, began=number, model=model, tools=" function roll ")
        for number, model in enumerate(models)
    ]
    await store.write(stored_facts.put_new, facts)
    counted = await store.read(facts_values.values, tenant, "model")
    assert counted == [("b", 3), ("a", 2), ("c", 1)]
    assert await store.read(facts_values.values, tenant, "model", 5) == [("c", 1)]
    assert await store.read(facts_values.values, tenant, "tool") == [(" function roll ", 6)]
    assert await store.read(facts_values.values, new_id("tenant"), "model") == []
    for field in facts_values.COLUMNS:
        assert await store.read(facts_values.values, tenant, field)
