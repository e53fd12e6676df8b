"""Uploads in parts: each part is a separate blob, and completing the upload joins them into the
blob of a file.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from hashlib import md5

import msgspec

from antiphon.errors import ClientError, StoreError
from antiphon.ids import Clock, NewId
from antiphon.objects.file_limits import ContentRoom, over_quota, too_large
from antiphon.objects.files import Files, file_object
from antiphon.objects.pages import JsonObject
from antiphon.protocol.filenames import clean_filename
from antiphon.protocol.files import MOST_PARTS, CompleteUpload, CreateUpload, lifetime_of
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import files as stored_files
from antiphon.storage.operations import uploads
from antiphon.storage.records.files import StoredFile, StoredPart, StoredUpload
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store

LIFETIME = 3600
"""Seconds within which all parts must arrive."""

PART = 64 * 1024 * 1024
"""Maximum bytes of a part."""

ENDED = {
    "completed": "is already completed",
    "cancelled": "was cancelled",
    "expired": "has expired: an upload must be completed within an hour",
}


class Uploads:
    """The uploads of all tenants. `files` stores their parts, and the files that they become."""

    def __init__(self, store: Store, files: Files, new_id: NewId, now: Clock) -> None:
        self._store = store
        self._files = files
        self._new_id = new_id
        self._now = now

    async def create(self, request: CreateUpload, identity: RequestIdentity) -> JsonObject:
        """Create an upload with the id of the ticket; return it.

        Raises `ClientError`: 413 for a file that is too large, 429 if it exceeds the tenant's
        quota.
        """
        limits = self._files.limits
        tenant = identity.tenant
        if request.bytes > limits.upload:
            raise too_large(limits.upload, "bytes")
        await self._files.check_storage(tenant, request.bytes)
        name = clean_filename(request.filename)
        now = int(self._now())
        if not name:
            raise ClientError(
                "Invalid 'filename': expected the name of a file, such as 'report.pdf'.",
                code="invalid_value",
                param="filename",
            )
        lifetime = lifetime_of(request.purpose, request.expires_after)
        values = (
            name,
            request.purpose,
            request.bytes,
            request.mime_type,
            now,
            now + LIFETIME,
            lifetime,
        )
        upload = StoredUpload(identity.response_id, tenant, *values)
        reply = (
            StoredReply(tenant, identity.key, False, msgspec.json.encode(upload_object(upload)))
            if identity.key
            else None
        )
        if not await self._store.write(uploads.create, upload, limits.quota, reply):
            raise over_quota(await self._store.read(stored_files.use, tenant), limits.quota)
        return upload_object(upload)

    async def pending(self, tenant: str, upload_id: str) -> StoredUpload:
        """Return an upload that accepts parts.

        Raises `ClientError`: 404 if it is unknown, 400 if it has ended.
        """
        upload = await self._found(tenant, upload_id)
        if upload.status != "pending":
            raise _ended(upload)
        return upload

    async def add_part(self, upload: StoredUpload, content: AsyncIterable[bytes]) -> JsonObject:
        """Store a part of a pending upload as it arrives; return the part.

        Raises `ClientError`: 400 if all parts together would exceed the upload's size, or are too
        many, 413 for a part that is too large.
        """
        room = _room_of(upload, PART, too_large(PART, "data"))
        written = await self._files.write(upload.tenant, content, room)
        try:
            now = int(self._now())
            part = StoredPart(
                self._new_id("part"), upload.tenant, upload.id, written.size, written.blob, now
            )
            if not await self._store.write(uploads.put_part, part, MOST_PARTS):
                await self.pending(upload.tenant, upload.id)
                parts = await self._store.read(uploads.parts, upload.tenant, upload.id)
                raise _too_many() if len(parts) >= MOST_PARTS else _too_much(upload)
        except BaseException:
            await self._files.drop(upload.tenant, written.blob)
            raise
        return _displayed_part(part)

    async def cancel(self, tenant: str, upload_id: str) -> JsonObject:
        """Cancel a pending upload; return it.

        Raises `ClientError`: 404 if it is unknown, 400 if it has ended.
        """
        upload = await self.pending(tenant, upload_id)
        if not await self._store.write(uploads.cancel, tenant, upload_id):
            raise _ended(await self._found(tenant, upload_id))
        await self._files.sweep_now()
        return upload_object(await self._found(tenant, upload.id))

    async def complete(self, tenant: str, upload_id: str, request: CompleteUpload) -> JsonObject:
        """Join the parts into a file, in the order of the request; return the upload with the file.

        Raises `ClientError`: 404 if the upload is unknown, 400 if it has ended, if a part does not
        belong to it, or if the size or MD5 of the bytes is not the announced one. The upload then
        remains pending.
        """
        upload = await self.pending(tenant, upload_id)
        parts = _chosen(
            upload, await self._store.read(uploads.parts, tenant, upload_id), request.part_ids
        )
        digest = md5(usedforsecurity=False)
        try:
            room = _room_of(upload, upload.size, _too_much(upload))
            written = await self._files.write(tenant, self._joined(parts), room, digest)
        except StoreError:
            await self.pending(
                tenant, upload_id
            )  # a request that has ended it in the meantime has deleted its parts
            raise
        try:
            if request.md5 is not None and digest.hexdigest() != request.md5.lower():
                raise ClientError(
                    f"The MD5 of the uploaded bytes is {digest.hexdigest()}, not the one in 'md5'. "
                    "The upload is still pending: upload the damaged parts again, "
                    "then complete it with the new part IDs.",
                    code="invalid_value",
                    param="md5",
                )
            file = self._files.new_file(
                tenant, upload.filename, upload.purpose, written, upload.lifetime
            )
            stored = await self._store.write(uploads.complete, file, upload_id)
            if (
                stored is None
            ):  # it was completed or cancelled or has expired while its parts were joined
                raise _ended(await self._found(tenant, upload_id))
        except BaseException:
            await self._files.drop(tenant, written.blob)
            raise
        await self._files.sweep_now()
        return upload_object(await self._found(tenant, upload_id), stored)

    async def _joined(self, parts: Sequence[StoredPart]) -> AsyncGenerator[bytes, None]:
        for part in parts:
            async for piece in self._files.read_blob(part.tenant, part.blob, 0, part.size):
                yield piece

    async def _found(self, tenant: str, upload_id: str) -> StoredUpload:
        upload = await self._store.read(uploads.load, tenant, upload_id)
        if upload is None:
            raise not_found(upload_id)
        return upload


def _room_of(upload: StoredUpload, most: int, error: ClientError) -> ContentRoom:
    """Return the room for content of an upload.

    Content received concurrently is limited to the upload's size.
    """
    return ContentRoom(most, error, upload.id, upload.size, _too_much(upload))


def _chosen(
    upload: StoredUpload, parts: Sequence[StoredPart], part_ids: Sequence[str]
) -> list[StoredPart]:
    """Return these parts in this order.

    Raises `ClientError` (400) if they are not the complete upload.
    """
    known = {part.id: part for part in parts}
    chosen = []
    for index, part_id in enumerate(part_ids):
        part = known.pop(part_id, None)
        if part is None:
            raise ClientError(
                f"Invalid 'part_ids[{index}]': '{part_id[:100]}' is not a part of this upload, or "
                "occurs twice.",
                code="invalid_value",
                param=f"part_ids[{index}]",
            )
        chosen.append(part)
    size = sum(part.size for part in chosen)
    if size != upload.size:
        raise ClientError(
            f"The parts have {size} bytes together, but the upload was announced "
            f"with {upload.size}. The upload is still pending: upload the missing parts, "
            "or list all part IDs.",
            code="invalid_value",
            param="part_ids",
        )
    return chosen


def upload_object(upload: StoredUpload, file: StoredFile | None = None) -> JsonObject:
    """Return an upload as an API object, with the resulting file."""
    return {
        "id": upload.id,
        "object": "upload",
        "bytes": upload.size,
        "created_at": upload.created_at,
        "expires_at": upload.expires_at,
        "filename": upload.filename,
        "purpose": upload.purpose,
        "status": upload.status,
        "file": None if file is None else file_object(file),
    }


def _displayed_part(part: StoredPart) -> JsonObject:
    return {
        "id": part.id,
        "object": "upload.part",
        "created_at": part.created_at,
        "upload_id": part.upload,
    }


def not_found(upload_id: str) -> ClientError:
    """Return the error for an unknown upload."""
    return ClientError(f"No such Upload object: {upload_id[:100]}", status=404, param="upload_id")


def _ended(upload: StoredUpload) -> ClientError:
    text = (
        f"The upload '{upload.id}' "
        f"{ENDED.get(upload.status, 'has changed in the meantime; try again')}."
    )
    return ClientError(text, code="upload_not_pending", param="upload_id")


def _too_many() -> ClientError:
    return ClientError(
        f"The upload has {MOST_PARTS:,} parts, which is the limit. Send larger parts in a new "
        "upload.",
        code="invalid_value",
        param="data",
    )


def _too_much(upload: StoredUpload) -> ClientError:
    return ClientError(
        f"The parts together exceed the {upload.size} bytes that were announced for the upload.",
        code="invalid_value",
        param="data",
    )
