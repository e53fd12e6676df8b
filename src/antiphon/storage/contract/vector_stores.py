"""The part of the contract that keeps vector stores, their files, and the queue of ingestion."""

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

INGESTIONS = "ingestions"
"""What `on_change` reports, in place of a response's id, when a file waits for ingestion or a worker loses one."""


class VectorStores(Protocol):
    """Vector stores. An expired one can be read, and has no files; a file that was deleted is in no store."""

    async def create_vector_store(self, store: VectorStore, files: Sequence[NewStoreFile] = ()) -> Attached:
        """Keep a new store with its first files, which wait to be ingested."""
        ...

    async def find_vector_store(self, tenant: str, store_id: str) -> VectorStore | None:
        """Return a store, or None."""
        ...

    async def vector_store_page(self, tenant: str | None, query: StorePageQuery) -> VectorStorePage:
        """Return a part of the tenant's stores; without a tenant, of the stores of all tenants.

        `status` of the query is ignored.
        """
        ...

    async def update_vector_store(self, tenant: str, store_id: str, changes: Mapping[str, Any]) -> VectorStore | None:
        """Change `name`, `metadata` or `days`; return the store, or None. New `days` count from the last activity."""
        ...

    async def use_vector_stores(self, tenant: str, store_ids: Sequence[str]) -> None:
        """Count as activity of stores, which moves their expiry; written once a minute at most."""
        ...

    async def delete_vector_store(self, tenant: str, store_id: str) -> bool:
        """Delete a store with its chunks; False where it is unknown. The files themselves stay."""
        ...

    async def attach_files(
        self, tenant: str, store_id: str, files: Sequence[NewStoreFile], batch_id: str | None = None
    ) -> Attached:
        """Attach files, as a batch if it has an id; all of them or none.

        A file that is in the store keeps its row, with new attributes. It is ingested again if it is cut otherwise,
        failed, or was cancelled.
        """
        ...

    async def find_store_file(self, tenant: str, store_id: str, file_id: str) -> StoreFile | None:
        """Return a file in a store, or None."""
        ...

    async def store_file_page(
        self, tenant: str, store_id: str, query: StorePageQuery, batch_id: str | None = None
    ) -> StoreFilePage:
        """Return a part of the files of a store, or of a batch."""
        ...

    async def update_store_file(self, tenant: str, store_id: str, file_id: str, attributes: bytes) -> StoreFile | None:
        """Replace the attributes of a file in a store, also where it is being ingested; return it, or None."""
        ...

    async def detach_file(self, tenant: str, store_id: str, file_id: str) -> bool:
        """Take a file out of a store with its chunks; False where it is unknown. The file itself stays."""
        ...

    async def find_store_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch | None:
        """Return a batch of a store, or None."""
        ...

    async def cancel_store_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch | None:
        """Cancel the files of a batch that are not done; return it, or None. One that is done stays as it is."""
        ...

    async def reindex_vector_store(self, tenant: str, store_id: str, embedding_model: str) -> int | None:
        """Have all files of a store ingested again, with vectors of this model; return how many, None for no store.

        A search finds the old chunks of each file until the new ones are complete.
        """
        ...

    async def has_ingestions(self) -> bool:
        """Whether some file waits to be ingested, of any tenant: waits, or belongs to an expired worker."""
        ...

    async def claim_ingestion(self, worker: str, per_tenant: int) -> Ingestion | None:
        """Assign the next waiting file to the worker; None if no file waits.

        A file waits if no worker owns it, or an expired one. Next is the tenant with the fewest files in work, and of
        its files the oldest. Skipped are tenants of which this worker has `per_tenant` in work.
        """
        ...

    async def write_chunks(self, ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> bool:
        """Add a part of a file's chunks, which no search finds yet; False where the version is not the newest."""
        ...

    async def complete_ingestion(self, ingestion: Ingestion, chunks: int, most: int) -> bool:
        """Have a search find the new chunks in place of the old; False where the version is not the newest.

        It fails instead, in the same transaction, where the store then has more than `most` chunks.
        """
        ...

    async def fail_ingestion(self, ingestion: Ingestion, code: str, message: str) -> bool:
        """End an ingestion without chunks; False where the version is not the newest. Older chunks stay."""
        ...

    async def release_ingestion(self, worker: str, seq: int) -> None:
        """Have one of the worker's files wait again; no search finds what was written for it."""
        ...

    async def owned_ingestions(self, worker: str) -> Mapping[int, int]:
        """Return the version of each of the worker's files by its number."""
        ...
