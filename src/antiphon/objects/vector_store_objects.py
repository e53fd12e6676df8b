"""The API's objects for vector stores, their files and batches; the errors for unknown ones; the
chunking of files.
"""

from collections.abc import Mapping

import msgspec

from antiphon.errors import ClientError
from antiphon.objects.pages import JsonObject
from antiphon.protocol.vector_stores import ChunkingStrategy, StaticChunking
from antiphon.search.contract import ChunkHit, SearchResults, expired_store, unknown_store
from antiphon.storage.records.vector_stores import (
    Attached,
    AttachResult,
    NewAttachment,
    StoreBatch,
    StoredVectorStore,
    StoreFile,
    StoreFileCounts,
)
from antiphon.telemetry.context import about

AUTO = 800, 400
"""The default chunk size and overlap in estimated tokens, unless a setting has others for the
embedding model.
"""


def usual_sizes(chunk_tokens: Mapping[str, int], embedding_model: str) -> tuple[int, int]:
    """Return the size and overlap of chunks, in estimated tokens, for files that are attached
    without them.

    `chunk_tokens` has the sizes of the settings by embedding model.
    """
    tokens = chunk_tokens.get(embedding_model)
    return AUTO if tokens is None else (tokens, tokens // 2)


def new_file(
    file_id: str,
    attributes: bytes | None,
    strategy: ChunkingStrategy | None,
    usual: tuple[int, int],
) -> NewAttachment:
    """Return a file to attach, with its chunking: that of the request, else the usual one."""
    cut = usual
    if isinstance(strategy, StaticChunking):
        cut = strategy.static.max_chunk_size_tokens, strategy.static.chunk_overlap_tokens
    return NewAttachment(file_id, attributes or b"{}", *cut, about().api_key_id)


def check_attached(outcome: Attached, store_id: str) -> None:
    """Raise `ClientError` unless the files were attached."""
    if outcome.result is AttachResult.UNKNOWN_STORE:
        raise unknown_store(store_id)
    if outcome.result is AttachResult.EXPIRED:
        raise expired_store(store_id)
    if outcome.result is AttachResult.UNKNOWN_FILE:
        raise ClientError(
            f"No such File object: {outcome.unknown[:100]}", status=404, param="file_id"
        )


def no_such_file(store_id: str, file_id: str) -> ClientError:
    """Return the error for a file that is not in its vector store."""
    text = f"No file found with id '{file_id[:100]}' in vector store '{store_id[:100]}'."
    return ClientError(text, status=404, param="file_id")


def no_such_batch(batch_id: str) -> ClientError:
    """Return the error for an unknown batch."""
    text = f"No vector store file batch found with id '{batch_id[:100]}'."
    return ClientError(text, status=404, param="batch_id")


def vector_store_object(store: StoredVectorStore) -> JsonObject:
    """Return a store as an API object."""
    status = (
        "expired"
        if store.is_expired
        else "in_progress"
        if store.counts.in_progress
        else "completed"
    )
    return {
        "id": store.id,
        "object": "vector_store",
        "created_at": store.created_at,
        "name": store.name,
        "description": store.description,
        "usage_bytes": store.usage_bytes,
        "file_counts": _counts(store.counts),
        "status": status,
        "expires_after": None
        if store.days is None
        else {"anchor": "last_active_at", "days": store.days},
        "expires_at": store.expires_at,
        "last_active_at": store.last_active_at,
        "metadata": msgspec.json.decode(store.metadata),
    }


def store_file_object(file: StoreFile) -> JsonObject:
    """Return a file in a store as an API object."""
    sizes = {
        "max_chunk_size_tokens": file.chunk_tokens,
        "chunk_overlap_tokens": file.overlap_tokens,
    }
    error = (
        None
        if file.error_code is None
        else {"code": file.error_code, "message": file.error_message or ""}
    )
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


def displayed_batch(batch: StoreBatch) -> JsonObject:
    """Return a batch of files as an API object."""
    status = (
        "cancelled"
        if batch.is_cancelled
        else "in_progress"
        if batch.counts.in_progress
        else "completed"
    )
    return {
        "id": batch.id,
        "object": "vector_store.files_batch",
        "created_at": batch.created_at,
        "vector_store_id": batch.store_id,
        "status": status,
        "file_counts": _counts(batch.counts),
    }


def displayed_results(found: SearchResults) -> JsonObject:
    """Return the results of a search as an API object."""
    return {
        "object": "vector_store.search_results.page",
        "search_query": list(found.queries),
        "data": [_displayed_hit(hit) for hit in found.hits],
        "has_more": False,
        "next_page": None,
    }


def displayed_content(text: str) -> JsonObject:
    """Return the text of a file in a store as an API object."""
    data = [{"type": "text", "text": text}]
    return {
        "object": "vector_store.file_content.page",
        "data": data,
        "has_more": False,
        "next_page": None,
    }


def _displayed_hit(hit: ChunkHit) -> JsonObject:
    return {
        "file_id": hit.file_id,
        "filename": hit.filename,
        "score": hit.score,
        "attributes": dict(hit.attributes),
        "content": [{"type": "text", "text": hit.text}],
    }


def _counts(counts: StoreFileCounts) -> dict[str, int]:
    return {
        "in_progress": counts.in_progress,
        "completed": counts.completed,
        "failed": counts.failed,
        "cancelled": counts.cancelled,
        "total": counts.total,
    }
