"""What the runtime of code needs of the store and of the blob storage."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from antiphon.storage.records import StoredFile


@dataclass(frozen=True, slots=True)
class WrittenBlob:
    """Content that was written, and that no file has yet."""

    blob: str
    size: int


class TooLargeError(Exception):
    """The content has more bytes than its container has room for; nothing of it is kept."""


class UnfetchedError(Exception):
    """A file by URL could not be fetched; the message is a sentence that says why, for the model."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What is at a URL."""

    content: bytes
    media_type: str


class Content(Protocol):
    """The content of files, in the blob storage. Every method raises `StoreError`."""

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, None where it is unknown or has expired."""
        ...

    def read(self, tenant: str, blob: str, size: int) -> AsyncGenerator[bytes, None]:
        """Give the content of a blob that has `size` bytes, in parts of at most 1 MiB."""
        ...

    async def write(self, tenant: str, content: AsyncIterable[bytes], most: int) -> WrittenBlob:
        """Write a new blob of at most `most` bytes as its content comes. Raises `TooLargeError`, and what it raises."""
        ...

    async def drop(self, tenant: str, blob: str) -> None:
        """Delete a blob that was written for nothing."""
        ...

    def fetched(self, tenant: str, url: str, most: int) -> AbstractAsyncContextManager[Fetched]:
        """Hold a file of at most `most` bytes by its URL in memory meanwhile. Raises `UnfetchedError`."""
        ...
