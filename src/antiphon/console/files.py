"""Files and vector stores as the console lists them: with tenants, and with the names of files in a
store.
"""

from collections.abc import Callable

from antiphon.objects.files import Files, file_object
from antiphon.objects.large import Capacity, built_object
from antiphon.objects.pages import JsonObject, page_of
from antiphon.objects.vector_store_files import VectorStoreFiles, size_of
from antiphon.objects.vector_store_objects import store_file_object, vector_store_object
from antiphon.objects.vector_stores import VectorStores
from antiphon.protocol.files import FilesQuery
from antiphon.protocol.vector_stores import StoreFilesQuery, VectorStoresQuery
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.pages import Page
from antiphon.storage.records.vector_stores import StoredVectorStore, StoreFile


class FileLists:
    """Lists the files and vector stores of all tenants.

    `open_files` returns the files, which only `files` needs.
    """

    def __init__(
        self,
        open_files: Callable[[], Files],
        stores: VectorStores,
        store_files: VectorStoreFiles,
        capacity: Capacity,
    ) -> None:
        self._open_files = open_files
        self._stores = stores
        self._store_files = store_files
        self._capacity = capacity

    async def files(self, tenant: str | None, query: FilesQuery) -> JsonObject:
        """Return a page of files; without a `tenant`, of all tenants. Raises as `Files.page`."""
        page = await self._open_files().page(tenant, query)
        return page_of(
            [_with_tenant(file_object(one), one) for one in page.data], has_more=page.has_more
        )

    async def file(self, tenant: str, file_id: str) -> JsonObject:
        """Return a file. Raises `ClientError` (404) if the tenant has none with this id."""
        file = await self._open_files().load(tenant, file_id)
        return _with_tenant(file_object(file), file)

    async def stores(self, tenant: str | None, query: VectorStoresQuery) -> JsonObject:
        """Return a page of vector stores; without a `tenant`, of all tenants.

        Raises as `VectorStores.page`.
        """
        page = await self._stores.page(tenant, query)
        return page_of(
            [_with_tenant(vector_store_object(one), one) for one in page.data],
            has_more=page.has_more,
        )

    async def store(self, tenant: str, store_id: str) -> JsonObject:
        """Return a vector store. Raises `ClientError` (404) if the tenant has none with this id."""
        store = await self._stores.load(tenant, store_id)
        return _with_tenant(vector_store_object(store), store)

    async def store_files(self, tenant: str, store_id: str, query: StoreFilesQuery) -> JsonObject:
        """Return a page of a vector store's files with their names.

        Raises as `VectorStoreFiles.page`.
        """
        page = await self._store_files.page(tenant, store_id, query)
        return await built_object(self._capacity, tenant, size_of(page), _named_page, page)


def _named_page(page: Page[StoreFile]) -> JsonObject:
    return page_of(
        [store_file_object(one) | {"filename": one.filename} for one in page.data],
        has_more=page.has_more,
    )


def _with_tenant(value: JsonObject, owned: StoredFile | StoredVectorStore) -> JsonObject:
    return value | {"tenant": owned.tenant or None}
