"""Promises about files, the blobs with their content, and the quota."""

import asyncio
import time
from hashlib import sha256

from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.ids import new_file_id, new_id
from antiphon.storage.operations import files as stored_files
from antiphon.storage.operations import sizes
from antiphon.storage.records.files import BLOB_PART, FileQuery, FileQuota, FileUse, StoredFile
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import T, hold

OTHER = T + "2"

AMPLE = FileQuota(1_000_000, 2**40)

HOLD = 3600
"""Seconds for which a blob of these checks can wait for its file."""


def new_file(tenant: str, content: bytes = b"content", expires_at: int | None = None) -> StoredFile:
    """Return a file that is not stored yet."""
    values = (
        new_file_id(),
        tenant,
        "a\u00e9.txt",
        "assistants",
        len(content),
        sha256(content).digest(),
        new_id("row"),
    )
    return StoredFile(*values, int(time.time()), expires_at)


async def put(store: Store, file: StoredFile, quota: FileQuota = AMPLE) -> StoredFile | None:
    """Store a file as a server does: the blob is recorded first."""
    await store.write(stored_files.begin, file.tenant, file.blob, HOLD)
    return await store.write(stored_files.put, file, quota)


async def stale(store: Store, *expected: str) -> set[str]:
    """Return which of these blobs are stale; all stale ones are claimed and deleted."""
    found = await store.write(stored_files.claim_stale, 10_000)
    await store.write(stored_files.forget, found)
    return set(found) & set(expected)


async def _is_stored(store: Store) -> None:
    """A file is returned as it was stored, until it is deleted, and it is unknown to other
    tenants.
    """
    file = new_file(T)
    hold(await put(store, file) == file, "it is not stored")
    hold(await store.read(stored_files.load, T, file.id) == file, "it is not returned unchanged")
    hold(await store.read(stored_files.load, OTHER, file.id) is None, "another tenant sees it")
    hold(not await store.write(stored_files.delete, OTHER, file.id), "another tenant deletes it")
    hold(await store.write(stored_files.delete, T, file.id), "it is not deleted")
    hold(not await store.write(stored_files.delete, T, file.id), "it is deleted twice")
    hold(await store.read(stored_files.load, T, file.id) is None, "it still exists")


async def _is_paged(store: Store) -> None:
    """Files are listed in the order of their creation, in both directions, by purpose, in pages."""
    tenant = new_id("tenant")
    files = [
        replace(new_file(tenant, bytes([n])), purpose="vision" if n == 2 else "batch")
        for n in range(4)
    ]
    for file in files:
        await put(store, file)
    for query, numbers, has_more in (
        (FileQuery(10), [3, 2, 1, 0], False),
        (FileQuery(2), [3, 2], True),
        (FileQuery(2, files[2].id), [1, 0], False),
        (FileQuery(2, descending=False), [0, 1], True),
        (FileQuery(5, files[1].id, descending=False), [2, 3], False),
        (FileQuery(5, purpose="vision"), [2], False),
        (FileQuery(1, files[3].id, purpose="batch"), [1], True),
        (FileQuery(1, purpose="evals"), [], False),
    ):
        page = await store.read(stored_files.page, tenant, query)
        found = [files.index(file) for file in page.data]
        hold(
            (found, page.has_more) == (numbers, has_more),
            f"{query} returns {found}, more: {page.has_more}",
        )
    hold(
        (await store.read(stored_files.page, tenant, FileQuery(1, new_file_id()))).unknown,
        "an unknown file begins a page",
    )
    hold(
        (await store.read(stored_files.page, OTHER, FileQuery(1, files[0].id))).unknown,
        "another tenant's file begins a page",
    )
    mixed = [*files, new_file(OTHER)]
    await put(store, mixed[-1])
    everything = await store.read(stored_files.page, None, FileQuery(10_000))
    listed = [file for file in everything.data if file in mixed]
    hold(listed == mixed[::-1], "the list of all tenants lacks some, or has them in another order")
    behind = await store.read(stored_files.page, None, FileQuery(2, mixed[-1].id))
    hold(
        behind.data == (files[3], files[2]) and behind.has_more,
        "a page of the list of all tenants is wrong",
    )
    hold(
        (await store.read(stored_files.page, None, FileQuery(1, new_file_id()))).unknown,
        "an unknown file begins a page of all",
    )
    for file in mixed:
        await store.write(stored_files.delete, file.tenant, file.id)


async def _shares_content(store: Store) -> None:
    """Files of one tenant with the same content have one blob, which is stale once the last of them
    is deleted.
    """
    tenant = new_id("tenant")
    first = new_file(tenant)
    second = new_file(tenant)
    foreign = new_file(OTHER)
    await put(store, first)
    shared = await put(store, second)
    hold(
        shared == replace(second, blob=first.blob),
        f"the second file has the blob {shared and shared.blob}",
    )
    stored = await put(store, foreign)
    hold(stored == foreign, "a file has the blob of another tenant")
    blobs = first.blob, second.blob, foreign.blob
    hold(await stale(store, *blobs) == {second.blob}, "the blob that was not needed is not stale")
    await store.write(stored_files.delete, tenant, first.id)
    hold(await stale(store, *blobs) == set(), "the blob of a file is stale")
    await store.write(stored_files.delete, tenant, second.id)
    hold(await stale(store, *blobs) == {first.blob}, "the blob of deleted files is not stale")
    await store.write(stored_files.delete, OTHER, foreign.id)
    await stale(store)


