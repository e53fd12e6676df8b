"""The contracts of file content: where its bytes are stored, and how runs and jobs read stored
files.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from typing import Protocol

from antiphon.storage.records.files import StoredFile


class BlobStorage(Protocol):
    """Storage for the content of files: the store, a directory or a bucket.

    Every method raises `StoreError`.
    """

    @property
    def retained(self) -> int:
        """Maximum number of bytes of memory that one `write` uses."""
        ...

    def new_name(self) -> str:
        """Return a name for a new blob. The name encodes the storage location."""
        ...

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """Write a new blob, durable when this returns.

        Tenants take turns, so only a few MB are in memory at once.
        """
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
    """The part of file storage that runs and jobs use: find files, read their content, delete
    unused content.

    Every method raises `StoreError`.
    """

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, or None if it is unknown or has expired."""
        ...

    def read(
        self, file: StoredFile, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        ...

    def read_blob(
        self, tenant: str, blob: str, start: int, end: int
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a blob, like `read`."""
        ...

    async def delete_blobs(self, stale: Sequence[str]) -> None:
        """Delete the bytes of blobs that were claimed as stale, then their records."""
        ...
