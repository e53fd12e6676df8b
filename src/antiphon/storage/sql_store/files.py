"""File, upload and blob methods of the SQL stores."""

from collections.abc import Sequence
from dataclasses import replace

from antiphon.storage.operations import file_texts, files, item_blobs, uploads
from antiphon.storage.records import (
    FilePage,
    FileQuery,
    FileQuota,
    FileText,
    FileUse,
    Reply,
    StoredFile,
    StoredPart,
    StoredUpload,
)
from antiphon.storage.sql_store.performer import Performer

PARTS_AT_ONCE = 16
"""Parts of a blob that one step deletes, so that other writes can run between the steps."""


class SqlFiles(Performer):
    """See `Files`."""

    async def put_file(
        self, file: StoredFile, quota: FileQuota, reply: Reply | None = None, reserved: str = ""
    ) -> StoredFile | None:
        """See `Store.put_file`."""
        dated = self._dated_file(file)
        return await self._write(lambda: files.put(dated, quota, reply, reserved), file.tenant)

    async def load_file(self, tenant: str, file_id: str) -> StoredFile | None:
        """See `Store.load_file`."""
        return await self._read(lambda: files.load(tenant, file_id, self._now()), tenant)

    async def delete_file(self, tenant: str, file_id: str) -> bool:
        """See `Store.delete_file`."""
        return await self._free(lambda: files.delete(tenant, file_id, self._now()), tenant)

    async def file_page(self, tenant: str | None, query: FileQuery) -> FilePage:
        """See `Store.file_page`."""
        return await self._read(lambda: files.page(tenant, query, self._now()), tenant)

    async def file_use(self, tenant: str) -> FileUse:
        """See `Store.file_use`."""
        return await self._read(lambda: files.use(tenant), tenant)

    async def keep_file_text(self, text: FileText) -> None:
        """See `Store.keep_file_text`."""
        dated = replace(text, expires_at=text.expires_at + int(self._shift))
        await self._write(lambda: file_texts.keep(dated), text.tenant)

    async def find_file_text(self, tenant: str, digest: bytes, version: int) -> FileText | None:
        """See `Store.find_file_text`."""
        return await self._read(lambda: file_texts.find(tenant, digest, version, self._now()), tenant)

    async def create_upload(self, upload: StoredUpload, quota: FileQuota, reply: Reply | None = None) -> bool:
        """See `Store.create_upload`."""
        dated = replace(upload, expires_at=upload.expires_at + int(self._shift))
        return await self._write(lambda: uploads.create(dated, quota, reply), upload.tenant)

    async def load_upload(self, tenant: str, upload_id: str) -> StoredUpload | None:
        """See `Store.load_upload`."""
        return await self._read(lambda: uploads.load(tenant, upload_id, self._now()), tenant)

    async def put_part(self, part: StoredPart) -> bool:
        """See `Store.put_part`."""
        return await self._write(lambda: uploads.put_part(part, self._now()), part.tenant)

    async def upload_parts(self, tenant: str, upload_id: str) -> Sequence[StoredPart]:
        """See `Store.upload_parts`."""
        return await self._read(lambda: uploads.parts(tenant, upload_id), tenant)

    async def cancel_upload(self, tenant: str, upload_id: str) -> bool:
        """See `Store.cancel_upload`."""
        return await self._free(lambda: uploads.cancel(tenant, upload_id, self._now()), tenant)

    async def complete_upload(self, upload_id: str, file: StoredFile) -> StoredFile | None:
        """See `Store.complete_upload`."""
        dated = self._dated_file(file)
        return await self._write(lambda: uploads.complete(upload_id, dated, self._now()), file.tenant)

    async def begin_blob(self, tenant: str, blob: str, hold: int) -> None:
        """See `Store.begin_blob`."""
        await self._write(lambda: files.begin(tenant, blob, self._now() + hold), tenant)

    async def spare_blob(self, tenant: str, blob: str) -> None:
        """See `Store.spare_blob`."""
        await self._free(lambda: files.spare(tenant, blob), tenant)

    async def owns_blob(self, tenant: str, blob: str) -> bool:
        """See `Store.owns_blob`."""
        return await self._read(lambda: item_blobs.owns(tenant, blob), tenant)

    async def claim_stale_blobs(self, limit: int) -> Sequence[str]:
        """See `Store.claim_stale_blobs`."""
        return await self._free(lambda: files.claim_stale(self._now(), limit))

    async def forget_blobs(self, blobs: Sequence[str]) -> None:
        """See `Store.forget_blobs`."""
        await self._free(lambda: files.forget(blobs))

    async def postpone_blobs(self, blobs: Sequence[str], delay: int) -> None:
        """See `Store.postpone_blobs`."""
        await self._free(lambda: files.postpone(blobs, self._now() + delay))

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """See `Store.put_blob_part`."""
        await self._write(lambda: files.put_part(blob, number, data))

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """See `Store.blob_part`."""
        return await self._read(lambda: files.part(blob, number))

    async def delete_blob_parts(self, blob: str) -> None:
        """See `Store.delete_blob_parts`."""
        while await self._free(lambda: files.delete_parts(blob, PARTS_AT_ONCE)) == PARTS_AT_ONCE:
            pass

    def _dated_file(self, file: StoredFile) -> StoredFile:
        if file.expires_at is None:
            return file
        return replace(file, expires_at=file.expires_at + int(self._shift))
