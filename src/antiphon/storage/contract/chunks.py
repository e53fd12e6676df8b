"""The store contract for the chunks of files in vector stores, and for searching them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # not loaded by a server that never searches
    from collections.abc import Sequence

    from antiphon.storage.records.chunks import (
        ChunkRow,
        IndexedFile,
    )


class Chunks(Protocol):
    """Chunks by vector store and file. A search sees exactly one version of a file, complete, or no version at all."""

    async def put_chunks(self, file: IndexedFile, rows: Sequence[ChunkRow]) -> bool:
        """Store some chunks of a version of a file, by ascending position. Searches see them once they are published.

        Rows that exist already are kept. Return False, and store nothing, if this version is already published or a
        newer version exists.
        """
        ...

    async def sweep_chunks(self) -> int:
        """Delete all dropped chunks; return their number."""
        ...
