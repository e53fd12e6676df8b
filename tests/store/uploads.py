"""Promises about uploads in parts."""

import asyncio
import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import files as stored_files
from antiphon.storage.operations import sizes, uploads
from antiphon.storage.records.files import FileQuota, FileUse, StoredFile, StoredPart, StoredUpload
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.files import AMPLE, HOLD, OTHER, new_file, stale
from tests.store.making import hold

MOST = 4
"""Parts of an upload."""


def _new(tenant: str, size: int = 10, expires_in: int = 600) -> StoredUpload:
    now = int(time.time())
    values = "a.txt", "assistants", size, "text/plain", now, now + expires_in, None
    return StoredUpload(new_id("upload"), tenant, *values)


async def _part(
    store: Store, upload: StoredUpload, size: int, tenant: str = ""
) -> StoredPart | None:
    owner = tenant or upload.tenant
    part = StoredPart(new_id("part"), owner, upload.id, size, new_id("row"), int(time.time()))
    await store.write(stored_files.begin, owner, part.blob, HOLD)
    return part if await store.write(uploads.put_part, part, MOST) else None


async def _has_few_parts(store: Store) -> None:
    """An upload has at most a certain number of parts, also of empty ones."""
    upload = _new(new_id("tenant"))
    await store.write(uploads.create, upload, AMPLE)
    stored = [await _part(store, upload, 0) is not None for _ in range(MOST + 1)]
    hold(stored == [True] * MOST + [False], f"of {MOST} parts, these are stored: {stored}")
    await store.write(uploads.cancel, upload.tenant, upload.id)


async def _file(store: Store, upload: StoredUpload) -> StoredFile:
    file = new_file(upload.tenant, b"x" * upload.size)
    await store.write(stored_files.begin, upload.tenant, file.blob, HOLD)
    return file


async def _becomes_a_file(store: Store) -> None:
    """A pending upload accepts parts up to its size, and becomes a file once; then its parts' blobs
    are stale.
    """
    upload = replace(_new(new_id("tenant")), lifetime=3600)
    hold(await store.write(uploads.create, upload, AMPLE), "it is not stored")
    hold(
        await store.read(uploads.load, upload.tenant, upload.id) == upload,
        "it is not returned unchanged",
    )
    found = await asyncio.gather(*(_part(store, upload, 3) for _ in range(5)))
    parts = [part for part in found if part]
    hold(len(parts) == 3, f"{len(parts)} parts of 3 bytes are accepted for 10 announced bytes")
    stored = list(await store.read(uploads.parts, upload.tenant, upload.id))
    hold(sorted(p.id for p in stored) == sorted(p.id for p in parts), "the parts are not returned")
    files = [await _file(store, upload), await _file(store, upload)]
    created = [
        one
        for one in [await store.write(uploads.complete, file, upload.id) for file in files]
        if one
    ]
    hold(created == files[:1], f"it became {len(created)} files")
    hold(
        await store.read(stored_files.load, upload.tenant, files[0].id) == files[0],
        "its file does not exist",
    )
    hold(
        await store.read(stored_files.use, upload.tenant) == FileUse(1, 10),
        "it does not count as one file",
    )
    done = await store.read(uploads.load, upload.tenant, upload.id)
    hold(done == replace(upload, status="completed", file=files[0].id), f"it is {done}")
    hold(await store.read(uploads.parts, upload.tenant, upload.id) == [], "its parts exist")
    hold(await _part(store, upload, 1) is None, "it accepts a part after its end")
    blobs = {part.blob for part in parts}
    hold(await stale(store, *blobs, files[0].blob) == blobs, "the blobs of its parts are not stale")
    await store.write(stored_files.delete, upload.tenant, files[0].id)
    await stale(store)


