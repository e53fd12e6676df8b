"""Vector stores, the files in them, batches of files, and their ingestion, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

FileStatus = Literal["in_progress", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How many files have which status. `total` of a batch is the number of files at its creation."""

    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class VectorStore:
    """One vector store. `metadata` is a JSON object of strings.

    It expires after `days` without activity, None for never; then its files are dropped and it stays readable.
    `embedding_model` makes the vectors of its chunks; empty where it has none.
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
    counts: FileCounts = FileCounts()


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file in a vector store. `attributes` is a JSON object of strings, numbers and booleans.

    A search finds the chunks of `live_version`, whatever the status is; None where it has none. `version` is the
    fence: the work on one version is done once at most.
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


@dataclass(frozen=True, slots=True)
class NewStoreFile:
    """A file to attach, with its attributes (a JSON object) and how it is cut into chunks."""

    file_id: str
    attributes: bytes = b"{}"
    chunk_tokens: int = 800
    overlap_tokens: int = 400
    key_id: str = ""
    """The API key that its embeddings are charged to; empty without one."""


@dataclass(frozen=True, slots=True)
class StoreBatch:
    """Files that were attached to a store together. A file that left the store since counts as cancelled."""

    id: str
    store_id: str
    created_at: int
    is_cancelled: bool
    counts: FileCounts


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The work on one version of a file in a store, which one worker owns.

    `lost` workers have died of it. `embedding_model` is the store's; empty where its chunks have no vectors.
    """

    seq: int
    file: StoreFile
    lost: int
    embedding_model: str
    key_id: str = ""
    """The API key that its embeddings are charged to; empty without one."""


class AttachResult(Enum):
    """What became of files that were to be attached. Nothing is attached unless it is `DONE`."""

    DONE = "done"
    UNKNOWN_STORE = "unknown_store"
    EXPIRED = "expired"
    UNKNOWN_FILE = "unknown_file"


@dataclass(frozen=True, slots=True)
class Attached:
    """What became of them; `unknown` is the id of the first file that does not exist."""

    result: AttachResult
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class StorePageQuery:
    """Which stores, or files of one, to list: at most `limit`, in the order of creation.

    `after` is the id before the page. `before` is the id behind it: the page ends directly in front of it.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = True
    status: FileStatus | None = None


@dataclass(frozen=True, slots=True)
class VectorStorePage:
    """A part of the list. `unknown` is `after` or `before` where that id is not in the list; then there is no part."""

    stores: Sequence[VectorStore] = ()
    has_more: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class StoreFilePage:
    """A part of the list of a store's or a batch's files; see `VectorStorePage`."""

    files: Sequence[StoreFile] = ()
    has_more: bool = False
    unknown: str = ""
