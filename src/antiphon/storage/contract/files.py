"""The part of the contract that keeps files: their rows, uploads in parts, and the blobs that hold content.

The order of an upload makes a crash harmless: `begin_blob` notes the name of a blob, then its bytes are written, then
`put_file` makes it used. A noted blob that nothing uses is stale after its time, and the process that claims it deletes
its bytes, then forgets it. So no bytes exist without a row that names them, and no file exists without its bytes.
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
    """Where the content of files is: in the store, a directory or a bucket. Every method raises `StoreError`."""

    @property
    def held(self) -> int:
        """Bytes of memory that one `write` takes at most."""
        ...

    def new_name(self) -> str:
        """Return a name for a new blob; the name shows where the blob is."""
        ...

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """Write a new blob, durable before this returns, in the tenant's turn: a few MB of it are in memory at once."""
        ...

    def read(self, blob: str, start: int, end: int, tenant: str) -> AsyncGenerator[bytes, None]:
        """Give the bytes from `start` up to and without `end`, in parts of at most 1 MiB."""
        ...

    async def delete(self, blob: str) -> None:
        """Delete the bytes of a blob, also where it was written in part or not at all."""
        ...

    async def close(self) -> None:
        """Release what was opened. The store that holds blobs is closed by its owner."""
        ...


class FileReader(Protocol):
    """Finds files and reads their content, and deletes what nothing uses: what the engine needs of files.

    Every method raises `StoreError`.
    """

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, None where it is unknown or has expired."""
        ...

    def read(self, file: StoredFile, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Give the content from `start` up to and without `end`, in parts of at most 1 MiB."""
        ...

    def read_blob(self, tenant: str, blob: str, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Give a part of a blob, in the same way."""
        ...

    async def delete_blobs(self, stale: Sequence[str]) -> None:
        """Delete the bytes of blobs that were claimed as stale, then forget the blobs."""
        ...


class Files(Protocol):
    """Files and uploads. One that has expired is unknown to every method."""

    async def put_file(
        self, file: StoredFile, quota: FileQuota, reply: Reply | None = None, reserved: str = ""
    ) -> StoredFile | None:
        """Store a new file after its blob was written; None if the tenant's quota does not admit it.

        `reply` is kept for the `Idempotency-Key` that was reserved under the id `reserved`.

        Where the tenant has another file with the same content, the file that is returned has that file's blob, and
        its own is stale. Raises `StoreError` where the blob was not begun, or is stale.
        """
        ...

    async def load_file(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return the file, or None."""
        ...

    async def delete_file(self, tenant: str, file_id: str) -> bool:
        """Delete the file, and make its blob stale if no other file has it; False where the file is unknown."""
        ...

    async def file_page(self, tenant: str | None, query: FileQuery) -> FilePage:
        """Return a part of the tenant's files; without a tenant, of the files of all tenants."""
        ...

    async def file_use(self, tenant: str) -> FileUse:
        """Return how much of the quota the tenant uses."""
        ...

    async def keep_file_text(self, text: FileText) -> None:
        """Keep the text of a file's content in place of the one that its tenant has for the same content.

        It is deleted with the last of the tenant's files that have this content.
        """
        ...

    async def find_file_text(self, tenant: str, digest: bytes, version: int) -> FileText | None:
        """Return the text that this version of the reader has read in a content, or None."""
        ...

    async def create_upload(self, upload: StoredUpload, quota: FileQuota, reply: Reply | None = None) -> bool:
        """Store a new upload and reserve its bytes; False where the tenant's quota does not admit it."""
        ...

    async def load_upload(self, tenant: str, upload_id: str) -> StoredUpload | None:
        """Return the upload, or None. A pending upload has the status `expired` after its time."""
        ...

    async def put_part(self, part: StoredPart) -> bool:
        """Store a part of a pending upload after its blob was written.

        False where the upload is not pending, or all its parts would have more bytes than it announced.
        """
        ...

    async def upload_parts(self, tenant: str, upload_id: str) -> Sequence[StoredPart]:
        """Return the parts of an upload, in the order in which they were stored."""
        ...

    async def cancel_upload(self, tenant: str, upload_id: str) -> bool:
        """Cancel a pending upload and drop its parts; False where it is not pending."""
        ...

    async def complete_upload(self, upload_id: str, file: StoredFile) -> StoredFile | None:
        """Make a pending upload the file, and drop its parts; None where it is not pending. See `put_file`."""
        ...

    async def begin_blob(self, tenant: str, blob: str, hold: int) -> None:
        """Note a blob before its bytes are written; it becomes stale after `hold` seconds unless it is used."""
        ...

    async def spare_blob(self, tenant: str, blob: str) -> None:
        """Make a blob stale that was begun and is not used."""
        ...

    async def owns_blob(self, tenant: str, blob: str) -> bool:
        """Whether a blob is there, and the tenant's."""
        ...

    async def claim_stale_blobs(self, limit: int) -> Sequence[str]:
        """Return the names of stale blobs. Nothing can use them any more: delete their bytes, then `forget_blobs`."""
        ...

    async def forget_blobs(self, blobs: Sequence[str]) -> None:
        """Forget claimed blobs after their bytes were deleted."""
        ...

    async def postpone_blobs(self, blobs: Sequence[str], delay: int) -> None:
        """Make claimed blobs claimable again after `delay` seconds: their bytes could not be deleted."""
        ...

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Keep the bytes of a part of a blob; with the last part all of the blob is durable."""
        ...

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """Return a part of a blob, or None."""
        ...

    async def delete_blob_parts(self, blob: str) -> None:
        """Delete the bytes of a blob, a few parts at a time."""
        ...
