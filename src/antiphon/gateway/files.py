"""`/v1/files` and `/v1/uploads`, as the gateway offers them; loaded by the first request for a file."""

from collections.abc import AsyncGenerator, AsyncIterable
from functools import cached_property

from antiphon.gateway.made import JsonObject
from antiphon.protocol.files import CompleteUpload, CreateUpload, FileForm, FilesQuery
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.records.files import StoredFile, StoredUpload
from antiphon.stored.file_limits import Room
from antiphon.stored.file_objects import clean_filename, shown_file, shown_files, shown_part, shown_upload
from antiphon.stored.files import Files as StoredFiles
from antiphon.stored.files import Written
from antiphon.stored.parts import ObjectParts
from antiphon.stored.uploads import PART, Uploads

__all__ = ["PART", "Files", "Written", "clean_filename"]

FEW = 500
"""Files that are listed and encoded in less than a millisecond or two."""


class Files:
    """`/v1/files` and `/v1/uploads` as methods."""

    def __init__(self, parts: ObjectParts) -> None:
        self._parts = parts

    @cached_property
    def _files(self) -> StoredFiles:
        return self._parts.files.get()

    @cached_property
    def _uploads(self) -> Uploads:
        return Uploads(self._parts.store, self._files, self._parts.new_id, self._parts.now)

    @property
    def held(self) -> int:
        """Bytes of memory needed to receive one file."""
        return self._files.held

    async def room(self, tenant: str) -> Room:
        """Return the maximum size of a file that the tenant sends now. Raises `ClientError` (429) if it has no room."""
        return await self._files.room(tenant)

    async def write(self, tenant: str, content: AsyncIterable[bytes], room: Room) -> Written:
        """Write content as it arrives; it becomes a file by `create`, or is deleted by `drop`."""
        return await self._files.write(tenant, content, room)

    async def drop(self, tenant: str, written: Written) -> None:
        """Delete the written content, unless a file refers to it."""
        await self._files.drop(tenant, written.blob)

    async def create(self, form: FileForm, filename: str, written: Written, ticket: RequestIdentity) -> JsonObject:
        """Create a file from the written content."""
        return shown_file(await self._files.create(form, filename, written, ticket))

    async def list(self, tenant: str, query: FilesQuery) -> JsonObject:
        """Return a page of the files; a large page is built in a thread."""
        page = await self._files.page(tenant, query)
        if len(page.files) <= FEW:
            return shown_files(page.files, page.has_more)
        return await self._parts.offload.run(tenant, shown_files, page.files, page.has_more)

    async def list_of_all(self, tenant: str | None, query: FilesQuery) -> JsonObject:
        """Return a page of the files with their tenants; without a `tenant`, of all tenants."""
        from antiphon.stored.console import files as listed  # noqa: PLC0415 - for the console alone

        return await listed.list_files(self._files, tenant, query)

    async def retrieve(self, tenant: str, file_id: str) -> JsonObject:
        """Return a file."""
        return shown_file(await self._files.load(tenant, file_id))

    async def find(self, tenant: str, file_id: str) -> StoredFile:
        """Return a file with its internal fields. Raises `ClientError` (404)."""
        return await self._files.load(tenant, file_id)

    def read(self, file: StoredFile, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Return a part of the content."""
        return self._files.read(file, start, end)

    async def delete(self, tenant: str, file_id: str) -> JsonObject:
        """Delete a file."""
        await self._files.delete(tenant, file_id)
        return {"id": file_id, "object": "file", "deleted": True}

    async def create_upload(self, request: CreateUpload, ticket: RequestIdentity) -> JsonObject:
        """Begin an upload in parts under the id of the ticket."""
        return shown_upload(await self._uploads.create(request, ticket))

    async def pending_upload(self, tenant: str, upload_id: str) -> StoredUpload:
        """Return an upload that accepts parts. Raises `ClientError`: 404 if it is unknown, 400 if it has ended."""
        return await self._uploads.pending(tenant, upload_id)

    async def add_part(self, upload: StoredUpload, content: AsyncIterable[bytes]) -> JsonObject:
        """Store a part of an upload as it arrives."""
        return shown_part(await self._uploads.add_part(upload, content))

    async def complete_upload(self, tenant: str, upload_id: str, request: CompleteUpload) -> JsonObject:
        """Create a file from the parts of an upload."""
        return shown_upload(*await self._uploads.complete(tenant, upload_id, request))

    async def cancel_upload(self, tenant: str, upload_id: str) -> JsonObject:
        """Cancel an upload."""
        return shown_upload(await self._uploads.cancel(tenant, upload_id))
