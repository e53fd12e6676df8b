"""Vector stores: the operations on them, and searches (specification of hosted tools, sections 3
and 4).

The files in them are in `vector_store_files.py`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from antiphon.ids import Clock, NewId
from antiphon.objects.large import Capacity, built_object
from antiphon.objects.pages import LONGEST_ID, JsonObject, page_of, unknown_bound
from antiphon.objects.vector_store_objects import (
    check_attached,
    displayed_results,
    new_file,
    usual_sizes,
    vector_store_object,
)
from antiphon.protocol.vector_stores import (
    CreateVectorStore,
    SearchVectorStore,
    StoreExpiresAfter,
    UpdateVectorStore,
    VectorStoresQuery,
)
from antiphon.search.contract import (
    Ranking,
    SearchRequest,
    StoreSearch,
    expired_store,
    unknown_store,
)
from antiphon.search.filters import read_filter
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.pages import Page
from antiphon.storage.records.vector_stores import StoredVectorStore, StorePageQuery
from antiphon.storage.store import Store
from antiphon.upstream.permitted import check_permitted


class VectorStores:
    """The vector stores of all tenants. Every method raises `StoreError`.

    `embedding_model` embeds the chunks of new stores, empty for none; `chunk_tokens` has the usual
    sizes of chunks by embedding model.
    """

    def __init__(
        self,
        store: Store,
        search: StoreSearch,
        capacity: Capacity,
        embedding_model: str,
        chunk_tokens: Mapping[str, int],
        new_id: NewId,
        now: Clock,
    ) -> None:
        self._store = store
        self._search = search
        self._capacity = capacity
        self._new_id = new_id
        self._now = now
        self.embedding_model = embedding_model
        self.chunk_tokens = chunk_tokens

    async def create(self, tenant: str, request: CreateVectorStore) -> JsonObject:
        """Create a store with its first files; return it.

        Raises `ClientError` (404) for an unknown file.
        """
        model = self.embedding_model
        store = StoredVectorStore(
            self._new_id("vs"),
            tenant,
            int(self._now()),
            request.name,
            request.description,
            msgspec.json.encode(request.metadata or {}),
            _days(request.expires_after),
            embedding_model=model,
        )
        if request.file_ids:
            check_permitted(model, "Search by meaning", "file_ids")
        cut = request.chunking_strategy, usual_sizes(self.chunk_tokens, model)
        files = [new_file(file_id, None, *cut) for file_id in dict.fromkeys(request.file_ids or ())]
        check_attached(await self._store.write(vector_stores.create, store, files), store.id)
        return await self.retrieve(tenant, store.id)

    async def list(self, tenant: str, query: VectorStoresQuery) -> JsonObject:
        """Return a page of the stores. Raises as `page`."""
        page = await self.page(tenant, query)
        return page_of([vector_store_object(one) for one in page.data], has_more=page.has_more)

    async def retrieve(self, tenant: str, store_id: str) -> JsonObject:
        """Return a store. Raises as `load`."""
        return vector_store_object(await self.load(tenant, store_id))

    async def update(self, tenant: str, store_id: str, request: UpdateVectorStore) -> JsonObject:
        """Change a store; return it. Raises `ClientError` (404) if it is unknown."""
        changes: dict[str, Any] = {}
        if request.name is not msgspec.UNSET:
            changes["name"] = request.name
        if request.metadata is not msgspec.UNSET:
            changes["metadata"] = msgspec.json.encode(request.metadata or {})
        if request.expires_after is not msgspec.UNSET:
            changes["days"] = _days(request.expires_after)
        store = await self._store.write(vector_stores.update, tenant, store_id, changes)
        if store is None:
            raise unknown_store(store_id)
        return vector_store_object(store)

    async def delete(self, tenant: str, store_id: str) -> JsonObject:
        """Delete a store; its files are kept.

        Return the confirmation. Raises `ClientError` (404) if it is unknown.
        """
        if not await self._store.write(vector_stores.delete, tenant, store_id):
            raise unknown_store(store_id)
        return {"id": store_id, "object": "vector_store.deleted", "deleted": True}

    async def search(
        self, tenant: str, store_id: str, request: SearchVectorStore
    ) -> tuple[JsonObject, bool]:
        """Search a store; return the results, and whether they are by keywords only: its model does
        not answer.

        Raises `ClientError`: 404 if it is unknown, 400 if it has expired; `AntiphonError`.
        """
        queries = (request.query,) if isinstance(request.query, str) else tuple(request.query)
        filters = read_filter(request.filters, "filters")
        wanted = SearchRequest(
            tenant, (store_id,), queries, request.max_num_results, filters, _ranking(request)
        )
        found = await self._search.search(wanted)
        size = sum(len(hit.text) for hit in found.hits)
        return await built_object(self._capacity, tenant, size, displayed_results, found), bool(
            found.by_keywords
        )

    async def reindex(self, tenant: str, store_id: str) -> JsonObject:
        """Ingest all files of a store again, with the currently configured embeddings; return the
        store.

        Raises `ClientError`: 404 if it is unknown, 400 if it has expired.
        """
        check_permitted(self.embedding_model, "Search by meaning")
        await self.load(tenant, store_id)
        if (
            await self._store.write(vector_stores.reindex, tenant, store_id, self.embedding_model)
            is None
        ):
            raise expired_store(store_id)
        return await self.retrieve(tenant, store_id)

    async def load(self, tenant: str, store_id: str) -> StoredVectorStore:
        """Return a store of the tenant. Raises `ClientError` (404) if it is unknown."""
        store = await self._store.read(vector_stores.find, tenant, store_id)
        if store is None:
            raise unknown_store(store_id)
        return store

    async def page(self, tenant: str | None, query: VectorStoresQuery) -> Page[StoredVectorStore]:
        """Return a page of the stores of one or all tenants.

        Raises `ClientError` (400) if `after` or `before` is not in the list.
        """
        wanted = StorePageQuery(query.limit, query.after, query.before, query.order == "desc")
        page = await self._store.read(vector_stores.page, tenant, wanted)
        if page.unknown:
            raise unknown_bound(
                page.unknown, getattr(query, page.unknown)[:LONGEST_ID], "vector store"
            )
        return page


def _days(expires_after: StoreExpiresAfter | None) -> int | None:
    return None if expires_after is None else expires_after.days


def _ranking(request: SearchVectorStore) -> Ranking:
    options = request.ranking_options
    if options is None:
        return Ranking()
    if options.hybrid_search is None:
        return Ranking(options.ranker, options.score_threshold)
    weights = options.hybrid_search.embedding_weight, options.hybrid_search.text_weight
    return Ranking(options.ranker, options.score_threshold, *weights)
