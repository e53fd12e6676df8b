"""Files: content that is streamed to and from the blob storage, and the rows that refer to it.

`Files` needs only a store and a blob storage, not the rest of the engine, so that runs and jobs can use it too.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import msgspec

from antiphon.errors import ClientError, StoreError, log
from antiphon.ids import Clock, new_file_id, now
from antiphon.protocol.files import FileForm, FilesQuery, lifetime_of
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.blobs.base import BlobStorage
from antiphon.storage.operations import files, sizes
from antiphon.storage.records.files import FilePage, FileQuery, StoredFile
from antiphon.storage.records.tenants import Reply
from antiphon.storage.store import Store
from antiphon.stored.file_limits import FileLimits, Room, over_quota, room_of
from antiphon.stored.file_objects import shown_file

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
    """The files of all tenants. See `FileReader`."""

    def __init__(self, store: Store, blobs: BlobStorage, limits: FileLimits | None = None, clock: Clock = now) -> None:
        self._store, self._blobs, self._now = store, blobs, clock
        self.limits = limits or FileLimits()
        self._receiving: dict[str, int] = {}
        """Bytes of the content that this process is receiving, by owner."""

    @property
    def held(self) -> int:
        """Bytes of memory that writing one file uses."""
        return self._blobs.held

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, or None if it is unknown or has expired. Raises `StoreError`."""
        return await self._store.read(files.load, tenant, file_id)

    async def load(self, tenant: str, file_id: str) -> StoredFile:
        """Return a file of the tenant. Raises `ClientError` (404) if it is unknown, `StoreError`."""
        found = await self.find(tenant, file_id)
        if found is None:
            raise not_found(file_id)
        return found

    async def page(self, tenant: str | None, query: FilesQuery) -> FilePage:
        """Return a page of the tenant's files, or of all tenants' files.

        Raises `ClientError` (400) if `after` is not in the list, `StoreError`.
        """
        wanted = FileQuery(query.limit, query.after, query.order == "desc", query.purpose)
        page = await self._store.read(files.page, tenant, wanted)
        if page.is_unknown:
            text = f"Invalid 'after': no file with id '{query.after}'."
            raise ClientError(text, code="invalid_value", param="after")
        return page

    def read(self, file: StoredFile, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB. Raises `StoreError`."""
        return self.read_blob(file.tenant, file.blob, start, file.size if end is None else min(end, file.size))

    def read_blob(self, tenant: str, blob: str, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a blob, like `read`. Raises `StoreError`."""
        return self._blobs.read(blob, start, end, tenant)

    async def room(self, tenant: str) -> Room:
        """Return the maximum size of the tenant's next file. Raises `ClientError` (429) if it has no room."""
        stored = await self._store.read(sizes.stored_bytes, tenant) if self.limits.stored_bytes else 0
        return room_of(self.limits, tenant, await self._store.read(files.use, tenant), stored)

    async def write(
        self, tenant: str, content: AsyncIterable[bytes], room: Room, also: Digest | None = None
    ) -> Written:
        """Write content to a new blob as it arrives. `also` is a second digest to update with it.

        Raises the room's error if the content is too large, `StoreError`, and the exceptions of `content`. In all these
        cases, the blob is deleted.
        """
        blob, digest, size = self._blobs.new_name(), sha256(), 0

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

    async def create(self, form: FileForm, filename: str, written: Written, ticket: RequestIdentity) -> StoredFile:
        """Create a file of the ticket's tenant from written content, and store it as the reply for the ticket's key.

        Raises `ClientError` (429) if it exceeds the tenant's quota, `StoreError`. The caller must then `drop` the blob.
        """
        tenant, lifetime = ticket.tenant, lifetime_of(form.purpose, form.expires_after)
        file = self.new_file(tenant, filename, form.purpose, written, lifetime)
        reply = Reply(tenant, ticket.key, False, msgspec.json.encode(shown_file(file))) if ticket.key else None
        stored = await self._store.write(files.put, file, self.limits.quota, reply, ticket.response_id)
        if stored is None:
            raise over_quota(await self._store.read(files.use, tenant), self.limits.quota)
        if stored.blob != file.blob:
            await self.sweep_now()
        return stored

    def new_file(self, tenant: str, filename: str, purpose: str, written: Written, lifetime: int | None) -> StoredFile:
        """Return a file that is not yet stored. It expires after `lifetime` seconds."""
        created_at = int(self._now())
        expires_at = None if lifetime is None else created_at + lifetime
        values = new_file_id(), tenant, filename, purpose, written.size, written.digest, written.blob
        return StoredFile(*values, created_at, expires_at)

    async def delete(self, tenant: str, file_id: str) -> None:
        """Delete a file. Raises `ClientError` (404) if it is unknown, `StoreError`."""
        if not await self._store.write(files.delete, tenant, file_id):
            raise not_found(file_id)
        await self.sweep_now()

    async def drop(self, tenant: str, blob: str) -> None:
        """Delete a written blob that no file uses."""
        try:
            await self._store.write(files.spare, tenant, blob)
        except StoreError as error:
            log.warning("Failed to delete unused file content; it will be deleted later: %s", error)
        else:
            await self.sweep_now()

    async def sweep(self) -> int:
        """Delete stale blobs; return the number of attempted deletions. Raises `StoreError`."""
        stale = await self._store.write(files.claim_stale, SWEPT_AT_ONCE)
        await self.delete_blobs(stale)
        return len(stale)

    async def delete_blobs(self, stale: Sequence[str]) -> None:
        """Delete the bytes of claimed blobs. Raises `StoreError`.

        If the directory or bucket fails to delete a blob, the deletion is retried after an hour.
        """
        gone, kept = [], []
        for blob in stale:
            try:
                await self._blobs.delete(blob)
            except StoreError as error:
                log.warning("Failed to delete unused file content: %s", error)
                kept.append(blob)
            else:
                gone.append(blob)
        if gone:
            await self._store.write(files.forget, gone)
        if kept:
            await self._store.write(files.postpone, kept, RETRY)

    async def sweep_now(self) -> None:
        """Delete stale blobs after a request. If that fails, the periodic cleaner deletes them later."""
        try:
            await self.sweep()
        except StoreError as error:
            log.warning("Failed to delete unused file content; it will be deleted later: %s", error)

    async def close(self) -> None:
        """Release the blob storage."""
        await self._blobs.close()


def not_found(file_id: str, param: str = "id") -> ClientError:
    """Return the error for an unknown file."""
    return ClientError(f"No such File object: {file_id[:100]}", status=404, param=param)
