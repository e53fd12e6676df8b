"""The bytes that tenants have stored, counted by the statements of both databases."""

import asyncio
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from antiphon.storage.open import open_store
from antiphon.storage.operations import idempotency, responses, sizes
from antiphon.storage.operations.idempotency import RETAINED
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.tenants import StorageUse, StoredReply, TenantSize
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import new_items, new_response


async def opened(url: str, now: Callable[[], float]) -> Store:
    return (
        SqliteStore.open(url, now=now)
        if url.startswith("sqlite")
        else await PostgresStore.open(url, now=now)
    )


async def test_replies_count_until_their_keys_are_purged(store_url: str) -> None:
    now = [time.time()]
    store = await opened(store_url, lambda: now[0])
    for tenant, reply in (("a", b"first"), ("b", b"second")):
        created = replace(new_response(), tenant=tenant, is_stored=False)
        await store.write(idempotency.reserve, tenant, "key", b"print", created.id, "w")
        await store.save(created, reply=StoredReply(tenant, "key", False, reply))
    assert [await store.read(sizes.stored_bytes, tenant) for tenant in "ab"] == [5, 6]
    now[0] += RETAINED + 1
    await store.write(idempotency.reserve, "a", "key", b"print", "resp_1", "w")
    assert [await store.read(sizes.stored_bytes, tenant) for tenant in "ab"] == [0, 6]
    await purge(store)
    assert [await store.read(sizes.stored_bytes, tenant) for tenant in "ab"] == [0, 0]
    await store.close()


@pytest.mark.wide("postgres")
async def test_sums_of_many_writers_are_exact(store_url: str) -> None:
    first = await open_store(store_url)
    second = await open_store(store_url)
    for store in (first, second):
        await store.read(sizes.stored_bytes, "a")
    created = [
        replace(new_response(new_items("ten bytes!")), tenant=tenant) for tenant in "ab" * 40
    ]
    await asyncio.gather(
        *((first, second)[number % 3 % 2].save(one) for number, one in enumerate(created))
    )
    await asyncio.gather(
        *(
            (first, second)[number % 2].write(responses.delete, one.tenant, one.id)
            for number, one in enumerate(created[20:])
        )
    )
    assert [await first.read(sizes.stored_bytes, tenant) for tenant in "ab"] == [10 * (2 + 10)] * 2
    assert [
        (one.tenant, one.stored_bytes) for one in (await first.read(sizes.storage_use, 5)).largest
    ] == [
        ("a", 120),
        ("b", 120),
    ]
    for store in (first, second):
        await store.close()


async def test_tenants_that_have_deleted_everything_are_not_listed(store_url: str) -> None:
    store = await open_store(store_url)
    assert await store.read(sizes.storage_use, 10) == StorageUse([], 0, 0)
    created = [
        replace(new_response(new_items("a" * 10 * number)), tenant=f"t{number}")
        for number in range(4)
    ]
    for one in created:
        await store.save(one)
    await store.write(responses.delete, "t3", created[3].id)
    assert await store.read(sizes.storage_use, 2) == StorageUse(
        [TenantSize("t2", 22), TenantSize("t1", 12)], 3, 2 + 12 + 22
    )
    await store.close()
