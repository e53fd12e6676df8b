"""Chunks of an ingestion, and deleting expired vector stores."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from antiphon.storage.operations import ingestions, responses, vector_stores
from antiphon.storage.records.vector_stores import Ingestion
from antiphon.storage.sql_store.chunks import SqlChunks

if TYPE_CHECKING:
    from antiphon.storage.records.chunks import ChunkRow

FILES_AT_ONCE = 10
"""Files that one step of a purge removes from their stores. Each can have thousands of chunks."""


class SqlVectorStores(SqlChunks):
    """The methods of a store for vector stores."""

    async def write_chunks(self, ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> bool:
        """See `Store.write_chunks`."""
        return await self._put_parts(rows, partial(ingestions.write_chunks, ingestion), ingestion.file.tenant)

    async def _purge_vector_stores(self, *, dry_run: bool = False) -> int:
        """Empty expired stores, one at a time so that other writes can run in between; return their number.

        Expired files are removed from all stores.
        """
        if dry_run:
            return await self._read(lambda: responses.count_old("count_vector_stores", self.clock.now()))
        emptied = 0
        while await self._free(lambda: vector_stores.empty_expired(self.clock.now())):
            emptied += 1
        while await self._free(lambda: vector_stores.forget_expired(self.clock.now(), FILES_AT_ONCE)):
            pass
        if await self._read(vector_stores.has_dropped_chunks):
            await self.sweep_chunks()
        return emptied
