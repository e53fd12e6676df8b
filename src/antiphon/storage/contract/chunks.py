"""The part of the contract that keeps the chunks of files in vector stores, and finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a server that searches nothing never loads them
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
    """Chunks by vector store and file. A search finds one version of a file, whole, or none of it."""

    async def put_chunks(self, file: IndexedFile, rows: Sequence[ChunkRow]) -> bool:
        """Put in a part of a version of a file, by ascending position. No search finds it until it is published.

        Rows that are there already stay. False, and nothing is put in, where this version is published or a newer one
        is known.
        """
        ...

    async def publish_chunks(self, file: IndexedFile) -> int | None:
        """Have a search find this version in place of older ones; return the bytes of its texts and vectors.

        None, and nothing changes, where a newer version is known.
        """
        ...

    async def drop_chunks(self, tenant: str, store_id: str, file_id: str | None) -> None:
        """Find a file of a store, or any file of it, no longer: from now on, with its attributes."""
        ...

    async def set_chunk_attributes(
        self, tenant: str, store_id: str, file_id: str, attributes: Mapping[str, AttributeValue]
    ) -> None:
        """Replace the attributes of a file in a store."""
        ...

    async def sweep_chunks(self) -> int:
        """Remove what was dropped, until nothing is left; return how many chunks."""
        ...

    async def searched_store(self, tenant: str, store_id: str) -> SearchedStore | None:
        """Return what a search of the store finds in all; None where nothing was ever put in."""
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
        """Return at most so many chunks that match some terms best, of the files that pass the filter.

        `known` counts of terms hold as long as the store has the same revision; the others are counted.
        """
        ...

    async def found_files(self, tenant: str, store_id: str, filters: Filter | None) -> frozenset[int]:
        """Return the numbers of the files that a search finds and that pass the filter."""
        ...

    async def signatures(self, tenant: str, store_id: str, known: frozenset[int]) -> Signatures:
        """Return the files that a search finds, and the signatures of those that are not known."""
        ...

    async def vectors(self, tenant: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Return the vectors of chunks by their numbers, which another method has returned to this tenant."""
        ...

    async def found_chunks(self, tenant: str, numbers: Sequence[int]) -> Sequence[FoundChunk]:
        """Return chunks of the tenant by their numbers, in this order, as far as a search still finds them."""
        ...
