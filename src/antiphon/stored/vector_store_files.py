"""Files in vector stores and their batches: the operations on them (specification of hosted tools, section 3)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon.documents.reader import DocumentError
from antiphon.errors import ClientError
from antiphon.protocol.vector_stores import (
    AttachFile,
    ChunkingStrategy,
    CreateFileBatch,
    StaticChunking,
    StoreFilesQuery,
    UpdateStoreFile,
    VectorStoresQuery,
)
from antiphon.search.contract import expired_store, unknown_store
from antiphon.search.filters import read_attributes
from antiphon.sharing.memory import Account
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import (
    Attached,
    AttachResult,
    FileCounts,
    NewStoreFile,
    StoreBatch,
    StoreFile,
    StoreFilePage,
    StorePageQuery,
    VectorStore,
)
from antiphon.stored.file_text import weight_of_file
from antiphon.stored.large import shown
from antiphon.stored.parts import ObjectParts
from antiphon.telemetry.context import about
from antiphon.upstream.permitted import check_permitted, restriction

AUTO = 800, 400
"""The default chunk size and overlap in estimated tokens, unless a setting has others for the embedding model."""


async def attach(parts: ObjectParts, tenant: str, store_id: str, request: AttachFile) -> dict[str, Any]:
    """Attach a file; return it. Raises `ClientError`: 404 for an unknown store or file, 400 for an expired store."""
    await _check_model(parts, tenant, store_id)
    usual = await _usual_sizes(parts, tenant, store_id)
    new = new_file(request.file_id, _attributes(request.attributes), request.chunking_strategy, usual)
    check_attached(await parts.store.write(vector_stores.attach, tenant, store_id, [new]), store_id)
    return await retrieve(parts, tenant, store_id, request.file_id)


async def list_files(
    parts: ObjectParts, tenant: str, store_id: str, query: StoreFilesQuery, batch_id: str | None = None
) -> dict[str, Any]:
    """Return a page of the files of a store or batch. Raises `ClientError`: 404, 400 for an unknown bound."""
    page = await load_page(parts, tenant, store_id, query, batch_id)
    return await shown(parts, tenant, size_of(page), _page, page.files, page.has_more)


async def load_page(
    parts: ObjectParts, tenant: str, store_id: str, query: StoreFilesQuery, batch_id: str | None = None
) -> StoreFilePage:
    """Load a page of the files of a store or batch. Raises `ClientError` like `list_files`."""
    if batch_id is None:
        await load_store(parts, tenant, store_id)
    else:
        await _load_batch(parts, tenant, store_id, batch_id)
    wanted = StorePageQuery(query.limit, query.after, query.before, query.order == "desc", query.filter)
    page = await parts.store.read(vector_stores.files, tenant, store_id, wanted, batch_id)
    if page.unknown:
        raise unknown_bound(page.unknown, query, "file")
    return page


def size_of(page: StoreFilePage) -> int:
    """Return the number of bytes of the attributes on a page."""
    return sum(len(one.attributes) for one in page.files)


async def retrieve(parts: ObjectParts, tenant: str, store_id: str, file_id: str) -> dict[str, Any]:
    """Return a file in a store. Raises `ClientError` (404) if the store or the file is unknown."""
    return shown_store_file(await load_file(parts, tenant, store_id, file_id))


async def update(
    parts: ObjectParts, tenant: str, store_id: str, file_id: str, request: UpdateStoreFile
) -> dict[str, Any]:
    """Replace the attributes of a file; return it. Raises `ClientError` (404) if it is unknown."""
    attributes = _attributes(request.attributes)
    await load_store(parts, tenant, store_id)
    file = await parts.store.write(vector_stores.set_attributes, tenant, store_id, file_id, attributes)
    if file is None:
        raise _no_such_file(store_id, file_id)
    return shown_store_file(file)


async def detach(parts: ObjectParts, tenant: str, store_id: str, file_id: str) -> dict[str, Any]:
    """Remove a file from a store. Raises `ClientError` (404) if the store or the file is unknown."""
    await load_store(parts, tenant, store_id)
    if not await parts.store.write(vector_stores.detach, tenant, store_id, file_id):
        raise _no_such_file(store_id, file_id)
    return {"id": file_id, "object": "vector_store.file.deleted", "deleted": True}


async def content(parts: ObjectParts, tenant: str, store_id: str, file_id: str) -> dict[str, Any]:
    """Return the text of a file in a store. Raises `ClientError`: 404 if it is unknown, 400 if it has no text."""
    await load_file(parts, tenant, store_id, file_id)
    file = await parts.files.get().find(tenant, file_id)
    if file is None:
        raise _no_such_file(store_id, file_id)
    memory = Account(parts.memory, tenant)
    try:
        memory.take(weight_of_file(file, parts.memory.most(tenant)))
        text = await parts.texts.get().load(file)
        return await shown(parts, tenant, len(text), _content, text)
    except DocumentError as error:
        raise ClientError(error.message, code=error.code, param="file_id") from error
    finally:
        memory.close()


def _content(text: str) -> dict[str, Any]:
    data = [{"type": "text", "text": text}]
    return {"object": "vector_store.file_content.page", "data": data, "has_more": False, "next_page": None}


async def create_batch(parts: ObjectParts, tenant: str, store_id: str, request: CreateFileBatch) -> dict[str, Any]:
    """Attach files together; return the batch. Raises `ClientError` and attaches none if one is unknown."""
    await _check_model(parts, tenant, store_id)
    usual = await _usual_sizes(parts, tenant, store_id)
    if request.files is not None:
        new = [
            new_file(one.file_id, _attributes(one.attributes, f"files[{i}].attributes"), one.chunking_strategy, usual)
            for i, one in enumerate(request.files)
        ]
    else:
        common = _attributes(request.attributes), request.chunking_strategy, usual
        new = [new_file(file_id, *common) for file_id in request.file_ids or ()]
    distinct = {one.file_id: one for one in new}
    batch_id = parts.new_id("vsfb")
    outcome = await parts.store.write(vector_stores.attach, tenant, store_id, list(distinct.values()), batch_id)
    check_attached(outcome, store_id)
    return await retrieve_batch(parts, tenant, store_id, batch_id)


async def retrieve_batch(parts: ObjectParts, tenant: str, store_id: str, batch_id: str) -> dict[str, Any]:
    """Return a batch. Raises `ClientError` (404) if the store or the batch is unknown."""
    return _batch(await _load_batch(parts, tenant, store_id, batch_id))


async def cancel_batch(parts: ObjectParts, tenant: str, store_id: str, batch_id: str) -> dict[str, Any]:
    """Cancel the unfinished files of a batch; return it. Raises `ClientError` (404) if it is unknown."""
    await load_store(parts, tenant, store_id)
    batch = await parts.store.write(vector_stores.cancel_batch, tenant, store_id, batch_id)
    if batch is None:
        raise _no_such_batch(batch_id)
    return _batch(batch)


async def load_store(parts: ObjectParts, tenant: str, store_id: str) -> VectorStore:
    """Return a store. Raises `ClientError` (404) if it is unknown."""
    store = await parts.store.read(vector_stores.find, tenant, store_id)
    if store is None:
        raise unknown_store(store_id)
    return store


async def load_file(parts: ObjectParts, tenant: str, store_id: str, file_id: str) -> StoreFile:
    """Return a file in a store. Raises `ClientError` (404) if the store or the file is unknown."""
    await load_store(parts, tenant, store_id)
    file = await parts.store.read(vector_stores.file, tenant, store_id, file_id)
    if file is None:
        raise _no_such_file(store_id, file_id)
    return file


async def _load_batch(parts: ObjectParts, tenant: str, store_id: str, batch_id: str) -> StoreBatch:
    await load_store(parts, tenant, store_id)
    batch = await parts.store.read(vector_stores.batch, tenant, store_id, batch_id)
    if batch is None:
        raise _no_such_batch(batch_id)
    return batch


def usual_sizes(parts: ObjectParts, embedding_model: str) -> tuple[int, int]:
    """Return the size and overlap of chunks, in estimated tokens, for files that are attached without them."""
    tokens = parts.chunk_tokens.get(embedding_model)
    return AUTO if tokens is None else (tokens, tokens // 2)


async def _usual_sizes(parts: ObjectParts, tenant: str, store_id: str) -> tuple[int, int]:
    """Return those of a store; only servers with sizes for models read the store for them."""
    store = await parts.store.read(vector_stores.find, tenant, store_id) if parts.chunk_tokens else None
    return AUTO if store is None else usual_sizes(parts, store.embedding_model)


async def _check_model(parts: ObjectParts, tenant: str, store_id: str) -> None:
    """Raise `ClientError` (400) if the request's key does not allow the embedding model of a store."""
    if restriction.get():
        store = await load_store(parts, tenant, store_id)
        check_permitted(store.embedding_model, "Search by meaning", "vector_store_id")


