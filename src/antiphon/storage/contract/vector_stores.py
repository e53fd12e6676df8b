"""The store contract for vector stores, their files, and the ingestion queue."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from antiphon.storage.records import (
    Ingestion,
)

if TYPE_CHECKING:
    from antiphon.storage.records.chunks import ChunkRow


class VectorStores(Protocol):
    """Vector stores. An expired store is readable but has no files. A deleted file is removed from all stores."""

    async def write_chunks(self, ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> bool:
        """Add some of a file's chunks, which searches do not see yet; return False if the version is outdated."""
        ...
