"""Chunk methods of the SQL stores. The operations are loaded when a store is first used for chunks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from antiphon.storage.sql_store.performer import Performer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from antiphon.search.filters import AttributeValue, Filter
    from antiphon.storage.records.chunks import (
        ChunkRow,
        FoundChunk,
        IndexedFile,
        KeywordMatches,
        SearchedStore,
        Signatures,
        TermCounts,
    )

SWEPT_AT_ONCE = 64
"""Chunks that one step of a sweep deletes, so that saves can run between the steps."""


def _operations() -> ModuleType:
    return import_module("antiphon.storage.operations.chunks")


class SqlChunks(Performer):
    """See `Chunks`."""

    async def put_chunks(self, file: IndexedFile, rows: Sequence[ChunkRow]) -> bool:
        """See `Store.put_chunks`."""
        return await self._write(lambda: _operations().put(file, rows), file.tenant)

    async def publish_chunks(self, file: IndexedFile) -> int | None:
        """See `Store.publish_chunks`."""
        return await self._write(lambda: _operations().publish(file), file.tenant)

    async def drop_chunks(self, tenant: str, store_id: str, file_id: str | None) -> None:
        """See `Store.drop_chunks`."""
        await self._write(lambda: _operations().drop(tenant, store_id, file_id), tenant)

    async def set_chunk_attributes(
        self, tenant: str, store_id: str, file_id: str, attributes: Mapping[str, AttributeValue]
    ) -> None:
        """See `Store.set_chunk_attributes`."""
        await self._write(lambda: _operations().set_attributes(tenant, store_id, file_id, attributes), tenant)

    async def sweep_chunks(self) -> int:
        """See `Store.sweep_chunks`."""
        removed = 0
        while step := await self._write(lambda: _operations().sweep(SWEPT_AT_ONCE)):
            removed += step
        return removed

    async def searched_store(self, tenant: str, store_id: str) -> SearchedStore | None:
        """See `Store.searched_store`."""
        return await self._read(lambda: _operations().searched_store(tenant, store_id), tenant)

    async def match_keywords(
        self,
        tenant: str,
        store_id: str,
        terms: Sequence[str],
        filters: Filter | None,
        most: int,
        known: TermCounts | None = None,
    ) -> KeywordMatches:
        """See `Store.match_keywords`."""
        return await self._read(
            lambda: _operations().match_keywords(tenant, store_id, terms, filters, most, known), tenant
        )

    async def found_files(self, tenant: str, store_id: str, filters: Filter | None) -> frozenset[int]:
        """See `Store.found_files`."""
        return await self._read(lambda: _operations().found_files(tenant, store_id, filters), tenant)

    async def signatures(self, tenant: str, store_id: str, known: frozenset[int]) -> Signatures:
        """See `Store.signatures`."""
        return await self._read(lambda: _operations().signatures(tenant, store_id, known), tenant)

    async def vectors(self, tenant: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """See `Store.vectors`."""
        return await self._read(lambda: _operations().vectors(tenant, numbers), tenant)

    async def found_chunks(self, tenant: str, numbers: Sequence[int]) -> Sequence[FoundChunk]:
        """See `Store.found_chunks`."""
        return await self._read(lambda: _operations().found_chunks(tenant, numbers), tenant)