async def _is_cancelled(store: Store) -> None:
    """A cancelled upload drops its parts and releases its reservation, once; it never becomes a
    file.
    """
    upload = _new(new_id("tenant"))
    await store.write(uploads.create, upload, AMPLE)
    part = await _part(store, upload, 10)
    hold(
        await store.read(stored_files.use, upload.tenant) == FileUse(1, 10),
        "it does not reserve its bytes",
    )
    hold(
        await store.read(sizes.stored_bytes, upload.tenant) == 10,
        "its bytes are not counted as stored",
    )
    ended = [await store.write(uploads.cancel, upload.tenant, upload.id) for _ in range(2)]
    hold(ended == [True, False], f"cancelled twice it returns {ended}")
    hold(
        await store.write(uploads.complete, await _file(store, upload), upload.id) is None,
        "it becomes a file after its end",
    )
    hold(
        part is not None and await stale(store, part.blob) == {part.blob},
        "the blob of its part is not stale",
    )
    hold(
        await store.read(stored_files.use, upload.tenant) == FileUse(0, 0),
        "it still reserves its bytes",
    )


async def _is_its_tenants(store: Store) -> None:
    """An upload and its parts are unknown to other tenants."""
    upload = _new(new_id("tenant"))
    await store.write(uploads.create, upload, AMPLE)
    await _part(store, upload, 1)
    hold(await store.read(uploads.load, OTHER, upload.id) is None, "another tenant sees it")
    hold(await store.read(uploads.parts, OTHER, upload.id) == [], "another tenant sees its parts")
    hold(await _part(store, upload, 1, OTHER) is None, "another tenant adds a part")
    hold(not await store.write(uploads.cancel, OTHER, upload.id), "another tenant cancels it")
    foreign = replace(await _file(store, upload), tenant=OTHER)
    hold(
        await store.write(uploads.complete, foreign, upload.id) is None,
        "another tenant completes it",
    )
    await store.write(uploads.cancel, upload.tenant, upload.id)


async def _expires(store: Store) -> None:
    """An expired upload accepts nothing more; `purge` drops its parts and releases its
    reservation.
    """
    upload = _new(new_id("tenant"), expires_in=-1)
    await store.write(uploads.create, upload, AMPLE)
    found = await store.read(uploads.load, upload.tenant, upload.id)
    hold(found == replace(upload, status="expired"), f"it is {found}")
    hold(await _part(store, upload, 1) is None, "it accepts a part")
    hold(not await store.write(uploads.cancel, upload.tenant, upload.id), "it is cancelled")
    hold(
        await store.write(uploads.complete, await _file(store, upload), upload.id) is None,
        "it becomes a file",
    )
    hold((await purge(store, dry_run=True))["pending_uploads"] >= 1, "it is not counted")
    hold((await purge(store))["pending_uploads"] >= 1, "it is not purged")
    hold(
        await store.read(stored_files.use, upload.tenant) == FileUse(0, 0),
        "it still reserves its bytes",
    )
    found = await store.read(uploads.load, upload.tenant, upload.id)
    hold(found == replace(upload, status="expired"), f"after the purge it is {found}")
    old = _new(upload.tenant, expires_in=-90_000)
    await store.write(uploads.create, old, AMPLE)
    hold((await purge(store))["uploads"] >= 1, "one that expired long ago is not purged")
    hold(
        await store.read(uploads.load, upload.tenant, old.id) is None,
        "one that expired long ago still exists",
    )


async def _quota_holds(store: Store) -> None:
    """Pending uploads reserve their bytes and one file each of the tenant's quota."""
    tenant = new_id("tenant")
    for quota, is_stored in (
        (FileQuota(2, 9), False),
        (FileQuota(2, 15), True),
        (FileQuota(2, 15), False),
    ):
        stored = await store.write(uploads.create, _new(tenant), quota)
        hold(stored is is_stored, f"an upload of 10 bytes with the quota {quota}: {stored}")
    hold(
        not await store.write(uploads.create, _new(tenant, 1), FileQuota(1, 99)),
        "a second upload was accepted, and one file is allowed",
    )
    hold(await store.read(stored_files.use, tenant) == FileUse(1, 10), "a rejected upload counts")
