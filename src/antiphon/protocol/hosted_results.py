"""Results of the endpoints of files, vector stores, containers and prompts, as the library returns
them.

Times are whole seconds since the epoch, or None.
"""

from collections.abc import Iterator
from typing import Any, Generic, Literal, TypeVar

from msgspec import field

from antiphon.protocol.objects import ApiObject

T = TypeVar("T")

Attributes = dict[str, str | float | bool]


class ListPage(ApiObject, Generic[T], kw_only=True):
    """A page of objects, in the order of the request."""

    object: Literal["list"] = "list"
    data: list[T] = field(default_factory=list)
    first_id: str | None = None
    last_id: str | None = None
    has_more: bool = False


class Found(ApiObject, Generic[T], kw_only=True):
    """All results of a request; iterating it gives those of `data`."""

    object: str
    data: list[T] = field(default_factory=list)
    has_more: bool = False
    next_page: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)


class FileObject(ApiObject, kw_only=True):
    """A file: its `bytes` are its size."""

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    expires_at: int | None = None
    filename: str
    purpose: str
    status: str = "processed"
    status_details: str | None = None


class FileDeleted(ApiObject, kw_only=True):
    """The file was deleted."""

    id: str
    object: Literal["file"] = "file"
    deleted: bool = True


class FileCounts(ApiObject, kw_only=True):
    """How many files of a vector store, or of a batch, have each status."""

    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    total: int = 0


class ExpiryDays(ApiObject, kw_only=True):
    """Days without use after which a vector store expires."""

    anchor: Literal["last_active_at"] = "last_active_at"
    days: int


class VectorStore(ApiObject, kw_only=True):
    """A vector store."""

    id: str
    object: Literal["vector_store"] = "vector_store"
    created_at: int
    name: str | None = None
    description: str | None = None
    usage_bytes: int = 0
    file_counts: FileCounts
    status: Literal["expired", "in_progress", "completed"]
    expires_after: ExpiryDays | None = None
    expires_at: int | None = None
    last_active_at: int | None = None
    metadata: dict[str, str] | None = None


class VectorStoreDeleted(ApiObject, kw_only=True):
    """The vector store was deleted; its files remain."""

    id: str
    object: Literal["vector_store.deleted"] = "vector_store.deleted"
    deleted: bool = True


class LastError(ApiObject, kw_only=True):
    """Why a file could not be ingested."""

    code: str
    message: str


class VectorStoreFile(ApiObject, kw_only=True):
    """A file in a vector store. `usage_bytes` are those of its chunks."""

    id: str
    object: Literal["vector_store.file"] = "vector_store.file"
    usage_bytes: int = 0
    created_at: int
    vector_store_id: str
    status: Literal["in_progress", "completed", "cancelled", "failed"]
    last_error: LastError | None = None
    attributes: Attributes | None = None
    chunking_strategy: dict[str, Any] | None = None


class VectorStoreFileDeleted(ApiObject, kw_only=True):
    """The file was removed from the vector store; the file itself remains."""

    id: str
    object: Literal["vector_store.file.deleted"] = "vector_store.file.deleted"
    deleted: bool = True


class VectorStoreFileBatch(ApiObject, kw_only=True):
    """Files that were attached together."""

    id: str
    object: Literal["vector_store.files_batch"] = "vector_store.files_batch"
    created_at: int
    vector_store_id: str
    status: Literal["in_progress", "completed", "cancelled", "failed"]
    file_counts: FileCounts


class FoundText(ApiObject, kw_only=True):
    """A text of a file."""

    type: str = "text"
    text: str


class VectorStoreSearchResult(ApiObject, kw_only=True):
    """A passage that a search found; a higher `score` is a better one."""

    file_id: str
    filename: str
    score: float
    attributes: Attributes | None = None
    content: list[FoundText] = field(default_factory=list)


class VectorStoreSearchResults(Found[VectorStoreSearchResult], kw_only=True):
    """The passages that a search found, the best first."""

    search_query: list[str] | str | None = None


class VectorStoreFileContent(Found[FoundText], kw_only=True):
    """The text of a file in a vector store."""


class ExpiryMinutes(ApiObject, kw_only=True):
    """Minutes without use after which a container expires."""

    anchor: Literal["last_active_at"] = "last_active_at"
    minutes: int


class Container(ApiObject, kw_only=True):
    """A container."""

    id: str
    object: Literal["container"] = "container"
    created_at: int
    status: str
    expires_after: ExpiryMinutes | None = None
    last_active_at: int | None = None
    memory_limit: str | None = None
    network_policy: dict[str, Any] | None = None
    name: str


class ContainerDeleted(ApiObject, kw_only=True):
    """The container and its files were deleted."""

    id: str
    object: Literal["container.deleted"] = "container.deleted"
    deleted: bool = True


class ContainerFile(ApiObject, kw_only=True):
    """A file in a container; `source` is `user` or `assistant`."""

    id: str
    object: Literal["container.file"] = "container.file"
    created_at: int
    container_id: str
    path: str
    bytes: int | None = None
    source: str


class ContainerFileDeleted(ApiObject, kw_only=True):
    """The file of the container was deleted."""

    id: str
    object: Literal["container.file.deleted"] = "container.file.deleted"
    deleted: bool = True


class Prompt(ApiObject, kw_only=True):
    """A version of a prompt. `variables` are the names of its placeholders."""

    id: str
    object: Literal["prompt"] = "prompt"
    created_at: int
    name: str | None = None
    version: int
    is_default: bool
    variables: list[str] = field(default_factory=list)
    instructions: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    defaults: dict[str, Any] = field(default_factory=dict)


class PromptDeleted(ApiObject, kw_only=True):
    """The prompt was deleted with all its versions."""

    id: str
    object: Literal["prompt.deleted"] = "prompt.deleted"
    deleted: bool = True
