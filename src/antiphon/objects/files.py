"""Files: their content is streamed to and from the blob storage, and rows refer to it.

`Files` serves `/v1/files`, and finds and reads files for runs and jobs. Its content methods
(`write`, `drop`, `read_blob`) also serve other objects with content: parts of uploads, files in
containers, images.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import msgspec

from antiphon.errors import ClientError, StoreError, log
from antiphon.ids import Clock, new_file_id, now
from antiphon.objects.file_limits import ContentRoom, FileLimits, over_quota, over_storage, room_of
from antiphon.objects.pages import JsonObject, page_of, unknown_bound
from antiphon.protocol.files import FileForm, FilesQuery, lifetime_of
from antiphon.recording.persistence import RequestIdentity
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.sizes import ROW
from antiphon.storage.blobs.base import BlobStorage
from antiphon.storage.operations import files, sizes
from antiphon.storage.records.files import FileQuery, StoredFile
from antiphon.storage.records.pages import Page
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store

HOLD = 2 * 86_400
"""Maximum seconds for writing a blob. The slowest accepted client needs 18 hours for 512 MB."""

RETRY = 3600
"""Seconds after which the deletion of a blob is retried."""

SWEPT_AT_ONCE = 100
"""Maximum number of stale blobs to delete in one step."""


class Digest(Protocol):
    """A digest of `hashlib`."""

    def update(self, data: Any, /) -> object:
        """Add bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """A blob that was written but does not yet belong to a file."""

    blob: str
    size: int
    digest: bytes
    """SHA-256 of the content."""


