"""Blobs in the store itself, in parts of 1 MiB: in the second SQLite file, or in rows of
PostgreSQL.
"""

from collections.abc import AsyncGenerator, AsyncIterable

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.blobs.turns import in_parts, turn_of
from antiphon.storage.records.files import BLOB_PART
from antiphon.storage.store import Store


class StoreBlobs:
    """See `BlobStorage`. The store is closed by its owner."""

    retained = 3 * BLOB_PART

    def __init__(self, store: Store, turns: FairScheduler) -> None:
        self._store = store
        self._turns = turns

    def new_name(self) -> str:
        """See `BlobStorage.new_name`."""
        return new_id("row")

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """See `BlobStorage.write`. An empty blob is stored as one empty part."""
        number = 0
        async for part, is_last in in_parts(content, BLOB_PART):
            async with turn_of(self._turns, tenant):
                await self._store.put_blob_part(blob, number, part, is_last=is_last)
            number += 1

    async def read(
        self, blob: str, start: int, end: int, tenant: str
    ) -> AsyncGenerator[bytes, None]:
        """See `BlobStorage.read`."""
        while start < end:
            number, skipped = divmod(start, BLOB_PART)
            async with turn_of(self._turns, tenant):
                part = await self._store.blob_part(blob, number)
            if part is None or len(part) <= skipped:
                raise StoreError(
                    "The file's content is missing: the file was deleted in the meantime."
                )
            piece = (
                part
                if not skipped and end - start >= len(part)
                else part[skipped : skipped + end - start]
            )
            start += len(piece)
            yield piece

    async def delete(self, blob: str) -> None:
        """See `BlobStorage.delete`."""
        await self._store.delete_blob_parts(blob)

    async def close(self) -> None:
        """See `BlobStorage.close`."""
