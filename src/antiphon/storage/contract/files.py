"""The store contract for files: their rows, uploads in parts, and the blobs that hold their content.

The order of the steps makes a crash harmless. `begin_blob` records the name of a blob, then the bytes are written, then
`put_file` makes a file use the blob. A recorded blob without a user becomes stale after a time. The process that claims
a stale blob deletes its bytes, then its record. So no bytes exist without a record, and no file exists without bytes.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from typing import Protocol

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


class BlobStorage(Protocol):
    """Storage for the content of files: the store, a directory or a bucket. Every method raises `StoreError`."""

    @property
    def held(self) -> int:
        """Maximum number of bytes of memory that one `write` uses."""
        ...

    def new_name(self) -> str:
        """Return a name for a new blob. The name encodes the storage location."""
        ...

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """Write a new blob, durable when this returns. Tenants take turns, so only a few MB are in memory at once."""
        ...

    def read(self, blob: str, start: int, end: int, tenant: str) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        ...

    async def delete(self, blob: str) -> None:
        """Delete the bytes of a blob, even if it was written only in part or not at all."""
        ...

    async def close(self) -> None:
        """Release all resources. The store that holds blobs is closed by its owner."""
        ...


class FileReader(Protocol):
    """The part of file storage that the engine uses: find files, read their content, delete unused content.

    Every method raises `StoreError`.
    """

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, or None if it is unknown or has expired."""
        ...

    def read(self, file: StoredFile, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        ...

    def read_blob(self, tenant: str, blob: str, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a blob, like `read`."""
        ...

    async def delete_blobs(self, stale: Sequence[str]) -> None:
        """Delete the bytes of blobs that were claimed as stale, then their records."""
        ...


class Files(Protocol):
    """Files and uploads. Every method treats an expired file or upload as unknown."""

    async def put_file(
        self, file: StoredFile, quota: FileQuota, reply: Reply | None = None, reserved: str = ""
    ) -> StoredFile | None:
        """Store a new file, after its blob is written; return None if it exceeds the tenant's quota.

        `reply` is stored for the `Idempotency-Key` that was reserved under the id `reserved`.

        If the tenant has another file with the same content, the returned file uses the blob of that file, and its own
        blob becomes stale. Raises `StoreError` if the blob was not begun, or is stale.
        """
        ...

    async def load_file(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return the file, or None if it is unknown."""
        ...

    async def delete_file(self, tenant: str, file_id: str) -> bool:
        """Delete the file; its blob becomes stale unless another file uses it. Return False if the file is unknown."""
        ...

    async def file_page(self, tenant: str | None, query: FileQuery) -> FilePage:
        """Return one page of the tenant's files, or of all tenants' files if `tenant` is None."""
        ...

    async def file_use(self, tenant: str) -> FileUse:
        """Return how much of the quota the tenant uses."""
        ...

    async def keep_file_text(self, text: FileText) -> None:
        """Store the text of a file's content. It replaces the tenant's earlier text of the same content.

        The text is deleted with the last of the tenant's files that have this content.
        """
        ...

    async def find_file_text(self, tenant: str, digest: bytes, version: int) -> FileText | None:
        """Return the text that this version of the text reader extracted from a content, or None."""
        ...

    async def create_upload(self, upload: StoredUpload, quota: FileQuota, reply: Reply | None = None) -> bool:
        """Store a new upload and reserve its bytes; return False if it exceeds the tenant's quota."""
        ...

    async def load_upload(self, tenant: str, upload_id: str) -> StoredUpload | None:
        """Return the upload, or None. A pending upload has the status `expired` after its expiry time."""
        ...

    async def put_part(self, part: StoredPart) -> bool:
        """Store a part of a pending upload. The blob of the part must already be written.

        Return False if the upload is not pending, or if its parts together would exceed the announced size.
        """
        ...

    async def upload_parts(self, tenant: str, upload_id: str) -> Sequence[StoredPart]:
        """Return the parts of an upload, in the order in which they were stored."""
        ...

    async def cancel_upload(self, tenant: str, upload_id: str) -> bool:
        """Cancel a pending upload and drop its parts; return False if it is not pending."""
        ...

    async def complete_upload(self, upload_id: str, file: StoredFile) -> StoredFile | None:
        """Turn a pending upload into the file, and drop its parts; return None if it is not pending. See `put_file`."""
        ...

    async def begin_blob(self, tenant: str, blob: str, hold: int) -> None:
        """Record a blob before its bytes are written. It becomes stale after `hold` seconds unless it is used."""
        ...

    async def spare_blob(self, tenant: str, blob: str) -> None:
        """Make a blob stale that was begun but not used."""
        ...

    async def owns_blob(self, tenant: str, blob: str) -> bool:
        """Return whether a blob exists and belongs to the tenant."""
        ...

    async def claim_stale_blobs(self, limit: int) -> Sequence[str]:
        """Claim and return stale blobs. Nothing can use them from now on: delete their bytes, then `forget_blobs`."""
        ...

    async def forget_blobs(self, blobs: Sequence[str]) -> None:
        """Delete the records of claimed blobs, after their bytes were deleted."""
        ...

    async def postpone_blobs(self, blobs: Sequence[str], delay: int) -> None:
        """Make claimed blobs claimable again after `delay` seconds, because their bytes could not be deleted."""
        ...

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Store one part of a blob. When the last part is stored, the whole blob is durable."""
        ...

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """Return one part of a blob, or None."""
        ...

    async def delete_blob_parts(self, blob: str) -> None:
        """Delete the bytes of a blob, a few parts at a time."""
        ...
