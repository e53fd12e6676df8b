"""Uploads in parts, as acts. Triggers drop the parts of an upload that ends, and release what it reserved."""

from collections.abc import Sequence

from antiphon.errors import StoreError
from antiphon.storage.operations import files
from antiphon.storage.operations.responses import answer
from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import FileQuota, Reply, StoredFile, StoredPart, StoredUpload


def create(upload: StoredUpload, quota: FileQuota, reply: Reply | None) -> Operation[bool]:
    """Put a new upload in, if the quota admits it."""
    if not (yield from files.reserve(upload.tenant, upload.size, quota)):
        return False
    values = upload.id, upload.tenant, upload.filename, upload.purpose, upload.size, upload.mime_type
    yield from ask("put_upload", *values, upload.created_at, upload.expires_at, upload.lifetime)
    yield from answer(reply, upload.id)
    return True


def load(tenant: str, upload_id: str, now: int) -> Operation[StoredUpload | None]:
    """Get an upload."""
    row = yield from first("load_upload", upload_id, tenant, now)
    return StoredUpload(*row) if row else None


def put_part(part: StoredPart, now: int) -> Operation[bool]:
    """Put a part in, if its upload is pending and has room for it."""
    room = yield from first("grow_upload", part.upload, part.tenant, part.size, now)
    if room is None:
        return False
    # A part is never shared: it has no digest by which another blob could be found.
    used = yield from ask("use_blob", part.blob, part.tenant, b"")
    if not used:
        raise StoreError("The part took too long: what was written is deleted already. Upload the part again.")
    yield from ask("put_upload_part", part.id, part.upload, part.tenant, part.size, part.blob, part.created_at)
    return True


def parts(tenant: str, upload_id: str) -> Operation[Sequence[StoredPart]]:
    """Get the parts of an upload."""
    return [StoredPart(*row) for row in (yield from ask("upload_parts", upload_id, tenant))]


def cancel(tenant: str, upload_id: str, now: int) -> Operation[bool]:
    """Cancel a pending upload."""
    return bool((yield from ask("end_upload", upload_id, tenant, now, "cancelled", None)))


def complete(upload_id: str, file: StoredFile, now: int) -> Operation[StoredFile | None]:
    """Make a pending upload a file; the quota counts its bytes already."""
    ended = yield from ask("end_upload", upload_id, file.tenant, now, "completed", file.id)
    return (yield from files.place(file)) if ended else None
