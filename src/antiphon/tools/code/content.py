"""What the code tools need from the store and the blob storage."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from antiphon.storage.records.files import StoredFile


@dataclass(frozen=True, slots=True)
class WrittenBlob:
    """Content that was written, and that no file refers to yet."""

    blob: str
    size: int


class TooLargeError(Exception):
    """The content exceeds the space that is left in its container; none of it is stored."""


class UnfetchedError(Exception):
    """A file could not be fetched from its URL; the message is a sentence with the reason, for the
    model.
    """


@dataclass(frozen=True, slots=True)
class FetchedContent:
    """The content at a URL."""

    content: bytes
    media_type: str


class BlobContent(Protocol):
    """The content of files, in the blob storage. Every method raises `StoreError`."""

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, None if it is unknown or has expired."""
        ...

    def read(self, tenant: str, blob: str, size: int) -> AsyncGenerator[bytes, None]:
        """Yield the content of a blob that has `size` bytes, in parts of at most 1 MiB."""
        ...

    async def write(self, tenant: str, content: AsyncIterable[bytes], most: int) -> WrittenBlob:
        """Write a new blob of at most `most` bytes as its content arrives.

        Raises `TooLargeError`, and its errors.
        """
        ...

    async def drop(self, tenant: str, blob: str) -> None:
        """Delete a blob that is not needed after all."""
        ...

    def fetched(
        self, tenant: str, url: str, most: int
    ) -> AbstractAsyncContextManager[FetchedContent]:
        """Load a file of at most `most` bytes from its URL into memory. Raises `UnfetchedError`."""
        ...
