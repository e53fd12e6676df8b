"""Operations on uploads in parts. Triggers drop the parts of an ended upload, and release its
reservation.
"""

from collections.abc import Sequence

from antiphon.errors import StoreError
from antiphon.storage.operations import files
from antiphon.storage.operations.responses import answer
from antiphon.storage.operations.step import (
    NOW,
    SHIFT,
    UNKNOWN_ITEMS,
    Operation,
    announce_read,
    first,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.files import FileQuota, StoredFile, StoredPart, StoredUpload
from antiphon.storage.records.tenants import StoredReply


@writes("create_upload")
def create(
    upload: StoredUpload, quota: FileQuota, reply: StoredReply | None = None
) -> Operation[bool]:
    """Store a new upload and reserve its bytes; return False if it exceeds the tenant's quota."""
    if not (yield from files.reserve(upload.tenant, upload.size, quota)):
        return False
    values = (
        upload.id,
        upload.tenant,
        upload.filename,
        upload.purpose,
        upload.size,
        upload.mime_type,
    )
    expires_at = upload.expires_at + (yield SHIFT)
    yield from query_rows("put_upload", *values, upload.created_at, expires_at, upload.lifetime)
    yield from answer(reply, upload.id)
    return True


@reads("load_upload")
def load(tenant: str, upload_id: str) -> Operation[StoredUpload | None]:
    """Return the upload, or None.

    A pending upload has the status `expired` after its expiry time.
    """
    now: int = yield NOW
    row = yield from first("load_upload", upload_id, tenant, now)
    return StoredUpload(*row) if row else None


@writes("put_part")
def put_part(part: StoredPart, most: int) -> Operation[bool]:
    """Store a part of a pending upload. The blob of the part must already be written.

    Return False if the upload is not pending, if it has `most` parts, or if its parts together
    would exceed the announced size.
    """
    now: int = yield NOW
    room = yield from first("grow_upload", part.upload, part.tenant, part.size, now, most)
    if room is None:
        return False
    # A part's blob is never shared, because it has no digest by which an equal blob could be found.
    used = yield from query_rows("use_blob", part.blob, part.tenant, b"")
    if not used:
        raise StoreError("The part took too long, and its data was deleted. Upload the part again.")
    yield from query_rows(
        "put_upload_part", part.id, part.upload, part.tenant, part.size, part.blob, part.created_at
    )
    return True


@reads("upload_parts")
def parts(tenant: str, upload_id: str) -> Operation[Sequence[StoredPart]]:
    """Return the parts of an upload, in the order in which they were stored."""
    yield from announce_read(UNKNOWN_ITEMS)
    return [StoredPart(*row) for row in (yield from query_rows("upload_parts", upload_id, tenant))]


@writes("cancel_upload", frees=True)
def cancel(tenant: str, upload_id: str) -> Operation[bool]:
    """Cancel a pending upload and drop its parts; return False if it is not pending."""
    now: int = yield NOW
    return bool((yield from query_rows("end_upload", upload_id, tenant, now, "cancelled", None)))


@writes("complete_upload")
def complete(file: StoredFile, upload_id: str) -> Operation[StoredFile | None]:
    """Turn a pending upload into the file, and drop its parts; return None if it is not pending.

    See `files.put`.
    """
    now: int = yield NOW
    ended = yield from query_rows("end_upload", upload_id, file.tenant, now, "completed", file.id)
    return (yield from files.place(file)) if ended else None
