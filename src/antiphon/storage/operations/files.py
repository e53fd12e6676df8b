"""Operations on files and their blobs."""

from collections.abc import Sequence

from antiphon.errors import StoreError
from antiphon.storage.operations.lists import part as part_of_list
from antiphon.storage.operations.responses import answer
from antiphon.storage.operations.step import Operation, Row, announce_read, ask, ask_many, first
from antiphon.storage.operations.vector_stores import forget_file
from antiphon.storage.records import FilePage, FileQuery, FileQuota, FileUse, Reply, StoredFile


def put(file: StoredFile, quota: FileQuota, reply: Reply | None, reserved: str) -> Operation[StoredFile | None]:
    """Insert a new file, if the quota allows it."""
    if not (yield from reserve(file.tenant, file.size, quota)):
        return None
    stored = yield from place(file)
    yield from answer(reply, reserved)
    return stored


def reserve(tenant: str, size: int, quota: FileQuota) -> Operation[bool]:
    """Add one file to the tenant's count, unless that would exceed the quota. The count is always exact."""
    if quota.files < 1 or size > quota.size:
        return False
    return bool((yield from ask("reserve_files", tenant, size, quota.files, quota.size)))


def place(file: StoredFile) -> Operation[StoredFile]:
    """Insert a file that the quota already includes; return the file with its blob."""
    row = yield from first("share_blob", file.tenant, file.digest)
    if row is None:
        used = yield from ask("use_blob", file.blob, file.tenant, file.digest)
        if not used:
            raise StoreError("The upload took too long, and its data was deleted. Upload the file again.")
        blob: str = file.blob
    else:
        (blob,) = row
        yield from spare(file.tenant, file.blob)
    values = file.id, file.tenant, file.filename, file.purpose, file.size, file.digest, blob
    yield from ask("put_file", *values, file.created_at, file.expires_at)
    return StoredFile(*values, file.created_at, file.expires_at)


def load(tenant: str, file_id: str, now: int) -> Operation[StoredFile | None]:
    """Return a file."""
    row = yield from first("load_file", file_id, tenant, now)
    return _file(row) if row else None


def delete(tenant: str, file_id: str, now: int) -> Operation[bool]:
    """Delete a file, including from all vector stores; return whether it existed.

    Triggers release its blob and its share of the quota.
    """
    yield from ask("lock_stores_of_file", file_id)  # stores before files, the same order as in `attach`
    if not (yield from ask("delete_file", file_id, tenant, now)):
        return False
    yield from forget_file(file_id)
    return True


def page(tenant: str | None, query: FileQuery, now: int) -> Operation[FilePage]:
    """Return one page of a tenant's files, or of all tenants' files."""
    scope, own = ("_of_all", ()) if tenant is None else ("", (tenant,))
    places: dict[str, int] = {}
    if query.after is not None:
        row = yield from first(f"file_place{scope}", query.after, *own, now)
        if row is None:
            return FilePage(is_unknown=True)
        places["after"] = row[0]
    yield from announce_read(query.limit)
    rows, has_more = yield from part_of_list(f"files{scope}", own, (now, query.purpose), query, places)
    return FilePage(tuple(map(_file, rows)), has_more)


def use(tenant: str) -> Operation[FileUse]:
    """Return how much of the quota a tenant uses."""
    row = yield from first("file_use", tenant)
    return FileUse(*row) if row else FileUse(0, 0)


def begin(tenant: str, blob: str, stale_at: int) -> Operation[None]:
    """Record a blob before its bytes are written."""
    yield from ask("begin_blob", blob, tenant, stale_at)


def spare(tenant: str, blob: str) -> Operation[None]:
    """Make an unused blob stale."""
    yield from ask("spare_blob", blob, tenant)


def claim_stale(now: int, limit: int) -> Operation[Sequence[str]]:
    """Claim blobs for the deletion of their bytes."""
    return [row[0] for row in (yield from ask("claim_stale_blobs", now, limit))]


def forget(blobs: Sequence[str]) -> Operation[None]:
    """Delete the records of claimed blobs."""
    yield from ask_many("forget_blob", [(blob,) for blob in blobs])


def postpone(blobs: Sequence[str], stale_at: int) -> Operation[None]:
    """Make claimed blobs claimable again later."""
    yield from ask_many("postpone_blob", [(blob, stale_at) for blob in blobs])


def put_part(blob: str, number: int, data: bytes) -> Operation[None]:
    """Store a part of a blob."""
    yield from ask("put_blob_part", blob, number, data)


def part(blob: str, number: int) -> Operation[bytes | None]:
    """Return a part of a blob."""
    row = yield from first("blob_part", blob, number)
    return row[0] if row else None


def delete_parts(blob: str, limit: int) -> Operation[int]:
    """Delete some parts of a blob; return the number of deleted parts."""
    return len((yield from ask("delete_blob_parts", blob, limit)))


def _file(row: Row) -> StoredFile:
    return StoredFile(*row)
