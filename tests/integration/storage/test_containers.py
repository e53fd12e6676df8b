"""Containers in a store that two replicas share."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers, idempotency, sizes
from antiphon.storage.operations import files as stored_files
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.containers import ContainerQuota
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import expire_containers
from tests.store.containers import AMPLE, new_container, written

Now = Callable[[], float]


async def opened(url: str, now: Now = time.time) -> Store:
    return (
        SqliteStore.open(url, now=now)
        if url.startswith("sqlite")
        else await PostgresStore.open(url, now=now)
    )


@pytest.fixture
async def replicas(store_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores in one place, as two processes have them."""
    pair = await opened(store_url), await opened(store_url)
    yield pair
    for store in pair:
        await store.close()


async def test_the_quota_is_exact_over_replicas(replicas: tuple[Store, Store]) -> None:
    created = [new_container("t") for _ in range(12)]
    quota = ContainerQuota(5, 1, 1)
    admitted = await asyncio.gather(
        *(
            replicas[number % 2].write(containers.put, one, [], quota)
            for number, one in enumerate(created)
        )
    )
    assert sum(admitted) == 5


async def test_one_replica_leases_a_container_and_the_other_sees_the_owner_of_the_newest_kernel(
    replicas: tuple[Store, Store],
) -> None:
    one, other = replicas
    container = new_container("t")
    await one.write(containers.put, container, [], AMPLE)
    for _ in range(5):
        found = await asyncio.gather(
            one.write(containers.hold, "t", container.id, "a", "w1", 60),
            other.write(containers.hold, "t", container.id, "b", "w2", 60),
        )
        assert sorted(each.is_busy for each in found if each) == [False, True]
        for store, holder in ((one, "a"), (other, "b")):
            await store.write(containers.end_hold, "t", container.id, holder)
    last = await find_container(one, "t", container.id)
    assert last is not None
    assert (last.calls, last.is_busy, last.worker in ("w1", "w2")) == (5, False, True)


async def test_files_of_one_replica_are_read_by_the_other(replicas: tuple[Store, Store]) -> None:
    one, other = replicas
    container = new_container("t")
    await one.write(containers.put, container, [], AMPLE)
    (file,) = await written(one, container, "a.csv")
    await one.put_blob_part(file.blob, 0, b"content", is_last=True)
    await one.write(containers.put_files, container.tenant, container.id, [file], AMPLE)
    found = await other.read(containers.load_file, "t", container.id, file.id)
    assert found == file
    assert await other.blob_part(file.blob, 0) == b"content"


async def test_files_at_one_path_that_come_at_once_are_one_file(
    replicas: tuple[Store, Store],
) -> None:
    one, other = replicas
    container = new_container("t")
    await one.write(containers.put, container, [], AMPLE)
    files = await written(one, container, *["a.csv"] * 8)
    stored = await asyncio.gather(
        *(
            replicas[number % 2].write(
                containers.put_files, container.tenant, container.id, [file], AMPLE
            )
            for number, file in enumerate(files)
        )
    )
    assert len({stored[0].id for stored in stored if stored}) == 1
    assert await other.read(sizes.stored_bytes, "t") == 10
    assert len(await one.write(stored_files.claim_stale, 100)) == 7


async def test_a_use_is_written_at_most_once_a_minute(store_url: str) -> None:
    now = [time.time()]
    store = await opened(store_url, lambda: now[0])
    container = new_container("t", last_active_at=int(now[0]))
    short = new_container("t", 1, last_active_at=int(now[0]))
    for one in (container, short):
        await store.write(containers.put, one, [], AMPLE)
    seen = []
    for seconds in (14, 1, 44, 1):
        now[0] += seconds
        found = [
            await find_container(store, "t", one.id, is_used=True) for one in (container, short)
        ]
        seen.append([one.last_active_at - container.last_active_at for one in found if one])
    assert seen == [[0, 0], [0, 15], [0, 59], [60, 59]]
    await store.close()


async def test_an_expired_container_runs_no_calls_whatever_the_sweeper_does(store_url: str) -> None:
    now = [time.time()]
    store = await opened(store_url, lambda: now[0])
    container = new_container("t", last_active_at=int(now[0]))
    await store.write(containers.put, container, [], AMPLE)
    await store.write(containers.hold, "t", container.id, "h", "w", 30)
    now[0] += 20 * 60
    assert not await store.write(containers.renew_hold, "t", container.id, "h", 30)
    await store.write(containers.end_hold, "t", container.id, "h")
    now[0] -= 60  # before the sweeper marks it, the clock decides
    assert await store.write(containers.renew_hold, "t", container.id, "h", 30)
    now[0] += 21 * 60
    assert await expire_containers(store, 10) == 1
    now[0] -= 21 * 60  # from then on it never runs again
    found = await find_container(store, "t", container.id, is_used=True)
    assert (
        found and found.status,
        await store.write(containers.hold, "t", container.id, "h", "w", 30),
    ) == (
        "expired",
        None,
    )
    await store.close()


async def test_a_reply_is_stored_with_a_container_and_with_a_file(
    replicas: tuple[Store, Store],
) -> None:
    one, other = replicas
    container = new_container("t")
    (file,) = await written(one, container, "a.csv")
    for key, created in (("k1", container.id), ("k2", file.id)):
        await one.write(idempotency.reserve, "t", key, b"print", created, "w")
    await one.write(
        containers.put, container, [], AMPLE, reply=StoredReply("t", "k1", False, b"container")
    )
    await one.write(
        containers.put_files,
        container.tenant,
        container.id,
        [file],
        AMPLE,
        reply=StoredReply("t", "k2", False, b"file"),
    )
    replies = [(await other.read(idempotency.find, "t", key)) for key in ("k1", "k2")]
    assert [found and found.reply and found.reply.body for found in replies] == [
        b"container",
        b"file",
    ]
