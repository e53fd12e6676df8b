"""The outbox of webhooks is read in turns by tenant, however much of it is due."""

import pytest

from antiphon import ids
from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, webhooks
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Announcement, WebhookEndpoint
from antiphon.storage.store import Store

EVENT = "response.completed"


async def register(store: Store, tenant: str, count: int) -> None:
    for number in range(count):
        endpoint = WebhookEndpoint(
            ids.new_id("we"), tenant, f"n{number}", "https://a.b", [EVENT], 1, 1, "whsec_x"
        )
        await store.write(webhooks.put, endpoint)


async def end(store: Store, tenant: str, times: int) -> None:
    """End background responses of a tenant, which all its endpoints are told."""
    for _ in range(times):
        queued = StoredResponse(ids.new_id("resp"), 1, "queued", None, b"{}", tenant=tenant)
        await store.write(jobs.enqueue, queued, b"", [])
        job = await store.read(jobs.find_job, tenant, queued.id)
        assert job is not None
        await store.write(
            jobs.finish,
            job,
            queued,
            announcement=Announcement(ids.new_id("evt"), EVENT, int(ids.now()), b"{}"),
        )


@pytest.mark.parametrize("limit", [6, 100])
async def test_each_tenant_has_its_turn(store_url: str, limit: int) -> None:
    store = await open_store(store_url)
    await register(store, "a", 5)
    await end(store, "a", 8)
    for tenant, times in (("b", 1), ("c", 3)):
        await register(store, tenant, 1)
        await end(store, tenant, times)
    due = await store.write(webhooks.due, limit)
    assert len({one.id for one in due}) == len(due) == min(limit, 44)
    assert {one.tenant for one in due[:3]} == {"a", "b", "c"}
    assert sorted(one.tenant for one in due[3:5]) == ["a", "c"]
    for one in due:
        assert await store.write(webhooks.claim, one.id, 60) is not None
    assert not {one.id for one in due} & {one.id for one in await store.write(webhooks.due, limit)}
    await store.close()


@pytest.mark.parametrize("first", [0, 1])
async def test_of_very_many_deliveries_the_one_that_waits_longest_is_first(
    store_url: str, first: int
) -> None:
    store = await open_store(store_url)
    tenants = ("a", "b")
    for tenant in tenants:
        await register(store, tenant, 1)
        await end(store, tenant, 2)
    owners = sorted(
        {
            one.endpoint.id: one.endpoint.tenant for one in await store.read(webhooks.deliveries)
        }.items()
    )
    waits_longest = owners[first][1]
    for one in await store.read(webhooks.deliveries):
        await store.write(
            webhooks.postpone,
            one.id,
            int(ids.now()) - (9 if one.endpoint.tenant == waits_longest else 5),
            "later",
        )
    assert [one.tenant for one in await store.write(webhooks.due, 1)] == [waits_longest]
    await store.close()


async def test_of_very_many_deliveries_each_endpoint_of_a_tenant_has_its_turn(
    store_url: str,
) -> None:
    store = await open_store(store_url)
    await register(store, "a", 2)
    await end(store, "a", 10)
    waiting = await store.read(webhooks.deliveries)
    busy = waiting[0].endpoint.id
    for one in waiting:
        await store.write(
            webhooks.postpone,
            one.id,
            int(ids.now()) - (9 if one.endpoint.id == busy else 5),
            "later",
        )
    chosen = {one.id for one in await store.write(webhooks.due, 4)}
    assert sorted(one.endpoint.id == busy for one in waiting if one.id in chosen) == [
        False,
        False,
        True,
        True,
    ]
    await store.close()


async def test_of_few_deliveries_the_oldest_are_first_however_many_are_not_due(
    store_url: str,
) -> None:
    store = await open_store(store_url)
    await register(store, "a", 2)
    await end(store, "a", 12)
    waiting = await store.read(webhooks.deliveries)
    now = int(ids.now())
    busy = waiting[0].endpoint.id
    due = [
        [one for one in waiting if (one.endpoint.id == busy) is is_busy][:4]
        for is_busy in (True, False)
    ]
    for number, one in enumerate(
        waiting
    ):  # of the others some wait for another attempt, some were given up
        await store.write(webhooks.postpone, one.id, now + 600 if number % 2 else None, "later")
    for age, some in zip((9, 5), due, strict=True):
        for one in some:
            await store.write(webhooks.retry, one.id)
            await store.write(webhooks.postpone, one.id, now - age, "later")
    assert {one.id for one in await store.write(webhooks.due, 4)} == {one.id for one in due[0]}
    await store.close()


async def test_one_endpoint_with_very_many_deliveries_fills_a_poll(store_url: str) -> None:
    store = await open_store(store_url)
    await register(store, "a", 1)
    await end(store, "a", 20)
    assert len(await store.write(webhooks.due, 4)) == 4
    await store.close()
