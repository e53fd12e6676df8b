"""Vector store and ingestion methods of the SQL stores."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from antiphon.storage.changes import INGESTIONS
from antiphon.storage.operations import ingestions, responses, vector_stores
from antiphon.storage.records import (
    Attached,
    AttachResult,
    Ingestion,
    NewStoreFile,
    StoreBatch,
    StoreFile,
    StoreFilePage,
    StorePageQuery,
    VectorStore,
    VectorStorePage,
)
from antiphon.storage.sql_store.chunks import SqlChunks

if TYPE_CHECKING:
    from antiphon.storage.records.chunks import ChunkRow

FILES_AT_ONCE = 10
"""Files that one step of a purge removes from their stores. Each can have thousands of chunks."""


class SqlVectorStores(SqlChunks):
    """See `VectorStores`."""

    async def create_vector_store(self, store: VectorStore, files: Sequence[NewStoreFile] = ()) -> Attached:
        """See `Store.create_vector_store`."""
        dated = replace(store, created_at=store.created_at + self.clock.shift)
        outcome = await self._write(lambda: vector_stores.create(dated, files, self._now()), store.tenant)
        self._tell_queued(files, outcome)
        return outcome

    async def find_vector_store(self, tenant: str, store_id: str) -> VectorStore | None:
        """See `Store.find_vector_store`."""
        return await self._read(lambda: vector_stores.find(tenant, store_id, self._now()), tenant)

    async def vector_store_page(self, tenant: str | None, query: StorePageQuery) -> VectorStorePage:
        """See `Store.vector_store_page`."""
        return await self._read(lambda: vector_stores.page(tenant, query, self._now()), tenant)

    async def update_vector_store(self, tenant: str, store_id: str, changes: Mapping[str, Any]) -> VectorStore | None:
        """See `Store.update_vector_store`."""
        return await self._write(lambda: vector_stores.update(tenant, store_id, changes, self._now()), tenant)

    async def use_vector_stores(self, tenant: str, store_ids: Sequence[str]) -> None:
        """See `Store.use_vector_stores`."""
        await self._write(lambda: vector_stores.use(tenant, store_ids, self._now()), tenant)

    async def delete_vector_store(self, tenant: str, store_id: str) -> bool:
        """See `Store.delete_vector_store`."""
        return await self._free(lambda: vector_stores.delete(tenant, store_id), tenant)

    async def attach_files(
        self, tenant: str, store_id: str, files: Sequence[NewStoreFile], batch_id: str | None = None
    ) -> Attached:
        """See `Store.attach_files`."""
        outcome = await self._write(
            lambda: vector_stores.attach(tenant, store_id, files, batch_id, self._now()), tenant
        )
        self._tell_queued(files, outcome)
        return outcome

    async def find_store_file(self, tenant: str, store_id: str, file_id: str) -> StoreFile | None:
        """See `Store.find_store_file`."""
        return await self._read(lambda: vector_stores.file(tenant, store_id, file_id), tenant)

    async def store_file_page(
        self, tenant: str, store_id: str, query: StorePageQuery, batch_id: str | None = None
    ) -> StoreFilePage:
        """See `Store.store_file_page`."""
        return await self._read(lambda: vector_stores.files(tenant, store_id, query, batch_id), tenant)

    async def update_store_file(self, tenant: str, store_id: str, file_id: str, attributes: bytes) -> StoreFile | None:
        """See `Store.update_store_file`."""
        return await self._write(lambda: vector_stores.set_attributes(tenant, store_id, file_id, attributes), tenant)

    async def detach_file(self, tenant: str, store_id: str, file_id: str) -> bool:
        """See `Store.detach_file`."""
        return await self._free(lambda: vector_stores.detach(tenant, store_id, file_id), tenant)

    async def find_store_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch | None:
        """See `Store.find_store_batch`."""
        return await self._read(lambda: vector_stores.batch(tenant, store_id, batch_id), tenant)

    async def cancel_store_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch | None:
        """See `Store.cancel_store_batch`."""
        return await self._free(lambda: vector_stores.cancel_batch(tenant, store_id, batch_id), tenant)

    async def reindex_vector_store(self, tenant: str, store_id: str, embedding_model: str) -> int | None:
        """See `Store.reindex_vector_store`."""
        count = await self._write(lambda: vector_stores.reindex(tenant, store_id, embedding_model, self._now()), tenant)
        if count:
            self._tell(INGESTIONS)
        return count

    async def has_ingestions(self) -> bool:
        """See `Store.has_ingestions`."""
        return await self._read(ingestions.is_waiting)

    async def claim_ingestion(self, worker: str, per_tenant: int, paused: Sequence[str] = ()) -> Ingestion | None:
        """See `Store.claim_ingestion`."""
        return await self._write(lambda: ingestions.claim(worker, per_tenant, paused))

    async def write_chunks(self, ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> bool:
        """See `Store.write_chunks`."""
        return await self._put_parts(rows, partial(ingestions.write_chunks, ingestion), ingestion.file.tenant)

    async def complete_ingestion(self, ingestion: Ingestion, chunks: int, most: int) -> bool:
        """See `Store.complete_ingestion`."""
        return await self._write(lambda: ingestions.complete(ingestion, chunks, most), ingestion.file.tenant)

    async def fail_ingestion(self, ingestion: Ingestion, code: str, message: str) -> bool:
        """See `Store.fail_ingestion`."""
        return await self._write(lambda: ingestions.fail(ingestion, code, message), ingestion.file.tenant)

    async def release_ingestion(self, worker: str, seq: int) -> None:
        """See `Store.release_ingestion`."""
        if await self._write(lambda: ingestions.release(worker, seq)):
            self._tell(INGESTIONS)

    async def owned_ingestions(self, worker: str) -> Mapping[int, int]:
        """See `Store.owned_ingestions`."""
        return await self._read(lambda: ingestions.owned(worker))

    async def _purge_vector_stores(self, *, dry_run: bool = False) -> int:
        """Empty expired stores, one at a time so that other writes can run in between; return their number.

        Expired files are removed from all stores.
        """
        if dry_run:
            return await self._read(lambda: responses.count_old("count_vector_stores", self._now()))
        emptied = 0
        while await self._free(lambda: vector_stores.empty_expired(self._now())):
            emptied += 1
        while await self._free(lambda: vector_stores.forget_expired(self._now(), FILES_AT_ONCE)):
            pass
        if await self._read(vector_stores.has_dropped_chunks):
            await self.sweep_chunks()
        return emptied

    def _tell_queued(self, files: Sequence[NewStoreFile], outcome: Attached) -> None:
        if files and outcome.result is AttachResult.DONE:
            self._tell(INGESTIONS)
