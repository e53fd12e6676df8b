"""Deliveries: signed with the secrets that are in force, made side by side, and shared between
tenants.
"""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.abc import MetaPathFinder
from typing import Any

import pytest

import antiphon.outbound.client
from antiphon import ids, packages
from antiphon.errors import ClientError, StoreError
from antiphon.objects.webhooks import Webhooks
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, webhooks
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Announcement, Delivery, WebhookEndpoint
from antiphon.storage.store import Store
from antiphon.webhooks import courier as couriers
from antiphon.webhooks.courier import Courier, webhook_reach
from tests.support.changed_stores import replace_operation
from tests.support.hanging import Hanging, hanging
from tests.support.receiver import Receiver, receiving
from tests.support.waiting import eventually, until

NOW = 1_700_000_000
EVENT = "response.completed"
CLIENT = "antiphon.outbound.client"
SECRETS = ("whsec_bmV3", "whsec_b2xk")


@pytest.fixture(autouse=True)
def promptly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(couriers, "POLL_INTERVAL", 0.02)


def endpoint(url: str, tenant: str = "a", **fields: Any) -> WebhookEndpoint:
    return WebhookEndpoint(ids.new_id("we"), tenant, "n", url, [EVENT], 1, 1, SECRETS[0], **fields)


async def end(store: Store, tenant: str) -> None:
    """End a background response of a tenant, which its endpoints are told."""
    response_id = ids.new_id("resp")
    queued = StoredResponse(response_id, 1, "queued", None, b"{}", tenant=tenant)
    await store.write(jobs.enqueue, queued, b"", [])
    job = await store.read(jobs.find_job, tenant, response_id)
    assert job is not None
    await store.write(
        jobs.finish,
        job,
        queued,
        announcement=Announcement(ids.new_id("evt"), EVENT, int(ids.now()), b"{}"),
    )


@asynccontextmanager
async def running(store: Store, **options: Any) -> AsyncIterator[Courier]:
    one = Courier(store, ids.now, webhook_reach(allows_private=True), **options)
    one.start()
    try:
        yield one
    finally:
        await one.close()
        await store.close()


@pytest.mark.parametrize(("left", "signatures"), [(1, 2), (0, 1), (-1, 1)])
async def test_an_old_secret_signs_until_its_time_is_over(left: int, signatures: int) -> None:
    store = await open_store("sqlite://")
    async with receiving() as receiver:
        one = Courier(store, lambda: NOW, webhook_reach(allows_private=True))
        to = endpoint(receiver.url, old_secret=SECRETS[1], old_secret_until=NOW + left)
        assert await one.send(to, "wh_1", b"{}") == 200
    assert len(receiver.received[0][0]["webhook-signature"].split()) == signatures
    await store.close()


async def test_the_http_client_is_imported_outside_of_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    importing = list[threading.Thread]()

    class Watcher(MetaPathFinder):
        def find_spec(self, name: str, path: Any, target: Any = None) -> None:
            if name == CLIENT:
                importing.append(threading.current_thread())

    monkeypatch.setattr(sys, "meta_path", [Watcher(), *sys.meta_path])
    monkeypatch.setattr(
        antiphon.outbound, "client", antiphon.outbound.client
    )  # the test's import is undone
    monkeypatch.delitem(sys.modules, CLIENT)
    for remembered in (packages.problem_with, packages.load_module):
        remembered.cache_clear()
    store = await open_store("sqlite://")
    async with receiving() as receiver:
        one = Courier(store, ids.now, webhook_reach(allows_private=True))
        assert await one.send(endpoint(receiver.url), "wh_1", b"{}") == 200
    await store.close()
    assert len(importing) == 1
    assert threading.main_thread() not in importing


async def test_an_attempt_begins_while_others_hang(store_url: str) -> None:
    store = await open_store(store_url)
    async with hanging() as silent, receiving() as receiver, running(store):
        await store.write(webhooks.put, endpoint(silent.url))
        for _ in range(5):
            await end(store, "a")
        await silent.wait_for(5)
        await store.write(webhooks.put, endpoint(receiver.url))
        await end(store, "a")
        await receiver.wait_for(1)


