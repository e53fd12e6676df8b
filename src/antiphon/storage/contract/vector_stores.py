"""The store contract for vector stores, their files, and the ingestion queue."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.storage.records import (
    Attached,
    Ingestion,
    NewStoreFile,
    StoreBatch,
    StoreFile,
    StoreFilePage,
    StorePageQuery,
    VectorStore,
    VectorStorePage,
)

if TYPE_CHECKING:
    from antiphon.storage.records.chunks import ChunkRow


class VectorStores(Protocol):
    """Vector stores. An expired store is readable but has no files. A deleted file is removed from all stores."""

    async def create_vector_store(self, store: VectorStore, files: Sequence[NewStoreFile] = ()) -> Attached:
        """Store a new vector store with its first files, which wait for ingestion."""
        ...

    async def find_vector_store(self, tenant: str, store_id: str) -> VectorStore | None:
        """Return a vector store, or None."""
        ...

    async def vector_store_page(self, tenant: str | None, query: StorePageQuery) -> VectorStorePage:
        """Return one page of the tenant's vector stores, or of all tenants' if `tenant` is None.

        `status` of the query is ignored.
        """
        ...

    async def update_vector_store(self, tenant: str, store_id: str, changes: Mapping[str, Any]) -> VectorStore | None:
        """Change `name`, `metadata` or `days`; return the store, or None. New `days` count from the last activity."""
        ...

    async def use_vector_stores(self, tenant: str, store_ids: Sequence[str]) -> None:
        """Record activity of stores, which postpones their expiry. Written once a minute at most."""
        ...

    async def delete_vector_store(self, tenant: str, store_id: str) -> bool:
        """Delete a vector store with its chunks; return False if it is unknown. The files themselves are kept."""
        ...

    async def attach_files(
        self, tenant: str, store_id: str, files: Sequence[NewStoreFile], batch_id: str | None = None
    ) -> Attached:
        """Attach all of these files or none of them, as a batch if `batch` has an id.

        A file that is already in the store keeps its row and receives the new attributes. It is ingested again if its
        chunking differs, or if it failed or was cancelled.
        """
        ...

    async def find_store_file(self, tenant: str, store_id: str, file_id: str) -> StoreFile | None:
        """Return a file in a vector store, or None."""
        ...

    async def store_file_page(
        self, tenant: str, store_id: str, query: StorePageQuery, batch_id: str | None = None
    ) -> StoreFilePage:
        """Return one page of the files of a vector store, or of a batch."""
        ...

    async def update_store_file(self, tenant: str, store_id: str, file_id: str, attributes: bytes) -> StoreFile | None:
        """Replace the attributes of a file in a store, even during its ingestion; return it, or None."""
        ...

    async def detach_file(self, tenant: str, store_id: str, file_id: str) -> bool:
        """Remove a file from a store with its chunks; return False if it is unknown. The file itself is kept."""
        ...

    async def find_store_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch | None:
        """Return a batch of a vector store, or None."""
        ...

    async def cancel_store_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch | None:
        """Cancel the unfinished files of a batch; return the batch, or None. Finished files are unchanged."""
        ...

    async def reindex_vector_store(self, tenant: str, store_id: str, embedding_model: str) -> int | None:
        """Ingest all files of a store again, with vectors of this model; return their number, or None if it is unknown.

        Searches see the old chunks of each file until the new ones are complete.
        """
        ...

    async def has_ingestions(self) -> bool:
        """Return whether a file of any tenant waits for ingestion: it has no owner, or its owner has expired."""
        ...

    async def claim_ingestion(self, worker: str, per_tenant: int, paused: Sequence[str] = ()) -> Ingestion | None:
        """Assign the next waiting file to the worker; return None if no file waits.

        A file waits if it has no owner or its owner has expired. The next file is the oldest one of the tenant with the
        fewest files in progress. Tenants with `per_tenant` files in progress at this worker are skipped,
        and so are released files of stores with an embedding model in `paused`.
        """
        ...

    async def write_chunks(self, ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> bool:
        """Add some of a file's chunks, which searches do not see yet; return False if the version is outdated."""
        ...

    async def complete_ingestion(self, ingestion: Ingestion, chunks: int, most: int) -> bool:
        """Publish the new chunks in place of the old ones; return False if the version is outdated.

        If the store would then have more than `most` chunks, the ingestion fails instead, in the same transaction.
        """
        ...

    async def fail_ingestion(self, ingestion: Ingestion, code: str, message: str) -> bool:
        """Mark an ingestion as failed; return False if the version is outdated. Older chunks are kept."""
        ...

    async def release_ingestion(self, worker: str, seq: int) -> None:
        """Return one of the worker's files to the queue. The chunks that were written for it are not published."""
        ...

    async def owned_ingestions(self, worker: str) -> Mapping[int, int]:
        """Return the worker's files as a mapping from file number to version."""
        ...
