"""Files and their blobs. Every operation treats an expired file as unknown.

The order of the steps makes a crash harmless. `begin` records the name of a blob, then the bytes
are written, then `put` makes a file use the blob. A recorded blob without a user becomes stale
after a time. The process that claims a stale blob deletes its bytes, then its record. So no bytes
exist without a record, and no file exists without bytes.
"""

from collections.abc import Sequence

from antiphon.errors import StoreError
from antiphon.storage.operations.lists import part as part_of_list
from antiphon.storage.operations.responses import answer
from antiphon.storage.operations.step import (
    NOW,
    SHIFT,
    Operation,
    Row,
    announce_read,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.operations.vector_stores import forget_file
from antiphon.storage.records.files import FileQuery, FileQuota, FileUse, StoredFile
from antiphon.storage.records.pages import Page
from antiphon.storage.records.tenants import StoredReply


@writes("put_file")
def put(
    file: StoredFile, quota: FileQuota, reply: StoredReply | None = None, reserved: str = ""
) -> Operation[StoredFile | None]:
    """Store a new file, after its blob is written; return None if it exceeds the tenant's quota.

    `reply` is stored for the `Idempotency-Key` that was reserved under the id `reserved`.

    If the tenant has another file with the same content, the returned file uses the blob of that
    file, and its own blob becomes stale. Raises `StoreError` if the blob was not begun, or is
    stale.
    """
    if not (yield from reserve(file.tenant, file.size, quota)):
        return None
    stored = yield from place(file)
    yield from answer(reply, reserved)
    return stored


def reserve(tenant: str, size: int, quota: FileQuota) -> Operation[bool]:
    """Add one file to the tenant's count, unless that would exceed the quota.

    The count is always exact.
    """
    if quota.files < 1 or size > quota.size:
        return False
    return bool((yield from query_rows("reserve_files", tenant, size, quota.files, quota.size)))


def place(file: StoredFile) -> Operation[StoredFile]:
    """Insert a file that the quota already includes; return the file with its blob."""
    row = yield from first("share_blob", file.tenant, file.digest)
    if row is None:
        used = yield from query_rows("use_blob", file.blob, file.tenant, file.digest)
        if not used:
            raise StoreError(
                "The upload took too long, and its data was deleted. Upload the file again."
            )
        blob: str = file.blob
    else:
        (blob,) = row
        yield from spare(file.tenant, file.blob)
    values = file.id, file.tenant, file.filename, file.purpose, file.size, file.digest, blob
    expires_at = None if file.expires_at is None else file.expires_at + (yield SHIFT)
    yield from query_rows("put_file", *values, file.created_at, expires_at)
    return StoredFile(*values, file.created_at, expires_at)


@reads("load_file")
def load(tenant: str, file_id: str) -> Operation[StoredFile | None]:
    """Return the file, or None if it is unknown."""
    now: int = yield NOW
    row = yield from first("load_file", file_id, tenant, now)
    return _file(row) if row else None


@writes("delete_file", frees=True)
def delete(tenant: str, file_id: str) -> Operation[bool]:
    """Delete the file; its blob becomes stale unless another file uses it.

    Return False if the file is unknown.
    """
    now: int = yield NOW
    yield from query_rows(
        "lock_stores_of_file", file_id
    )  # stores before files, the same order as in `attach`
    if not (yield from query_rows("delete_file", file_id, tenant, now)):
        return False
    yield from forget_file(file_id)
    return True


@reads("file_page")
def page(tenant: str | None, query: FileQuery) -> Operation[Page[StoredFile]]:
    """Return one page of the tenant's files, or of all tenants' files if `tenant` is None."""
    now: int = yield NOW
    scope, own = ("_of_all", ()) if tenant is None else ("", (tenant,))
    places: dict[str, int] = {}
    if query.after is not None:
        row = yield from first(f"file_place{scope}", query.after, *own, now)
        if row is None:
            return Page(unknown="after")
        places["after"] = row[0]
    yield from announce_read(query.limit)
    rows, has_more = yield from part_of_list(
        f"files{scope}", own, (now, query.purpose), query, places
    )
    return Page(tuple(map(_file, rows)), has_more)


@reads("file_use")
def use(tenant: str) -> Operation[FileUse]:
    """Return how much of the quota the tenant uses."""
    row = yield from first("file_use", tenant)
    return FileUse(*row) if row else FileUse(0, 0)


@writes("begin_blob")
def begin(tenant: str, blob: str, hold: int) -> Operation[None]:
    """Record a blob before its bytes are written.

    It becomes stale after `hold` seconds unless it is used.
    """
    yield from query_rows("begin_blob", blob, tenant, (yield NOW) + hold)


@writes("spare_blob", frees=True)
def spare(tenant: str, blob: str) -> Operation[None]:
    """Make a blob stale that was begun but not used."""
    yield from query_rows("spare_blob", blob, tenant)


@writes("claim_stale_blobs", is_of_all=True, frees=True)
def claim_stale(limit: int) -> Operation[Sequence[str]]:
    """Claim and return stale blobs.

    Nothing can use them from now on: delete their bytes, then `forget_blobs`.
    """
    now: int = yield NOW
    return [row[0] for row in (yield from query_rows("claim_stale_blobs", now, limit))]


@writes("forget_blobs", is_of_all=True, frees=True)
def forget(blobs: Sequence[str]) -> Operation[None]:
    """Delete the records of claimed blobs, after their bytes were deleted."""
    yield from query_many("forget_blob", [(blob,) for blob in blobs])


@writes("postpone_blobs", is_of_all=True, frees=True)
def postpone(blobs: Sequence[str], delay: int) -> Operation[None]:
    """Make claimed blobs claimable again after `delay` seconds, because their bytes could not be
    deleted.
    """
    stale_at = (yield NOW) + delay
    yield from query_many("postpone_blob", [(blob, stale_at) for blob in blobs])


@writes("put_blob_part", is_of_all=True)
def put_part(blob: str, number: int, data: bytes) -> Operation[None]:
    """Store a part of a blob."""
    yield from query_rows("put_blob_part", blob, number, data)


@reads("blob_part", is_of_all=True)
def part(blob: str, number: int) -> Operation[bytes | None]:
    """Return one part of a blob, or None."""
    row = yield from first("blob_part", blob, number)
    return row[0] if row else None


@writes("delete_blob_parts", is_of_all=True, frees=True)
def delete_parts(blob: str, limit: int) -> Operation[int]:
    """Delete some parts of a blob; return the number of deleted parts."""
    return len((yield from query_rows("delete_blob_parts", blob, limit)))


def _file(row: Row) -> StoredFile:
    return StoredFile(*row)