class Files:
    """The files of all tenants.

    A `FileReader`. `offload` builds large pages.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStorage,
        limits: FileLimits | None = None,
        clock: Clock = now,
        offload: Offload | None = None,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._now = clock
        self._offload = offload or Offload(thread_turns())
        self.limits = limits or FileLimits()
        self._receiving: dict[str, int] = {}
        """Bytes of the content that this process is receiving, by owner."""

    # The API's objects.

    async def create(
        self, form: FileForm, filename: str, written: Written, identity: RequestIdentity
    ) -> JsonObject:
        """Create a file of the ticket's tenant from written content, and store it as the reply for
        the ticket's key.

        Raises `ClientError` (429) if it exceeds the tenant's quota, `StoreError`. The caller must
        then `drop` the blob.
        """
        tenant = identity.tenant
        lifetime = lifetime_of(form.purpose, form.expires_after)
        file = self.new_file(tenant, filename, form.purpose, written, lifetime)
        reply = (
            StoredReply(tenant, identity.key, False, msgspec.json.encode(file_object(file)))
            if identity.key
            else None
        )
        stored = await self._store.write(
            files.put, file, self.limits.quota, reply, identity.response_id
        )
        if stored is None:
            raise over_quota(await self._store.read(files.use, tenant), self.limits.quota)
        if stored.blob != file.blob:
            await self.sweep_now()
        return file_object(stored)

    async def list(self, tenant: str, query: FilesQuery) -> JsonObject:
        """Return a page of the files; a large page is built in a thread. Raises as `page`."""
        page = await self.page(tenant, query)
        return await self._offload.run(tenant, len(page.data) * ROW, _displayed_page, page)

    async def retrieve(self, tenant: str, file_id: str) -> JsonObject:
        """Return a file. Raises `ClientError` (404) if it is unknown, `StoreError`."""
        return file_object(await self.load(tenant, file_id))

    async def delete(self, tenant: str, file_id: str) -> JsonObject:
        """Delete a file; return the confirmation.

        Raises `ClientError` (404) if it is unknown, `StoreError`.
        """
        if not await self._store.write(files.delete, tenant, file_id):
            raise not_found(file_id)
        await self.sweep_now()
        return {"id": file_id, "object": "file", "deleted": True}

    # The stored files.

    def new_file(
        self, tenant: str, filename: str, purpose: str, written: Written, lifetime: int | None
    ) -> StoredFile:
        """Return a file that is not yet stored. It expires after `lifetime` seconds."""
        created_at = int(self._now())
        expires_at = None if lifetime is None else created_at + lifetime
        values = (
            new_file_id(),
            tenant,
            filename,
            purpose,
            written.size,
            written.digest,
            written.blob,
        )
        return StoredFile(*values, created_at, expires_at)

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, or None if it is unknown or has expired.

        Raises `StoreError`.
        """
        return await self._store.read(files.load, tenant, file_id)

    async def load(self, tenant: str, file_id: str, param: str = "id") -> StoredFile:
        """Return a file of the tenant.

        Raises `ClientError` (404, for `param`) if it is unknown, `StoreError`.
        """
        found = await self._store.read(files.load, tenant, file_id)
        if found is None:
            raise not_found(file_id, param)
        return found

    async def page(self, tenant: str | None, query: FilesQuery) -> Page[StoredFile]:
        """Return a page of the tenant's files, or of all tenants' files.

        Raises `ClientError` (400) if `after` is not in the list, `StoreError`.
        """
        wanted = FileQuery(query.limit, query.after, query.order == "desc", query.purpose)
        page = await self._store.read(files.page, tenant, wanted)
        if page.unknown:
            raise unknown_bound("after", query.after, "file")
        return page

    async def room(self, tenant: str) -> ContentRoom:
        """Return the maximum size of the tenant's next file.

        Raises `ClientError` (429) if it has no room.
        """
        stored = (
            await self._store.read(sizes.stored_bytes, tenant) if self.limits.stored_bytes else 0
        )
        return room_of(self.limits, tenant, await self._store.read(files.use, tenant), stored)

    async def check_storage(self, tenant: str, size: int) -> None:
        """Raise `ClientError` (429) if the tenant's storage limit does not allow `size` more
        bytes.
        """
        if most := self.limits.stored_bytes:
            stored = await self._store.read(sizes.stored_bytes, tenant)
            if stored + size > most:
                raise over_storage(stored, most)

    # Content.

    @property
    def retained(self) -> int:
        """Bytes of memory that writing one file uses."""
        return self._blobs.retained

    def read(
        self, file: StoredFile, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB.
        Raises `StoreError`.
        """
        return self.read_blob(
            file.tenant, file.blob, start, file.size if end is None else min(end, file.size)
        )

    def read_blob(
        self, tenant: str, blob: str, start: int, end: int
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a blob, like `read`. Raises `StoreError`."""
        return self._blobs.read(blob, start, end, tenant)

    async def write(
        self,
        tenant: str,
        content: AsyncIterable[bytes],
        room: ContentRoom,
        also: Digest | None = None,
    ) -> Written:
        """Write content to a new blob as it arrives. `also` is a second digest to update with it.

        Raises the room's error if the content is too large, `StoreError`, and the exceptions of
        `content`. In all these cases, the blob is deleted.
        """
        blob = self._blobs.new_name()
        digest = sha256()
        size = 0

        async def counted() -> AsyncGenerator[bytes, None]:
            nonlocal size
            async for piece in content:
                size += len(piece)
                self._count(room.owner, len(piece))
                if size > room.size:
                    raise room.error
                if self._receiving.get(room.owner, 0) > room.shared:
                    raise room.shared_error
                digest.update(piece)
                if also is not None:
                    also.update(piece)
                yield piece

        await self._store.write(files.begin, tenant, blob, HOLD)
        try:
            await self._blobs.write(blob, counted(), tenant)
        except BaseException:
            await self.drop(tenant, blob)
            raise
        finally:
            self._count(room.owner, -size)
        return Written(blob, size, digest.digest())

    def _count(self, owner: str, size: int) -> None:
        left = self._receiving.get(owner, 0) + size
        if left:
            self._receiving[owner] = left
        else:
            self._receiving.pop(owner, None)

    async def drop(self, tenant: str, blob: str) -> None:
        """Delete a written blob, unless a file uses it."""
        try:
            await self._store.write(files.spare, tenant, blob)
        except StoreError as error:
            log.warning("Failed to delete unused file content; it will be deleted later: %s", error)
        else:
            await self.sweep_now()

    async def delete_blobs(self, stale: Sequence[str]) -> None:
        """Delete the bytes of claimed blobs. Raises `StoreError`.

        If the directory or bucket fails to delete a blob, the deletion is retried after an hour.
        """
        removed = []
        stored = []
        for blob in stale:
            try:
                await self._blobs.delete(blob)
            except StoreError as error:
                log.warning("Failed to delete unused file content: %s", error)
                stored.append(blob)
            else:
                removed.append(blob)
        if removed:
            await self._store.write(files.forget, removed)
        if stored:
            await self._store.write(files.postpone, stored, RETRY)

    async def sweep_now(self) -> None:
        """Delete stale blobs after a request.

        If that fails, the periodic cleaner deletes them later.
        """
        try:
            await self.delete_blobs(await self._store.write(files.claim_stale, SWEPT_AT_ONCE))
        except StoreError as error:
            log.warning("Failed to delete unused file content; it will be deleted later: %s", error)


def file_object(file: StoredFile) -> JsonObject:
    """Return a file as an API object."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": file.created_at,
        "expires_at": file.expires_at,
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def _displayed_page(page: Page[StoredFile]) -> JsonObject:
    return page_of([file_object(file) for file in page.data], has_more=page.has_more)


def not_found(file_id: str, param: str = "id") -> ClientError:
    """Return the error for an unknown file."""
    return ClientError(f"No such File object: {file_id[:100]}", status=404, param=param)
