"""Blobs in the SQL stores: their content in parts."""

from functools import partial

from antiphon.storage.operations import files
from antiphon.storage.sql_store.performer import Performer

PARTS_AT_ONCE = 16
"""Parts of a blob that one step deletes, so that other writes can run between the steps."""


class SqlBlobs(Performer):
    """See `Store`."""

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """See `Store.put_blob_part`."""
        await self._write(partial(files.put_part, blob, number, data))

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """See `Store.blob_part`."""
        return await self._read(partial(files.part, blob, number))

    async def delete_blob_parts(self, blob: str) -> None:
        """See `Store.delete_blob_parts`."""
        while await self._free(partial(files.delete_parts, blob, PARTS_AT_ONCE)) == PARTS_AT_ONCE:
            pass
