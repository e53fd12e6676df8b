"""`/v1/vector_stores`, as the gateway offers it."""

from antiphon.gateway.made import JsonObject, Made
from antiphon.protocol.vector_stores import (
    AttachFile,
    CreateFileBatch,
    CreateVectorStore,
    SearchVectorStore,
    StoreFilesQuery,
    UpdateStoreFile,
    UpdateVectorStore,
    VectorStoresQuery,
)
from antiphon.stored import vector_store_files as files
from antiphon.stored import vector_stores as stores
from antiphon.stored.parts import ObjectParts


class VectorStores:
    """`/v1/vector_stores` as methods."""

    def __init__(self, parts: ObjectParts) -> None:
        self._parts = parts

    def create(self, tenant: str, request: CreateVectorStore) -> Made:
        """Create a store with its first files."""
        return stores.create(self._parts, tenant, request)

    def list(self, tenant: str, query: VectorStoresQuery) -> Made:
        """Return a page of the stores."""
        return stores.list_stores(self._parts, tenant, query)

    def list_of_all(self, tenant: str | None, query: VectorStoresQuery) -> Made:
        """Return a page of the stores with their tenants; without a `tenant`, of all tenants."""
        from antiphon.stored.console import files as listed  # noqa: PLC0415 - for the console alone

        return listed.list_stores(self._parts, tenant, query)

    def retrieve_with_tenant(self, tenant: str, store_id: str) -> Made:
        """Return a store with its tenant."""
        from antiphon.stored.console import files as listed  # noqa: PLC0415 - for the console alone

        return listed.retrieve_store(self._parts, tenant, store_id)

    def list_named_files(self, tenant: str, store_id: str, query: StoreFilesQuery) -> Made:
        """Return a page of the files of a store with their names."""
        from antiphon.stored.console import files as listed  # noqa: PLC0415 - for the console alone

        return listed.list_store_files(self._parts, tenant, store_id, query)

    def retrieve(self, tenant: str, store_id: str) -> Made:
        """Return a store."""
        return stores.retrieve(self._parts, tenant, store_id)

    def update(self, tenant: str, store_id: str, request: UpdateVectorStore) -> Made:
        """Change a store."""
        return stores.update(self._parts, tenant, store_id, request)

    def delete(self, tenant: str, store_id: str) -> Made:
        """Delete a store; its files remain."""
        return stores.delete(self._parts, tenant, store_id)

    async def search(self, tenant: str, store_id: str, request: SearchVectorStore) -> tuple[JsonObject, bool]:
        """Search a store; return the results, and whether they are by keywords only."""
        return await stores.search(self._parts, tenant, store_id, request)

    async def reindex(self, tenant: str, store_id: str) -> JsonObject:
        """Ingest all files of a store again; return the store."""
        await stores.reindex(self._parts, tenant, store_id)
        return await stores.retrieve(self._parts, tenant, store_id)

    def attach(self, tenant: str, store_id: str, request: AttachFile) -> Made:
        """Attach a file."""
        return files.attach(self._parts, tenant, store_id, request)

    def list_files(self, tenant: str, store_id: str, query: StoreFilesQuery, batch_id: str | None = None) -> Made:
        """Return a page of the files of a store, or of a batch."""
        return files.list_files(self._parts, tenant, store_id, query, batch_id)

    def retrieve_file(self, tenant: str, store_id: str, file_id: str) -> Made:
        """Return a file in a store."""
        return files.retrieve(self._parts, tenant, store_id, file_id)

    def update_file(self, tenant: str, store_id: str, file_id: str, request: UpdateStoreFile) -> Made:
        """Replace the attributes of a file in a store."""
        return files.update(self._parts, tenant, store_id, file_id, request)

    def detach(self, tenant: str, store_id: str, file_id: str) -> Made:
        """Remove a file from a store; the file itself remains."""
        return files.detach(self._parts, tenant, store_id, file_id)

    def content(self, tenant: str, store_id: str, file_id: str) -> Made:
        """Return the text of a file in a store."""
        return files.content(self._parts, tenant, store_id, file_id)

    def create_batch(self, tenant: str, store_id: str, request: CreateFileBatch) -> Made:
        """Attach files together."""
        return files.create_batch(self._parts, tenant, store_id, request)

    def retrieve_batch(self, tenant: str, store_id: str, batch_id: str) -> Made:
        """Return a batch."""
        return files.retrieve_batch(self._parts, tenant, store_id, batch_id)

    def cancel_batch(self, tenant: str, store_id: str, batch_id: str) -> Made:
        """Cancel the remaining files of a batch."""
        return files.cancel_batch(self._parts, tenant, store_id, batch_id)
