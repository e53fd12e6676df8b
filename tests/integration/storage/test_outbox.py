"""The outbox of webhooks is read in turns by tenant, however much of it is due."""

import pytest

from antiphon import ids
from antiphon.storage.contract import Announcement, Store, StoredResponse, WebhookEndpoint
from antiphon.storage.open import open_store

EVENT = "response.completed"


async def register(store: Store, tenant: str, count: int) -> None:
    for number in range(count):
        endpoint = WebhookEndpoint(ids.new_id("we"), tenant, f"n{number}", "https://a.b", [EVENT], 1, 1, "whsec_x")
        await store.put_endpoint(endpoint)


async def end(store: Store, tenant: str, times: int) -> None:
    """End background responses of a tenant, which all its endpoints are told."""
    for _ in range(times):
        queued = StoredResponse(ids.new_id("resp"), 1, "queued", None, b"{}", tenant=tenant)
        await store.enqueue(queued, b"", [])
        job = await store.find_job(tenant, queued.id)
        assert job is not None
        await store.finish(job, queued, announcement=Announcement(ids.new_id("evt"), EVENT, int(ids.now()), b"{}"))


@pytest.mark.parametrize("limit", [6, 100])
async def test_each_tenant_has_its_turn(store_url: str, limit: int) -> None:
    store = await open_store(store_url)
    await register(store, "a", 5)
    await end(store, "a", 8)
    for tenant, times in (("b", 1), ("c", 3)):
        await register(store, tenant, 1)
        await end(store, tenant, times)
    due = await store.due(limit)
    assert len({one.id for one in due}) == len(due) == min(limit, 44)
    assert {one.tenant for one in due[:3]} == {"a", "b", "c"}
    assert sorted(one.tenant for one in due[3:5]) == ["a", "c"]
    for one in due:
        assert await store.claim_delivery(one.id, 60) is not None
    assert not {one.id for one in due} & {one.id for one in await store.due(limit)}
    await store.close()


async def test_one_endpoint_with_very_many_deliveries_fills_a_look(store_url: str) -> None:
    store = await open_store(store_url)
    await register(store, "a", 1)
    await end(store, "a", 20)
    assert len(await store.due(4)) == 4
    await store.close()