async def test_deliveries_of_one_tenant_beyond_its_share_leave_capacity_for_others() -> None:
    store = await open_store("sqlite://")
    turns = FairScheduler(8, 100, leaves_room=True)
    async with hanging() as silent, receiving() as receiver, running(store, turns=turns):
        await fill(store, silent, 20)
        await silent.wait_for(6)
        assert turns.waiting
        await store.write(webhooks.put, endpoint(receiver.url, "b"))
        await end(store, "b")
        await receiver.wait_for(1)
        assert silent.requested < 20


async def test_a_delivery_that_waits_for_its_turn_is_not_claimed() -> None:
    store = await open_store("sqlite://")
    turns = FairScheduler(1, 100)
    async with hanging() as silent, running(store, turns=turns):
        await fill(store, silent, 3)
        await silent.wait_for(1)
        await until(lambda: turns.waiting >= 2)
        waiting = [one for one in await store.read(webhooks.deliveries) if not one.attempts]
        assert len(waiting) == 2
        assert {one.id for one in await store.write(webhooks.due, 10)} == {
            one.id for one in waiting
        }


async def test_more_deliveries_than_one_poll_finds_are_all_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(couriers, "QUERY_INTERVAL", 4)
    monkeypatch.setattr(couriers, "POLL_INTERVAL", 0.5)
    store = await open_store("sqlite://")
    async with receiving() as receiver:
        await fill(store, receiver, 30)
        async with running(store):
            await receiver.wait_for(30)
    assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 30


async def test_an_attempt_that_never_ends_is_over_before_another_process_repeats_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(couriers, "LONGEST_ATTEMPT", 0.05)
    store = await open_store("sqlite://")
    async with hanging() as silent, running(store):
        await fill(store, silent, 1)
        (delivery,) = await postponed(store)
    assert delivery.last_error == "its name was not resolved in time"
    assert couriers.LONGEST_ATTEMPT < couriers.HOLD


async def test_a_store_that_fails_meanwhile_ends_no_courier() -> None:
    store = await open_store("sqlite://")
    failing = [True]

    async def fail_once(delivery_id: str, hold: int) -> Delivery | None:
        if failing.pop() if failing else False:
            raise StoreError("the disk is full")
        claimed: Delivery | None = await claim(delivery_id, hold)
        return claimed

    claim = replace_operation(store, webhooks.claim, fail_once)
    async with receiving() as receiver, running(store):
        await fill(store, receiver, 1)
        await receiver.wait_for(1)
    assert not failing


async def test_a_test_takes_its_tenants_turn() -> None:
    store = await open_store("sqlite://")
    turns = FairScheduler(1, 0)
    async with hanging() as silent, running(store, turns=turns) as one:
        await store.write(webhooks.put, endpoint(silent.url))
        reach = webhook_reach(allows_private=True)
        endpoints = Webhooks(store, one, ids.new_id, ids.now, reach)
        (mine,) = await store.read(webhooks.endpoints, "a")
        first = asyncio.create_task(endpoints.test("a", mine.id, EVENT))
        await silent.wait_for(1)
        with pytest.raises(ClientError) as caught:
            await endpoints.test("a", mine.id, EVENT)
        first.cancel()
        await asyncio.wait({first})
    assert (caught.value.status, caught.value.code) == (429, "rate_limit_exceeded")
    assert int(caught.value.headers["retry-after"]) >= 1


async def fill(store: Store, to: Hanging | Receiver, count: int) -> None:
    """Have so many deliveries due for tenant A."""
    await store.write(webhooks.put, endpoint(to.url))
    for _ in range(count):
        await end(store, "a")


async def postponed(store: Store) -> list[Delivery]:
    """The deliveries once one of them was tried in vain."""
    return await eventually(
        partial(store.read, webhooks.deliveries), lambda found: any(one.last_error for one in found)
    )
