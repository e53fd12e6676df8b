"""Vector stores, the files in them, batches of files, and their ingestion, as plain values."""

from enum import Enum
from typing import Literal

from msgspec import Struct

FileStatus = Literal["in_progress", "completed", "failed", "cancelled"]


class StoreFileCounts(Struct, frozen=True):
    """The number of files with each status.

    `total` of a batch is the number of files when it was created.
    """

    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    total: int = 0


class StoredVectorStore(Struct, frozen=True):
    """One vector store. `metadata` is a JSON object of strings.

    It expires after `days` without activity; None means never. It then loses its files and stays
    readable. `embedding_model` generates the vectors of its chunks; empty if it has no vectors.
    """

    id: str
    tenant: str
    created_at: int
    name: str | None = None
    description: str | None = None
    metadata: bytes = b"{}"
    days: int | None = None
    last_active_at: int = 0
    expires_at: int | None = None
    is_expired: bool = False
    embedding_model: str = ""
    usage_bytes: int = 0
    chunks: int = 0
    counts: StoreFileCounts = StoreFileCounts()


class StoreFile(Struct, frozen=True):
    """A file in a vector store. `attributes` is a JSON object of strings, numbers and booleans.

    Searches see the chunks of `live_version`, whatever the status is; None if no version is
    published. `version` is the fence: only one worker can complete a version.
    """

    store_id: str
    file_id: str
    tenant: str
    filename: str
    created_at: int
    status: FileStatus = "in_progress"
    error_code: str | None = None
    error_message: str | None = None
    attributes: bytes = b"{}"
    chunk_tokens: int = 800
    overlap_tokens: int = 400
    usage_bytes: int = 0
    chunks: int = 0
    version: int = 0
    live_version: int | None = None


class NewAttachment(Struct, frozen=True):
    """A file to attach, with its attributes (a JSON object) and its chunking."""

    file_id: str
    attributes: bytes = b"{}"
    chunk_tokens: int = 800
    overlap_tokens: int = 400
    key_id: str = ""
    """The API key that pays for its embeddings, or empty."""


class StoreBatch(Struct, frozen=True):
    """Files that were attached to a store together.

    Files that were removed since count as cancelled.
    """

    id: str
    store_id: str
    created_at: int
    is_cancelled: bool
    counts: StoreFileCounts


class Ingestion(Struct, frozen=True):
    """One version of a file in a store that is being ingested. One worker owns it.

    `crashes` counts the workers that died during it. `embedding_model` is the store's; empty if
    its chunks have no vectors.
    """

    seq: int
    file: StoreFile
    crashes: int
    embedding_model: str
    key_id: str = ""
    """The API key that pays for its embeddings, or empty."""

    @property
    def tenant(self) -> str:
        """The tenant of its file."""
        return self.file.tenant


class AttachResult(Enum):
    """The result of attaching files. Nothing is attached unless the result is `DONE`."""

    DONE = "done"
    UNKNOWN_STORE = "unknown_store"
    EXPIRED = "expired"
    UNKNOWN_FILE = "unknown_file"


class Attached(Struct, frozen=True):
    """The result, and in `unknown` the id of the first file that does not exist."""

    result: AttachResult
    unknown: str = ""


class StorePageQuery(Struct, frozen=True):
    """Which vector stores, or which files of a vector store, to list: up to `limit`, in the order
    of creation.

    `after` is the id before the page. `before` is the id directly behind the page.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = True
    status: FileStatus | None = None
