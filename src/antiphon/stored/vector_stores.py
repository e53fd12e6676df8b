"""Vector stores: the operations on them, and searches (specification of hosted tools, sections 3 and 4)."""

from typing import Any

import msgspec

from antiphon.protocol.vector_stores import (
    CreateVectorStore,
    SearchVectorStore,
    StoreExpiresAfter,
    UpdateVectorStore,
    VectorStoresQuery,
)
from antiphon.search.contract import Hit, Ranking, SearchRequest, SearchResults, expired_store, unknown_store
from antiphon.search.filters import read_filter
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import StorePageQuery, VectorStore, VectorStorePage
from antiphon.stored.large import shown
from antiphon.stored.parts import ObjectParts
from antiphon.stored.vector_store_files import (
    check_attached,
    counts_of,
    load_store,
    new_file,
    page_of,
    unknown_bound,
    usual_sizes,
)
from antiphon.upstream.permitted import check_permitted


async def create(parts: ObjectParts, tenant: str, request: CreateVectorStore) -> dict[str, Any]:
    """Create a store with its first files. Raises `ClientError` (404) for an unknown file."""
    store = VectorStore(
        parts.new_id("vs"),
        tenant,
        int(parts.now()),
        request.name,
        request.description,
        msgspec.json.encode(request.metadata or {}),
        _days(request.expires_after),
        embedding_model=parts.rules.embedding_model,
    )
    if request.file_ids:
        check_permitted(parts.rules.embedding_model, "Search by meaning", "file_ids")
    cut = request.chunking_strategy, usual_sizes(parts, store.embedding_model)
    files = [new_file(file_id, None, *cut) for file_id in dict.fromkeys(request.file_ids or ())]
    check_attached(await parts.store.write(vector_stores.create, store, files), store.id)
    return await retrieve(parts, tenant, store.id)


async def list_stores(parts: ObjectParts, tenant: str, query: VectorStoresQuery) -> dict[str, Any]:
    """Return a page of the stores. Raises `ClientError` (400) if `after` or `before` is not in the list."""
    page = await load_page(parts, tenant, query)
    return page_of([shown_store(one) for one in page.stores], has_more=page.has_more)


async def load_page(parts: ObjectParts, tenant: str | None, query: VectorStoresQuery) -> VectorStorePage:
    """Load a page of the stores of one or all tenants. Raises `ClientError` (400) like `list_stores`."""
    wanted = StorePageQuery(query.limit, query.after, query.before, query.order == "desc")
    page = await parts.store.read(vector_stores.page, tenant, wanted)
    if page.unknown:
        raise unknown_bound(page.unknown, query, "vector store")
    return page


async def retrieve(parts: ObjectParts, tenant: str, store_id: str) -> dict[str, Any]:
    """Return a store. Raises `ClientError` (404) if it is unknown."""
    return shown_store(await load_store(parts, tenant, store_id))


async def update(parts: ObjectParts, tenant: str, store_id: str, request: UpdateVectorStore) -> dict[str, Any]:
    """Change a store; return it. Raises `ClientError` (404) if it is unknown."""
    changes: dict[str, Any] = {}
    if request.name is not msgspec.UNSET:
        changes["name"] = request.name
    if request.metadata is not msgspec.UNSET:
        changes["metadata"] = msgspec.json.encode(request.metadata or {})
    if request.expires_after is not msgspec.UNSET:
        changes["days"] = _days(request.expires_after)
    store = await parts.store.write(vector_stores.update, tenant, store_id, changes)
    if store is None:
        raise unknown_store(store_id)
    return shown_store(store)


async def delete(parts: ObjectParts, tenant: str, store_id: str) -> dict[str, Any]:
    """Delete a store; its files are kept. Raises `ClientError` (404) if it is unknown."""
    if not await parts.store.write(vector_stores.delete, tenant, store_id):
        raise unknown_store(store_id)
    return {"id": store_id, "object": "vector_store.deleted", "deleted": True}


async def search(
    parts: ObjectParts, tenant: str, store_id: str, request: SearchVectorStore
) -> tuple[dict[str, Any], bool]:
    """Search a store; return the results, and whether they are by keywords only because its model does not answer.

    Raises `ClientError`: 404 if it is unknown, 400 if it has expired; `AntiphonError`.
    """
    queries = (request.query,) if isinstance(request.query, str) else tuple(request.query)
    filters = read_filter(request.filters, "filters")
    wanted = SearchRequest(tenant, (store_id,), queries, request.max_num_results, filters, _ranking(request))
    found = await parts.search.search(wanted)
    size = sum(len(hit.text) for hit in found.hits)
    return await shown(parts, tenant, size, _results, found), bool(found.by_keywords)


async def reindex(parts: ObjectParts, tenant: str, store_id: str) -> int:
    """Ingest all files of a store again, with the currently configured embeddings; return the number of files.

    Raises `ClientError`: 404 if it is unknown, 400 if it has expired.
    """
    check_permitted(parts.rules.embedding_model, "Search by meaning")
    await load_store(parts, tenant, store_id)
    count = await parts.store.write(vector_stores.reindex, tenant, store_id, parts.rules.embedding_model)
    if count is None:
        raise expired_store(store_id)
    return count


def shown_store(store: VectorStore) -> dict[str, Any]:
    """Return a store as an API object."""
    status = "expired" if store.is_expired else "in_progress" if store.counts.in_progress else "completed"
    return {
        "id": store.id,
        "object": "vector_store",
        "created_at": store.created_at,
        "name": store.name,
        "description": store.description,
        "usage_bytes": store.usage_bytes,
        "file_counts": counts_of(store.counts),
        "status": status,
        "expires_after": None if store.days is None else {"anchor": "last_active_at", "days": store.days},
        "expires_at": store.expires_at,
        "last_active_at": store.last_active_at,
        "metadata": msgspec.json.decode(store.metadata),
    }


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


def _results(found: SearchResults) -> dict[str, Any]:
    return {
        "object": "vector_store.search_results.page",
        "search_query": list(found.queries),
        "data": [_result(hit) for hit in found.hits],
        "has_more": False,
        "next_page": None,
    }


def _result(hit: Hit) -> dict[str, Any]:
    return {
        "file_id": hit.file_id,
        "filename": hit.filename,
        "score": hit.score,
        "attributes": dict(hit.attributes),
        "content": [{"type": "text", "text": hit.text}],
    }
