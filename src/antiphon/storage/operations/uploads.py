"""Operations on uploads in parts. Triggers drop the parts of an ended upload, and release its reservation."""

from collections.abc import Sequence

from antiphon.errors import StoreError
from antiphon.storage.operations import files
from antiphon.storage.operations.responses import answer
from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import FileQuota, Reply, StoredFile, StoredPart, StoredUpload


def create(upload: StoredUpload, quota: FileQuota, reply: Reply | None) -> Operation[bool]:
    """Insert a new upload, if the quota allows it."""
    if not (yield from files.reserve(upload.tenant, upload.size, quota)):
        return False
    values = upload.id, upload.tenant, upload.filename, upload.purpose, upload.size, upload.mime_type
    yield from ask("put_upload", *values, upload.created_at, upload.expires_at, upload.lifetime)
    yield from answer(reply, upload.id)
    return True


def load(tenant: str, upload_id: str, now: int) -> Operation[StoredUpload | None]:
    """Return an upload."""
    row = yield from first("load_upload", upload_id, tenant, now)
    return StoredUpload(*row) if row else None


def put_part(part: StoredPart, now: int) -> Operation[bool]:
    """Insert a part, if its upload is pending and has room for it."""
    room = yield from first("grow_upload", part.upload, part.tenant, part.size, now)
    if room is None:
        return False
    # A part's blob is never shared, because it has no digest by which an equal blob could be found.
    used = yield from ask("use_blob", part.blob, part.tenant, b"")
    if not used:
        raise StoreError("The part took too long, and its data was deleted. Upload the part again.")
    yield from ask("put_upload_part", part.id, part.upload, part.tenant, part.size, part.blob, part.created_at)
    return True


def parts(tenant: str, upload_id: str) -> Operation[Sequence[StoredPart]]:
    """Return the parts of an upload."""
    return [StoredPart(*row) for row in (yield from ask("upload_parts", upload_id, tenant))]


def cancel(tenant: str, upload_id: str, now: int) -> Operation[bool]:
    """Cancel a pending upload."""
    return bool((yield from ask("end_upload", upload_id, tenant, now, "cancelled", None)))


def complete(upload_id: str, file: StoredFile, now: int) -> Operation[StoredFile | None]:
    """Turn a pending upload into a file. The quota already includes its bytes."""
    ended = yield from ask("end_upload", upload_id, file.tenant, now, "completed", file.id)
    return (yield from files.place(file)) if ended else None