async def _unused_blobs_are_stale(store: Store) -> None:
    """An unused blob is stale when its time is over or `spare_blob` names it; then no file can use
    it.
    """
    retained, over, spared = (new_file(T, content) for content in (b"held", b"over", b"spared"))
    await store.write(stored_files.begin, T, retained.blob, HOLD)
    await store.write(stored_files.begin, T, over.blob, -1)
    await store.write(stored_files.begin, T, spared.blob, HOLD)
    await store.write(stored_files.spare, OTHER, retained.blob)
    await store.write(stored_files.spare, T, spared.blob)
    claimed = set(await store.write(stored_files.claim_stale, 10_000)) & {
        retained.blob,
        over.blob,
        spared.blob,
    }
    hold(claimed == {over.blob, spared.blob}, f"of three blobs {len(claimed)} are stale")
    for file in (over, replace(retained, blob=new_id("row"))):
        try:
            await store.write(stored_files.put, file, AMPLE)
        except StoreError:
            pass
        else:
            hold(False, "a file has a blob that was claimed, or was never begun")
    hold(await store.read(stored_files.load, T, over.id) is None, "a file without a blob is stored")
    await store.write(stored_files.postpone, [over.blob], HOLD)
    again = set(await store.write(stored_files.claim_stale, 10_000))
    hold(spared.blob in again, "a blob that was claimed and not deleted is lost")
    hold(over.blob not in again, "a blob that was postponed is claimed at once")
    await store.write(stored_files.forget, [over.blob, spared.blob])
    hold(
        await store.write(stored_files.put, retained, AMPLE) == retained,
        "a blob cannot be used before its time is over",
    )
    await store.write(stored_files.delete, T, retained.id)
    await stale(store)


async def _quota_is_exact(store: Store) -> None:
    """A tenant never has more files or bytes than its quota, also with concurrent uploads; the
    count is exact.
    """
    tenant = new_id("tenant")
    quota = FileQuota(3, 100)
    files = [new_file(tenant, bytes([n]) * 10) for n in range(6)]
    stored = [
        one for one in await asyncio.gather(*(put(store, file, quota) for file in files)) if one
    ]
    hold(len(stored) == 3, f"{len(stored)} files are stored, and 3 are allowed")
    hold(
        await store.read(stored_files.use, tenant) == FileUse(3, 30),
        f"3 files of 10 bytes are {await store.read(stored_files.use, tenant)}",
    )
    hold(
        await store.read(sizes.stored_bytes, tenant) == 30,
        "the bytes of files are not counted as stored",
    )
    await store.write(stored_files.delete, tenant, stored[0].id)
    large = new_file(tenant, b"l" * 81)
    hold(await put(store, large, quota) is None, "101 bytes are stored, and 100 are allowed")
    fits = replace(new_file(tenant, b"l" * 80), expires_at=int(time.time()) - 1)
    hold(await put(store, fits, quota) is not None, "100 bytes are not stored, and 100 are allowed")
    await purge(store)
    hold(
        await store.read(stored_files.use, tenant) == FileUse(2, 20), "an expired file still counts"
    )
    for file in stored[1:]:
        await store.write(stored_files.delete, tenant, file.id)
    left = await store.read(stored_files.use, tenant), await store.read(sizes.stored_bytes, tenant)
    hold(left == (FileUse(0, 0), 0), f"of nothing there is {left}")
    await stale(store)


async def _expires(store: Store) -> None:
    """A file that has expired is unknown, and `purge` deletes it and makes its blob stale."""
    tenant = new_id("tenant")
    now = int(time.time())
    old = new_file(tenant, b"old", now - 1)
    young = new_file(tenant, b"young", now + 600)
    await put(store, old)
    await put(store, young)
    hold(await store.read(stored_files.load, tenant, old.id) is None, "an expired one is found")
    hold(not await store.write(stored_files.delete, tenant, old.id), "an expired one is deleted")
    hold(
        (await store.read(stored_files.page, tenant, FileQuery(5))).data == (young,),
        "the list has an expired one",
    )
    hold((await purge(store, dry_run=True))["files"] >= 1, "an expired one is not counted")
    hold((await purge(store))["files"] >= 1, "an expired one is not purged")
    hold(await stale(store, old.blob, young.blob) == {old.blob}, "its blob is not stale")
    await store.write(stored_files.delete, tenant, young.id)
    await stale(store)


async def _parts_are_stored(store: Store) -> None:
    """Parts of a blob are returned byte for byte, until they are deleted."""
    blob = new_id("row")
    other = new_id("row")
    parts = [b"\0\xff" * (BLOB_PART // 2), b"", b"end"]
    for number, part in enumerate(parts):
        await store.put_blob_part(blob, number, part, is_last=number == 2)
    await store.put_blob_part(other, 0, b"other", is_last=True)
    hold(
        [await store.blob_part(blob, n) for n in range(4)] == [*parts, None],
        "parts are returned changed",
    )
    await store.delete_blob_parts(blob)
    await store.delete_blob_parts(blob)
    hold([await store.blob_part(blob, n) for n in range(3)] == [None] * 3, "deleted parts exist")
    hold(await store.blob_part(other, 0) == b"other", "another blob's part was deleted")
    await store.delete_blob_parts(other)
