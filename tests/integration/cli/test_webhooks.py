"""`antiphon webhooks retry`: a delivery that has failed reaches its endpoint after all."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from antiphon import ids
from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, webhooks
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Announcement, WebhookEndpoint
from antiphon.storage.store import Store
from antiphon.webhooks.courier import Courier, webhook_reach
from tests.support.cli import antiphon
from tests.support.receiver import Receiver, receiving
from tests.support.waiting import eventually

EVENT = "response.completed"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as one:
        yield one


async def abandoned(store: Store, url: str, count: int) -> list[str]:
    """Let so many deliveries fail; return their ids."""
    await store.write(
        webhooks.put, WebhookEndpoint("we_1", "a", "n", url, [EVENT], 1, 1, "whsec_bmV3")
    )
    for _ in range(count):
        queued = StoredResponse(ids.new_id("resp"), 1, "queued", None, b"{}", tenant="a")
        await store.write(jobs.enqueue, queued, b"", [])
        job = await store.read(jobs.find_job, "a", queued.id)
        assert job is not None
        await store.write(
            jobs.finish,
            job,
            queued,
            announcement=Announcement(ids.new_id("evt"), EVENT, 1_700_000_000, b"{}"),
        )
    found = [one.id for one in await store.read(webhooks.deliveries)]
    for one in found:
        await store.write(webhooks.postpone, one, None, "it answered with status 500")
    return found


async def test_one_delivery_is_attempted_again_by_the_server_that_runs(
    tmp_path: Path, store_url: str, receiver: Receiver
) -> None:
    store = await open_store(store_url)
    first, second = await abandoned(store, receiver.url, 2)
    courier = Courier(store, ids.now, webhook_reach(allows_private=True))
    courier.start()
    done = await antiphon(tmp_path, "webhooks", "retry", first, "--store", store_url)
    await receiver.wait_for(1)
    left = await eventually(partial(store.read, webhooks.deliveries), lambda left: len(left) <= 1)
    await courier.close()
    await store.close()

    assert (done.code, done.out.strip()) == (0, f"Delivery {first} will be retried.")
    assert [headers["webhook-id"] for headers, _ in receiver.received] == [first]
    assert [one.id for one in left] == [second]


async def test_a_listed_delivery_has_its_whole_id(tmp_path: Path, store_url: str) -> None:
    store = await open_store(store_url)
    (delivery,) = await abandoned(store, "http://127.0.0.1:9/", 1)
    await store.close()

    listed = await antiphon(tmp_path, "webhooks", "deliveries", "--store", store_url, COLUMNS="80")

    assert f" {delivery} " in listed.out
    assert "it answered with status 500" in listed.out


async def test_all_abandoned_deliveries_are_attempted_again(
    tmp_path: Path, store_url: str, receiver: Receiver
) -> None:
    store = await open_store(store_url)
    found = await abandoned(store, receiver.url, 3)
    done = await antiphon(tmp_path, "webhooks", "retry", "--failed", "--store", store_url)
    due = [one.id for one in await store.write(webhooks.due, 10)]
    await store.close()

    assert (done.code, done.out.strip()) == (0, "Deliveries to retry: 3.")
    assert sorted(due) == sorted(found)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "Name a delivery"),
        (("wh_1", "--failed"), "Name a delivery"),
        (("wh_1",), "The delivery 'wh_1' does not exist"),
    ],
)
async def test_retrying_deliveries_requires_a_selection(
    tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    done = await antiphon(
        tmp_path, "webhooks", "retry", *flags, "--store", f"sqlite://{tmp_path}/a.db"
    )

    assert done.code == 2
    assert words in done.err
