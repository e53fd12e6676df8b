"""Converts the bytes of a request to `/vector_stores` into typed data, or into the error that
describes the problem.
"""

from collections.abc import Mapping, Sequence

from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.queries import decode_query
from antiphon.protocol.validation.validate import decode_body, decode_object, fit
from antiphon.protocol.vector_stores import (
    AttachFile,
    ChunkingStrategy,
    CreateFileBatch,
    CreateVectorStore,
    SearchVectorStore,
    StaticChunking,
    StoreFilesQuery,
    UpdateStoreFile,
    UpdateVectorStore,
    VectorStoresQuery,
)

Params = Mapping[str, Sequence[str]]

STORE, BATCH = "vs", "vsfb"
"""The prefixes of store and batch ids."""


def decode_create_vector_store(body: bytes) -> CreateVectorStore:
    """Return the body of `POST /vector_stores`, which can be empty. Raises `ClientError` (400)."""
    request = decode_body(body, CreateVectorStore)
    _check_chunking(request.chunking_strategy, "chunking_strategy")
    return request


def decode_update_vector_store(body: bytes) -> UpdateVectorStore:
    """Return the body of `POST /vector_stores/{id}`. Raises `ClientError` (400)."""
    return decode_body(body, UpdateVectorStore)


def decode_attach_file(body: bytes) -> AttachFile:
    """Return the body of `POST /vector_stores/{id}/files`. Raises `ClientError` (400)."""
    request = fit(decode_object(body), AttachFile)
    _check_chunking(request.chunking_strategy, "chunking_strategy")
    return request


def decode_update_store_file(body: bytes) -> UpdateStoreFile:
    """Return the body of `POST /vector_stores/{id}/files/{file_id}`. Raises `ClientError` (400)."""
    return fit(decode_object(body), UpdateStoreFile)


def decode_create_batch(body: bytes) -> CreateFileBatch:
    """Return the body of `POST /vector_stores/{id}/file_batches`. Raises `ClientError` (400)."""
    request = decode_body(body, CreateFileBatch)
    if request.file_ids is None and request.files is None:
        raise refusals.missing("file_ids")
    if request.file_ids is not None and request.files is not None:
        raise refusals.invalid(
            "files", "'file_ids' and 'files' cannot be used together. Send one of them."
        )
    _check_chunking(request.chunking_strategy, "chunking_strategy")
    for i, one in enumerate(request.files or ()):
        _check_chunking(one.chunking_strategy, f"files[{i}].chunking_strategy")
    return request


def decode_search(body: bytes) -> SearchVectorStore:
    """Return the body of `POST /vector_stores/{id}/search`. Raises `ClientError` (400)."""
    request = fit(decode_object(body), SearchVectorStore)
    queries = [request.query] if isinstance(request.query, str) else request.query
    for i, query in enumerate(queries):
        if not query.strip():
            raise refusals.empty(
                "query" if isinstance(request.query, str) else f"query[{i}]", "string"
            )
    hybrid = request.ranking_options.hybrid_search if request.ranking_options else None
    if hybrid is not None and not hybrid.embedding_weight and not hybrid.text_weight:
        raise refusals.invalid(
            "ranking_options.hybrid_search", "expected at least one weight above 0."
        )
    return request


def decode_vector_stores_query(params: Params) -> VectorStoresQuery:
    """Return the query of `GET /vector_stores`. Raises `ClientError` (400)."""
    return decode_query(params, VectorStoresQuery)


def decode_store_files_query(params: Params) -> StoreFilesQuery:
    """Return the query of a list of files. Raises `ClientError` (400)."""
    return decode_query(params, StoreFilesQuery)


def check_id(value: str, name: str, prefix: str) -> str:
    """Return an id of the path. Raises `ClientError` (400) for one of another form."""
    if not value.startswith(f"{prefix}_"):
        displayed = refusals.quoted(value)
        raise refusals.invalid(name, f"'{displayed}'. Expected an ID that begins with '{prefix}'.")
    if not value.replace("_", "").replace("-", "").isalnum() or not value.isascii():
        raise refusals.invalid(
            name,
            f"'{refusals.quoted(value)}'. Expected an ID that contains letters, numbers, "
            "underscores, or dashes, but this value contained additional characters.",
        )
    return value


def _check_chunking(strategy: ChunkingStrategy | None, path: str) -> None:
    if not isinstance(strategy, StaticChunking):
        return
    sizes = strategy.static
    if sizes.chunk_overlap_tokens > sizes.max_chunk_size_tokens // 2:
        raise refusals.invalid(
            f"{path}.static.chunk_overlap_tokens",
            "expected at most half of 'max_chunk_size_tokens', which is "
            f"{sizes.max_chunk_size_tokens // 2}, but got {sizes.chunk_overlap_tokens} instead.",
        )
