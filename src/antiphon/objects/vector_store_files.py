"""Files in vector stores and their batches: the operations on them (specification of hosted tools,
section 3).
"""

from typing import Any

import msgspec

from antiphon.documents.reader import DocumentError
from antiphon.errors import ClientError
from antiphon.ids import NewId
from antiphon.objects.file_text import FileTexts, weight_of_file
from antiphon.objects.large import Capacity, built_object
from antiphon.objects.pages import LONGEST_ID, JsonObject, page_of, unknown_bound
from antiphon.objects.vector_store_objects import (
    AUTO,
    check_attached,
    displayed_batch,
    displayed_content,
    new_file,
    no_such_batch,
    no_such_file,
    store_file_object,
    usual_sizes,
)
from antiphon.objects.vector_stores import VectorStores
from antiphon.protocol.vector_stores import (
    AttachFile,
    CreateFileBatch,
    StoreFilesQuery,
    UpdateStoreFile,
)
from antiphon.search.filters import read_attributes
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.memory import Account
from antiphon.storage.blobs.base import FileReader
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.pages import Page
from antiphon.storage.records.vector_stores import StoreBatch, StoreFile, StorePageQuery
from antiphon.storage.store import Store
from antiphon.upstream.permitted import check_permitted, restriction


class VectorStoreFiles:
    """The files in the vector stores of all tenants. Every method raises `StoreError`.

    `files` and `texts` read files, which only `content` needs.
    """

    def __init__(
        self,
        store: Store,
        stores: VectorStores,
        files: Lazy[FileReader],
        texts: Lazy[FileTexts],
        capacity: Capacity,
        new_id: NewId,
    ) -> None:
        self._store = store
        self._stores = stores
        self._files = files
        self._texts = texts
        self._capacity = capacity
        self._new_id = new_id

    async def attach(self, tenant: str, store_id: str, request: AttachFile) -> JsonObject:
        """Attach a file; return it.

        Raises `ClientError`: 404 for an unknown store or file, 400 for an expired store, or if the
        request's key does not allow the embedding model of the store.
        """
        await self._check_model(tenant, store_id)
        usual = await self._usual_sizes(tenant, store_id)
        new = new_file(
            request.file_id, _attributes(request.attributes), request.chunking_strategy, usual
        )
        check_attached(
            await self._store.write(vector_stores.attach, tenant, store_id, [new]), store_id
        )
        return await self.retrieve(tenant, store_id, request.file_id)

    async def list(
        self, tenant: str, store_id: str, query: StoreFilesQuery, batch_id: str | None = None
    ) -> JsonObject:
        """Return a page of the files of a store or batch; a large page is built in a thread.

        Raises as `page`.
        """
        page = await self.page(tenant, store_id, query, batch_id)
        return await built_object(self._capacity, tenant, size_of(page), _displayed_page, page)

    async def retrieve(self, tenant: str, store_id: str, file_id: str) -> JsonObject:
        """Return a file in a store.

        Raises `ClientError` (404) if the store or the file is unknown.
        """
        return store_file_object(await self._load(tenant, store_id, file_id))

    async def update(
        self, tenant: str, store_id: str, file_id: str, request: UpdateStoreFile
    ) -> JsonObject:
        """Replace the attributes of a file; return it.

        Raises `ClientError` (404) if it is unknown.
        """
        attributes = _attributes(request.attributes)
        await self._stores.load(tenant, store_id)
        file = await self._store.write(
            vector_stores.set_attributes, tenant, store_id, file_id, attributes
        )
        if file is None:
            raise no_such_file(store_id, file_id)
        return store_file_object(file)

    async def detach(self, tenant: str, store_id: str, file_id: str) -> JsonObject:
        """Remove a file from a store; the file itself remains. Return the confirmation.

        Raises `ClientError` (404) if the store or the file is unknown.
        """
        await self._stores.load(tenant, store_id)
        if not await self._store.write(vector_stores.detach, tenant, store_id, file_id):
            raise no_such_file(store_id, file_id)
        return {"id": file_id, "object": "vector_store.file.deleted", "deleted": True}

    async def content(self, tenant: str, store_id: str, file_id: str) -> JsonObject:
        """Return the text of a file in a store.

        Raises `ClientError`: 404 if it is unknown, 400 if it has no text.
        """
        await self._load(tenant, store_id, file_id)
        file = await self._files.get().find(tenant, file_id)
        if file is None:
            raise no_such_file(store_id, file_id)
        memory = self._capacity.memory
        account = Account(memory, tenant)
        try:
            account.take(weight_of_file(file, memory.most(tenant)))
            text = await self._texts.get().load(file)
            return await built_object(self._capacity, tenant, len(text), displayed_content, text)
        except DocumentError as error:
            raise ClientError(error.message, code=error.code, param="file_id") from error
        finally:
            account.close()

    async def create_batch(
        self, tenant: str, store_id: str, request: CreateFileBatch
    ) -> JsonObject:
        """Attach files together; return the batch.

        Raises `ClientError` as `attach`, and then attaches none of them.
        """
        await self._check_model(tenant, store_id)
        usual = await self._usual_sizes(tenant, store_id)
        if request.files is not None:
            new = [
                new_file(
                    one.file_id,
                    _attributes(one.attributes, f"files[{i}].attributes"),
                    one.chunking_strategy,
                    usual,
                )
                for i, one in enumerate(request.files)
            ]
        else:
            common = _attributes(request.attributes), request.chunking_strategy, usual
            new = [new_file(file_id, *common) for file_id in request.file_ids or ()]
        distinct = {one.file_id: one for one in new}
        batch_id = self._new_id("vsfb")
        outcome = await self._store.write(
            vector_stores.attach, tenant, store_id, [*distinct.values()], batch_id
        )
        check_attached(outcome, store_id)
        return await self.retrieve_batch(tenant, store_id, batch_id)

    async def retrieve_batch(self, tenant: str, store_id: str, batch_id: str) -> JsonObject:
        """Return a batch. Raises `ClientError` (404) if the store or the batch is unknown."""
        return displayed_batch(await self._load_batch(tenant, store_id, batch_id))

    async def cancel_batch(self, tenant: str, store_id: str, batch_id: str) -> JsonObject:
        """Cancel the unfinished files of a batch; return it.

        Raises `ClientError` (404) if it is unknown.
        """
        await self._stores.load(tenant, store_id)
        batch = await self._store.write(vector_stores.cancel_batch, tenant, store_id, batch_id)
        if batch is None:
            raise no_such_batch(batch_id)
        return displayed_batch(batch)

    async def page(
        self, tenant: str, store_id: str, query: StoreFilesQuery, batch_id: str | None = None
    ) -> Page[StoreFile]:
        """Return a page of the files of a store or batch.

        Raises `ClientError`: 404 for an unknown store or batch, 400 if `after` or `before` is not
        in the list.
        """
        if batch_id is None:
            await self._stores.load(tenant, store_id)
        else:
            await self._load_batch(tenant, store_id, batch_id)
        wanted = StorePageQuery(
            query.limit, query.after, query.before, query.order == "desc", query.filter
        )
        page = await self._store.read(vector_stores.files, tenant, store_id, wanted, batch_id)
        if page.unknown:
            raise unknown_bound(page.unknown, getattr(query, page.unknown)[:LONGEST_ID], "file")
        return page

    async def _load(self, tenant: str, store_id: str, file_id: str) -> StoreFile:
        await self._stores.load(tenant, store_id)
        file = await self._store.read(vector_stores.file, tenant, store_id, file_id)
        if file is None:
            raise no_such_file(store_id, file_id)
        return file

    async def _load_batch(self, tenant: str, store_id: str, batch_id: str) -> StoreBatch:
        await self._stores.load(tenant, store_id)
        batch = await self._store.read(vector_stores.batch, tenant, store_id, batch_id)
        if batch is None:
            raise no_such_batch(batch_id)
        return batch

    async def _usual_sizes(self, tenant: str, store_id: str) -> tuple[int, int]:
        """Return the usual sizes of a store; only servers with sizes for models read the store for
        them.
        """
        sizes = self._stores.chunk_tokens
        store = await self._store.read(vector_stores.find, tenant, store_id) if sizes else None
        return AUTO if store is None else usual_sizes(sizes, store.embedding_model)

    async def _check_model(self, tenant: str, store_id: str) -> None:
        """Raise `ClientError` (400) if the request's key does not allow the embedding model of a
        store.
        """
        if restriction.get():
            store = await self._stores.load(tenant, store_id)
            check_permitted(store.embedding_model, "Search by meaning", "vector_store_id")


def size_of(page: Page[StoreFile]) -> int:
    """Return the number of bytes of the attributes on a page."""
    return sum(len(one.attributes) for one in page.data)


def _displayed_page(page: Page[StoreFile]) -> JsonObject:
    return page_of([store_file_object(one) for one in page.data], has_more=page.has_more)


def _attributes(value: Any, path: str = "attributes") -> bytes:
    return msgspec.json.encode(read_attributes(value, path))
