"""Promises about containers, their holders, and what their expiry deletes."""

import asyncio
import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers, sizes
from antiphon.storage.operations import files as stored_files
from antiphon.storage.records.containers import (
    ContainerQuery,
    ContainerQuota,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.store import Store
from antiphon.storage.upkeep import expire_containers, purge
from tests.store.files import HOLD, stale
from tests.store.making import T, hold

OTHER = T + "2"

AMPLE = ContainerQuota(1_000_000, 100, 2**40)

ALL = ContainerQuery(100, descending=False)


def new_container(tenant: str = T, idle: int = 20, **fields: object) -> StoredContainer:
    """Return a container that is not stored yet, which was used just now and expires after `idle`
    minutes.
    """
    now = int(time.time())
    created = StoredContainer(
        new_id("cntr"), tenant, "a\0é", now, now, idle, network_policy='{"type":"disabled"}'
    )
    return replace(created, **fields)  # type: ignore[arg-type]


def expired_container(tenant: str = T) -> StoredContainer:
    """Return a container that is not stored yet, and that was idle for too long."""
    return new_container(tenant, last_active_at=int(time.time()) - 20 * 60 - 5)


def new_container_file(
    container: StoredContainer, name: str = "a.csv", size: int = 10, blob: str = ""
) -> StoredContainerFile:
    """Return a file of a container that is not stored yet."""
    values = (
        new_id("cfile"),
        container.tenant,
        container.id,
        f"/mnt/data/{name}",
        size,
        blob or new_id("row"),
    )
    return StoredContainerFile(*values, "user", int(time.time()))


async def written(
    store: Store, container: StoredContainer, *names: str, size: int = 10
) -> list[StoredContainerFile]:
    """Return files of a container after `begin_blob` for each, as a server does before it stores
    them.
    """
    files = [new_container_file(container, name, size) for name in names]
    for file in files:
        await store.write(stored_files.begin, file.tenant, file.blob, HOLD)
    return files


async def stored(
    store: Store, tenant: str = T, *names: str
) -> tuple[StoredContainer, list[StoredContainerFile]]:
    """Store a container with files of these names."""
    container = new_container(tenant)
    files = await written(store, container, *names)
    hold(await store.write(containers.put, container, files, AMPLE), "it is not stored")
    return container, files


async def _is_stored(store: Store) -> None:
    """A container is returned as it was stored until it is deleted, once, and it is unknown to
    other tenants.
    """
    container = new_container(is_auto=True, memory_limit="4g")
    hold(await store.write(containers.put, container, [], AMPLE), "it is not stored")
    hold(await find_container(store, T, container.id) == container, "it is not returned unchanged")
    again = replace(container, name="other")
    hold(
        await store.write(containers.put, again, [], AMPLE),
        "it is not found when it is stored again",
    )
    hold(await find_container(store, T, container.id) == container, "storing it again changes it")
    hold(await find_container(store, OTHER, container.id) is None, "another tenant sees it")
    hold(not await store.write(containers.delete, OTHER, container.id), "another tenant deletes it")
    hold(
        await store.write(containers.hold, OTHER, container.id, "h", "w", 60) is None,
        "another tenant holds it",
    )
    hold(await store.write(containers.delete, T, container.id), "it is not deleted")
    hold(not await store.write(containers.delete, T, container.id), "it is deleted twice")
    hold(await find_container(store, T, container.id) is None, "it still exists")


async def _is_paged(store: Store) -> None:
    """Containers are listed in the order of their creation, in both directions, by name, of one
    tenant or of all.
    """
    tenant = new_id("tenant")
    created = [new_container(tenant, name="odd" if n % 2 else "even") for n in range(4)]
    for one in created:
        await store.write(containers.put, one, [], AMPLE)
    for query, numbers, has_more in (
        (ContainerQuery(10), [3, 2, 1, 0], False),
        (ContainerQuery(2), [3, 2], True),
        (ContainerQuery(2, created[2].id), [1, 0], False),
        (ContainerQuery(3, created[0].id, descending=False), [1, 2, 3], False),
        (ContainerQuery(1, name="odd"), [3], True),
        (ContainerQuery(5, created[3].id, name="odd"), [1], False),
        (ContainerQuery(5, descending=False, name="even"), [0, 2], False),
        (ContainerQuery(5, name="none"), [], False),
    ):
        page = await store.read(containers.page, tenant, query)
        found = [created.index(one) for one in page.data]
        hold(
            (found, page.has_more) == (numbers, has_more),
            f"{query} returns {found}, more: {page.has_more}",
        )
    hold(
        (await store.read(containers.page, OTHER, ContainerQuery(1, created[0].id))).unknown,
        "another tenant's container begins a page",
    )
    mixed = [*created, new_container(OTHER)]
    await store.write(containers.put, mixed[-1], [], AMPLE)
    everything = (await store.read(containers.page, None, ContainerQuery(10_000))).data
    hold(
        [one for one in everything if one in mixed] == mixed[::-1],
        "the list of all tenants lacks some",
    )
    named = await store.read(containers.page, None, ContainerQuery(1, mixed[-1].id, name="odd"))
    hold(named.data == (created[3],), "a page of the list of all tenants is wrong")
    hold(
        (await store.read(containers.page, None, ContainerQuery(1, new_id("cntr")))).unknown,
        "an unknown id begins one",
    )
    for one in mixed:
        await store.write(containers.delete, one.tenant, one.id)


async def _quota_is_exact(store: Store) -> None:
    """A tenant never runs more containers than its quota, also concurrently; expired ones do not
    count.
    """
    tenant = new_id("tenant")
    quota = ContainerQuota(3, 100, 2**40)
    created = [expired_container(tenant), *(new_container(tenant) for _ in range(6))]
    admitted = await asyncio.gather(
        *(store.write(containers.put, one, [], quota) for one in created)
    )
    running = [
        one for one, is_admitted in zip(created[1:], admitted[1:], strict=True) if is_admitted
    ]
    hold(len(running) == 3, f"{len(running)} containers run, and 3 are allowed")
    await store.write(containers.delete, tenant, running[0].id)
    same = new_container(tenant)
    twice = await asyncio.gather(*(store.write(containers.put, same, [], quota) for _ in range(4)))
    hold(all(twice), "a container that is stored several times at once is rejected")
    hold(
        not await store.write(containers.put, new_container(tenant), [], quota),
        "a fourth container is admitted",
    )
    hold(
        await store.write(containers.put, running[1], [], quota),
        "one that already exists is rejected",
    )
    for one in [*created, same]:
        await store.write(containers.delete, tenant, one.id)


async def _one_holds_it(store: Store) -> None:
    """Of many concurrent holders of a container one holds it, until it ends the hold; each call is
    counted.
    """
    container, _ = await stored(store)
    holders = [new_id("call") for _ in range(8)]
    found = await asyncio.gather(
        *(store.write(containers.hold, T, container.id, one, "w1", 60) for one in holders)
    )
    have = [
        holder
        for holder, one in zip(holders, found, strict=True)
        if one is not None and not one.is_busy
    ]
    hold(len(have) == 1 and None not in found, f"{len(have)} of 8 hold it")
    (holder,) = have
    before = found[holders.index(holder)]
    hold(before == container, "it is not returned as it was before")
    now = await find_container(store, T, container.id)
    hold(
        now is not None and (now.worker, now.calls, now.is_busy) == ("w1", 1, True),
        f"a held container is {now}",
    )
    late = next(one for one in holders if one != holder)
    hold(
        not await store.write(containers.renew_hold, T, container.id, late, 60),
        "another worker renews the hold",
    )
    await store.write(containers.end_hold, T, container.id, late)
    hold(
        await store.write(containers.renew_hold, T, container.id, holder, 60),
        "its holder cannot renew the hold",
    )
    await store.write(containers.end_hold, T, container.id, holder)
    hold(
        not await store.write(containers.renew_hold, T, container.id, holder, 60),
        "a hold that was ended is renewed",
    )
    after = await store.write(containers.hold, T, container.id, late, "w2", 60)
    hold(
        after is not None and (after.worker, after.calls, after.is_busy) == ("w1", 1, False),
        f"then it is {after}",
    )
    await store.write(containers.delete, T, container.id)


async def _holds_end(store: Store) -> None:
    """A hold expires; once another holder has the container, the first can neither renew nor
    write.
    """
    container, _ = await stored(store)
    await store.write(containers.hold, T, container.id, "lost", "w1", 0)
    is_busy = await find_container(store, T, container.id)
    hold(is_busy is not None and not is_busy.is_busy, "it is busy after the hold has ended")
    files = await written(store, container, "a", "b")
    hold(
        await store.write(
            containers.put_files, container.tenant, container.id, files[:1], AMPLE, "lost"
        )
        is not None,
        "no other holder, but it failed",
    )
    taken = await store.write(containers.hold, T, container.id, "next", "w2", 60)
    hold(
        taken is not None and (taken.is_busy, taken.worker, taken.calls) == (False, "w1", 1),
        f"it is {taken}",
    )
    hold(
        not await store.write(containers.renew_hold, T, container.id, "lost", 60),
        "a lost hold is renewed",
    )
    hold(
        await store.write(
            containers.put_files, container.tenant, container.id, files[1:], AMPLE, "lost"
        )
        is None,
        "the former holder writes",
    )
    await store.write(containers.end_hold, T, container.id, "lost")
    hold(
        await store.write(
            containers.put_files, container.tenant, container.id, files[1:], AMPLE, "next"
        )
        == files[1:],
        "the holder cannot write",
    )
    await store.write(containers.delete, T, container.id)
    await stale(store)


async def _deleting_ends_calls(store: Store) -> None:
    """A container that is deleted while it is held accepts nothing more: its holder can neither
    renew nor write.
    """
    container, (first,) = await stored(store, T, "a")
    await store.write(containers.hold, T, container.id, "h", "w", 60)
    hold(
        await store.write(containers.delete, T, container.id), "a held container cannot be deleted"
    )
    (late,) = await written(store, container, "b")
    hold(
        not await store.write(containers.renew_hold, T, container.id, "h", 60),
        "the hold of a deleted container is renewed",
    )
    hold(
        await store.write(containers.put_files, container.tenant, container.id, [late], AMPLE, "h")
        is None,
        "a deleted container accepts a file",
    )
    await store.write(containers.end_hold, T, container.id, "h")
    hold(await find_container(store, T, container.id) is None, "ending the hold restores it")
    hold(
        await stale(store, first.blob) == {first.blob},
        "the blob of a deleted container is not stale",
    )
    await store.write(stored_files.spare, T, late.blob)
    await stale(store)


async def _expires(store: Store) -> None:
    """A container that was idle for too long expires permanently; its files are deleted, its row
    remains readable.
    """
    tenant = new_id("tenant")
    old = expired_container(tenant)
    (young, saved) = await stored(store, tenant, "kept")
    ancient = replace(expired_container(tenant), last_active_at=1)
    await store.write(containers.put, ancient, [], AMPLE)
    files = await written(store, old, "a", "b")
    hold(await store.write(containers.put, old, files, AMPLE), "it is not stored")
    expected = replace(old, status="expired")
    for is_used in (False, True):
        hold(
            await find_container(store, tenant, old.id, is_used=is_used) == expected,
            "it is not shown as expired",
        )
    states = [(one.id, one.status) for one in (await store.read(containers.page, tenant, ALL)).data]
    hold(
        states == [(young.id, "running"), (ancient.id, "expired"), (old.id, "expired")],
        f"the list has {states}",
    )
    await _takes_nothing(store, old, files[0])
    hold(await expire_containers(store, 10_000) >= 1, "it is not swept")
    blobs = [file.blob for file in (*files, *saved)]
    hold(
        await stale(store, *blobs) == {file.blob for file in files}, "not only its blobs are stale"
    )
    hold(
        await store.read(sizes.stored_bytes, tenant) == 10,
        "bytes of an expired container still count",
    )
    hold(await find_container(store, tenant, old.id) == expected, "its row is no longer readable")
    hold(
        (await purge(store, dry_run=True))["containers"] >= 1,
        "a row past its retention time is not counted",
    )
    hold((await purge(store))["containers"] >= 1, "a row past its retention time is not purged")
    hold(await find_container(store, tenant, ancient.id) is None, "a purged row still exists")
    hold(
        await find_container(store, tenant, old.id) == expected,
        "its row is deleted before the retention time",
    )
    hold(await find_container(store, tenant, young.id) == young, "a running one was purged")
    for one in (young, old):
        await store.write(containers.delete, tenant, one.id)
    await stale(store)


async def _takes_nothing(store: Store, old: StoredContainer, file: StoredContainerFile) -> None:
    (late,) = await written(store, old, "late")
    hold(
        await store.write(containers.hold, old.tenant, old.id, "h", "w", 60) is None,
        "an expired container is held",
    )
    hold(
        await store.write(containers.put_files, old.tenant, old.id, [late], AMPLE) is None,
        "an expired container accepts a file",
    )
    hold(
        await store.read(containers.load_file, old.tenant, old.id, file.id) is None,
        "its file is found",
    )
    hold(
        await store.write(containers.delete_files, old.tenant, old.id, [file.id]) == 0,
        "its file is deleted",
    )
    hold(
        not (await store.read(containers.file_page, old.tenant, old.id, ALL)).data,
        "its files are listed",
    )
    await store.write(stored_files.spare, old.tenant, late.blob)


async def _use_moves_the_expiry(store: Store) -> None:
    """Using or holding a container extends its expiry; reading it does not, and a held container
    does not expire.
    """
    before = int(time.time()) - 19 * 60
    idle, used, retained = (new_container(last_active_at=before) for _ in range(3))
    for one in (idle, used, retained):
        await store.write(containers.put, one, [], AMPLE)
    await find_container(store, T, idle.id)
    active = await find_container(store, T, used.id, is_used=True)
    hold(active is not None and active.last_active_at > before, "a use is not recorded")
    hold(await find_container(store, T, used.id) == active, "a use is not stored")
    await store.write(containers.hold, T, retained.id, "h", "w", 60)
    found = [await find_container(store, T, one.id) for one in (idle, retained)]
    times = [one.last_active_at if one else 0 for one in found]
    hold(
        times[0] == before < times[1],
        f"reading one and holding another changes {before} to {times}",
    )
    long = new_container(idle=1)
    await store.write(containers.put, long, [], AMPLE)
    await store.write(containers.hold, T, long.id, "h", "w", 3600)
    hold(
        await store.write(containers.renew_hold, T, long.id, "h", 7200),
        "a hold that is longer than the idle time is not renewed",
    )
    for one in (idle, used, retained, long):
        await store.write(containers.delete, T, one.id)
