"""Files and vector stores as the console lists them: with tenants, and with the names of files in a store."""

from collections.abc import Sequence
from typing import Any

from antiphon.protocol.files import FilesQuery
from antiphon.protocol.vector_stores import StoreFilesQuery, VectorStoresQuery
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.vector_stores import StoreFile, VectorStore
from antiphon.stored import vector_store_files as store_files
from antiphon.stored import vector_stores
from antiphon.stored.file_objects import shown_file
from antiphon.stored.files import Files
from antiphon.stored.large import shown
from antiphon.stored.parts import ObjectParts
from antiphon.stored.vector_store_files import load_store, page_of, shown_store_file
from antiphon.stored.vector_stores import shown_store


async def list_files(files: Files, tenant: str | None, query: FilesQuery) -> dict[str, Any]:
    """Return a page of files; without a `tenant`, of all tenants. Raises `ClientError` (400) for an unknown `after`."""
    page = await files.page(tenant, query)
    return page_of([_with_tenant(shown_file(one), one) for one in page.files], has_more=page.has_more)


async def list_stores(parts: ObjectParts, tenant: str | None, query: VectorStoresQuery) -> dict[str, Any]:
    """Return a page of vector stores, as `list_files` does. Raises `ClientError` (400) for an unknown `after`."""
    page = await vector_stores.load_page(parts, tenant, query)
    return page_of([_with_tenant(shown_store(one), one) for one in page.stores], has_more=page.has_more)


async def retrieve_store(parts: ObjectParts, tenant: str, store_id: str) -> dict[str, Any]:
    """Return a vector store. Raises `ClientError` (404) if the tenant has none with this id."""
    store = await load_store(parts, tenant, store_id)
    return _with_tenant(shown_store(store), store)


async def list_store_files(parts: ObjectParts, tenant: str, store_id: str, query: StoreFilesQuery) -> dict[str, Any]:
    """Return a page of a vector store's files. Raises `ClientError`: 404 for the store, 400 for an unknown `after`."""
    page = await store_files.load_page(parts, tenant, store_id, query)
    return await shown(parts, tenant, store_files.size_of(page), _named_page, page.files, page.has_more)


def _named_page(files: Sequence[StoreFile], has_more: bool) -> dict[str, Any]:
    return page_of([shown_store_file(one) | {"filename": one.filename} for one in files], has_more=has_more)


def _with_tenant(value: dict[str, Any], owned: StoredFile | VectorStore) -> dict[str, Any]:
    return value | {"tenant": owned.tenant or None}