def new_file(
    file_id: str, attributes: bytes | None, strategy: ChunkingStrategy | None, usual: tuple[int, int]
) -> NewStoreFile:
    """Return a file to attach, with its chunking: that of the request, else the usual one."""
    cut = usual
    if isinstance(strategy, StaticChunking):
        cut = strategy.static.max_chunk_size_tokens, strategy.static.chunk_overlap_tokens
    return NewStoreFile(file_id, attributes or b"{}", *cut, about().api_key_id)


def check_attached(outcome: Attached, store_id: str) -> None:
    """Raise `ClientError` unless the files were attached."""
    if outcome.result is AttachResult.UNKNOWN_STORE:
        raise unknown_store(store_id)
    if outcome.result is AttachResult.EXPIRED:
        raise expired_store(store_id)
    if outcome.result is AttachResult.UNKNOWN_FILE:
        raise ClientError(f"No such File object: {outcome.unknown[:100]}", status=404, param="file_id")


def unknown_bound(name: str, query: VectorStoresQuery, what: str) -> ClientError:
    """Return the error for an `after` or `before` that is not in the list."""
    bound = str(getattr(query, name))[:100]
    return ClientError(f"Invalid '{name}': no {what} with id '{bound}'.", code="invalid_value", param=name)


def page_of(data: Sequence[Mapping[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """Return objects as a page of a list."""
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}


def counts_of(counts: FileCounts) -> dict[str, int]:
    """Return the number of files with each status."""
    return {
        "in_progress": counts.in_progress,
        "completed": counts.completed,
        "failed": counts.failed,
        "cancelled": counts.cancelled,
        "total": counts.total,
    }


def _attributes(value: Any, path: str = "attributes") -> bytes:
    return msgspec.json.encode(read_attributes(value, path))


def _no_such_file(store_id: str, file_id: str) -> ClientError:
    text = f"No file found with id '{file_id[:100]}' in vector store '{store_id[:100]}'."
    return ClientError(text, status=404, param="file_id")


def _no_such_batch(batch_id: str) -> ClientError:
    text = f"No vector store file batch found with id '{batch_id[:100]}'."
    return ClientError(text, status=404, param="batch_id")


def _page(files: Sequence[StoreFile], has_more: bool) -> dict[str, Any]:
    return page_of([shown_store_file(one) for one in files], has_more=has_more)


def shown_store_file(file: StoreFile) -> dict[str, Any]:
    """Return a file in a store as an API object."""
    sizes = {"max_chunk_size_tokens": file.chunk_tokens, "chunk_overlap_tokens": file.overlap_tokens}
    error = None if file.error_code is None else {"code": file.error_code, "message": file.error_message or ""}
    return {
        "id": file.file_id,
        "object": "vector_store.file",
        "usage_bytes": file.usage_bytes,
        "created_at": file.created_at,
        "vector_store_id": file.store_id,
        "status": file.status,
        "last_error": error,
        "chunking_strategy": {"type": "static", "static": sizes},
        "attributes": msgspec.json.decode(file.attributes),
    }


def _batch(batch: StoreBatch) -> dict[str, Any]:
    status = "cancelled" if batch.is_cancelled else "in_progress" if batch.counts.in_progress else "completed"
    return {
        "id": batch.id,
        "object": "vector_store.files_batch",
        "created_at": batch.created_at,
        "vector_store_id": batch.store_id,
        "status": status,
        "file_counts": counts_of(batch.counts),
    }
