"""Bodies and queries of `/vector_stores` (specification of hosted tools, sections 3 and 4)."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from antiphon.protocol.items.content import ItemId
from antiphon.protocol.requests import Metadata

MOST_FILES = 500
"""Highest number of files with which a store is created."""

MOST_IN_BATCH = 2000
"""Highest number of files in a batch."""

StoreName = Annotated[str, Meta(max_length=256)]
Description = Annotated[str, Meta(max_length=512)]
FileId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        pattern=r"^[^\x00]*$(?!\n)",
        title="an ID without the character NUL",
    ),
]
Attributes = dict[str, Any]
"""Checked by `search/filters.py`."""


class StoreExpiresAfter(Struct, kw_only=True, forbid_unknown_fields=True):
    """Days without use after which a store expires."""

    anchor: Literal["last_active_at"]
    days: Annotated[int, Meta(ge=1, le=365)]


class ChunkSizes(Struct, kw_only=True, forbid_unknown_fields=True):
    """Estimated tokens of a chunk, and of its overlap with the next one."""

    max_chunk_size_tokens: Annotated[int, Meta(ge=100, le=4096)]
    chunk_overlap_tokens: Annotated[int, Meta(ge=0, le=2048)]


class AutoChunking(Struct, tag="auto", tag_field="type", kw_only=True, forbid_unknown_fields=True):
    """Chunks of 800 tokens with an overlap of 400, or as the server is configured for the embedding
    model.
    """


class StaticChunking(
    Struct, tag="static", tag_field="type", kw_only=True, forbid_unknown_fields=True
):
    """Chunks of the client's choice; the overlap is at most half of a chunk."""

    static: ChunkSizes


ChunkingStrategy = AutoChunking | StaticChunking


class CreateVectorStore(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /vector_stores`."""

    name: StoreName | None = None
    description: Description | None = None
    file_ids: Annotated[list[FileId], Meta(max_length=MOST_FILES)] | None = None
    chunking_strategy: ChunkingStrategy | None = None
    expires_after: StoreExpiresAfter | None = None
    metadata: Metadata | None = None


class UpdateVectorStore(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /vector_stores/{id}`: absent fields stay unchanged, `null` removes one."""

    name: StoreName | UnsetType | None = UNSET
    expires_after: StoreExpiresAfter | UnsetType | None = UNSET
    metadata: Metadata | UnsetType | None = UNSET


class AttachFile(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /vector_stores/{id}/files`, and a file of a batch."""

    file_id: FileId
    attributes: Attributes | None = None
    chunking_strategy: ChunkingStrategy | None = None


class UpdateStoreFile(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /vector_stores/{id}/files/{file_id}`; `null` removes all attributes."""

    attributes: Attributes | None


class CreateFileBatch(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /vector_stores/{id}/file_batches`: `file_ids` with their common fields, or
    `files`.
    """

    file_ids: Annotated[list[FileId], Meta(min_length=1, max_length=MOST_IN_BATCH)] | None = None
    files: Annotated[list[AttachFile], Meta(min_length=1, max_length=MOST_IN_BATCH)] | None = None
    attributes: Attributes | None = None
    chunking_strategy: ChunkingStrategy | None = None


class HybridSearch(Struct, kw_only=True, forbid_unknown_fields=True):
    """The weights of similarity and keywords when their lists are fused; one of them is above 0."""

    embedding_weight: Annotated[float, Meta(ge=0, le=1_000_000)] = 1.0
    text_weight: Annotated[float, Meta(ge=0, le=1_000_000)] = 1.0


class RankingOptions(Struct, kw_only=True, forbid_unknown_fields=True):
    """How results are ranked and limited."""

    ranker: Literal["auto", "none", "default-2024-11-15"] = "auto"
    score_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.0
    hybrid_search: HybridSearch | None = None


Query = Annotated[str, Meta(min_length=1, max_length=8000)]


class SearchVectorStore(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /vector_stores/{id}/search`.

    `filters` is checked by `search/filters.py`.
    """

    query: Query | Annotated[list[Query], Meta(min_length=1, max_length=10)]
    max_num_results: Annotated[int, Meta(ge=1, le=50)] = 10
    filters: dict[str, Any] | None = None
    ranking_options: RankingOptions | None = None
    rewrite_query: bool = False


class VectorStoresQuery(Struct, kw_only=True):
    """`GET /vector_stores`: a page of at most `limit`, newest first by default.

    `after` and `before` are the ids of the stores next to the page.
    """

    after: ItemId | None = None
    before: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"


class StoreFilesQuery(VectorStoresQuery, kw_only=True):
    """`GET /vector_stores/{id}/files` and `GET …/file_batches/{id}/files`: the files with this
    status.
    """

    filter: Literal["in_progress", "completed", "failed", "cancelled"] | None = None
