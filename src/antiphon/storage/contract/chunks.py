"""The store contract for the chunks of files in vector stores, and for searching them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # not loaded by a server that never searches
    from collections.abc import Mapping, Sequence

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


class Chunks(Protocol):
    """Chunks by vector store and file. A search sees exactly one version of a file, complete, or no version at all."""

    async def put_chunks(self, file: IndexedFile, rows: Sequence[ChunkRow]) -> bool:
        """Store some chunks of a version of a file, by ascending position. Searches see them once they are published.

        Rows that exist already are kept. Return False, and store nothing, if this version is already published or a
        newer version exists.
        """
        ...

    async def publish_chunks(self, file: IndexedFile) -> int | None:
        """Publish this version to searches, in place of older versions; return the bytes of its texts and vectors.

        Return None, and change nothing, if a newer version exists.
        """
        ...

    async def drop_chunks(self, tenant: str, store_id: str, file_id: str | None) -> None:
        """Hide a file of a store, or all its files, from searches immediately. Also drops the attributes."""
        ...

    async def set_chunk_attributes(
        self, tenant: str, store_id: str, file_id: str, attributes: Mapping[str, AttributeValue]
    ) -> None:
        """Replace the attributes of a file in a store."""
        ...

    async def sweep_chunks(self) -> int:
        """Delete all dropped chunks; return their number."""
        ...

    async def searched_store(self, tenant: str, store_id: str) -> SearchedStore | None:
        """Return the size of the store as searches see it, or None if no chunk was ever stored for it."""
        ...

    async def match_keywords(
        self,
        tenant: str,
        store_id: str,
        terms: Sequence[str],
        filters: Filter | None,
        most: int,
        known: TermCounts | None = None,
    ) -> KeywordMatches:
        """Return at most `most` chunks that match the terms best, from the files that pass the filter.

        The counts in `known` are used if the store still has their revision; all other counts are computed.
        """
        ...

    async def found_files(self, tenant: str, store_id: str, filters: Filter | None) -> frozenset[int]:
        """Return the numbers of the published files that pass the filter."""
        ...

    async def signatures(self, tenant: str, store_id: str, known: frozenset[int]) -> Signatures:
        """Return the published files, and the signatures of the files that are not in `known`."""
        ...

    async def vectors(self, tenant: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Return the vectors of chunks by numbers that another method has returned to this tenant."""
        ...

    async def found_chunks(self, tenant: str, numbers: Sequence[int]) -> Sequence[FoundChunk]:
        """Return the tenant's chunks with these numbers, in this order, without those that are no longer published."""
        ...
