"""The interface of a store: it performs operations, and has methods for what takes several transactions."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from antiphon.storage.contract.chunks import Chunks
from antiphon.storage.contract.containers import Containers
from antiphon.storage.contract.files import BlobStorage, FileReader
from antiphon.storage.contract.jobs import Jobs, Pulse
from antiphon.storage.contract.responses import Responses
from antiphon.storage.contract.vector_stores import VectorStores
from antiphon.storage.operations.step import P, R, Read, Write
from antiphon.storage.records import (
    BLOB_PART,
    NOTHING_RESERVED,
    ONE_SLOT,
    SOONEST,
    Announcement,
    ApiKey,
    Attached,
    AttachResult,
    Backlog,
    BucketState,
    Budget,
    ChainExtent,
    CompletionPage,
    CompletionQuery,
    ConsoleSession,
    ContainerFilePage,
    ContainerPage,
    ContainerQuery,
    ContainerQuota,
    ContainerStatus,
    Deferral,
    Delivery,
    DueDelivery,
    ExhaustedBudget,
    Facts,
    FactsFamily,
    FactsPage,
    FactsQuery,
    FiguresFound,
    FiguresQuery,
    FileCounts,
    FilePage,
    FileQuery,
    FileQuota,
    FileStatus,
    FileText,
    FileUse,
    Frames,
    Ingestion,
    ItemPage,
    Job,
    KeyReservation,
    LargeItem,
    Limits,
    LockResult,
    MoneyClaim,
    NewStoreFile,
    PageQuery,
    Progress,
    PurgeSize,
    Reply,
    Reservation,
    Role,
    Slots,
    StorageUse,
    StoreBatch,
    StoredAnswer,
    StoredCompletion,
    StoredContainer,
    StoredContainerFile,
    StoredConversation,
    StoredFile,
    StoredItem,
    StoredLesson,
    StoredPart,
    StoredProfile,
    StoredReport,
    StoredResponse,
    StoredUpload,
    StoreFile,
    StoreFilePage,
    StorePageQuery,
    Tail,
    TenantBudget,
    TenantSize,
    UsageField,
    UsageRecord,
    UsageRow,
    VectorStore,
    VectorStorePage,
    WebhookEndpoint,
)

__all__ = [
    "BLOB_PART",
    "NOTHING_RESERVED",
    "ONE_SLOT",
    "SOONEST",
    "Announcement",
    "ApiKey",
    "AttachResult",
    "Attached",
    "Backlog",
    "BlobStorage",
    "BucketState",
    "Budget",
    "ChainExtent",
    "CompletionPage",
    "CompletionQuery",
    "ConsoleSession",
    "ContainerFilePage",
    "ContainerPage",
    "ContainerQuery",
    "ContainerQuota",
    "ContainerStatus",
    "Containers",
    "Deferral",
    "Delivery",
    "DueDelivery",
    "ExhaustedBudget",
    "Facts",
    "FactsFamily",
    "FactsPage",
    "FactsQuery",
    "FiguresFound",
    "FiguresQuery",
    "FileCounts",
    "FilePage",
    "FileQuery",
    "FileQuota",
    "FileReader",
    "FileStatus",
    "FileText",
    "FileUse",
    "Frames",
    "Ingestion",
    "ItemPage",
    "Job",
    "KeyReservation",
    "LargeItem",
    "Limits",
    "LockResult",
    "MoneyClaim",
    "NewStoreFile",
    "PageQuery",
    "Progress",
    "Pulse",
    "PurgeSize",
    "Reply",
    "Reservation",
    "Role",
    "Slots",
    "StorageUse",
    "Store",
    "StoreBatch",
    "StoreFile",
    "StoreFilePage",
    "StorePageQuery",
    "StoredAnswer",
    "StoredCompletion",
    "StoredContainer",
    "StoredContainerFile",
    "StoredConversation",
    "StoredFile",
    "StoredItem",
    "StoredLesson",
    "StoredPart",
    "StoredProfile",
    "StoredReport",
    "StoredResponse",
    "StoredUpload",
    "Tail",
    "TenantBudget",
    "TenantSize",
    "UsageField",
    "UsageRecord",
    "UsageRow",
    "VectorStore",
    "VectorStorePage",
    "WebhookEndpoint",
]


class Store(
    Responses,
    Jobs,
    Chunks,
    VectorStores,
    Containers,
    Protocol,
):
    """A durable store. Every method raises `StoreError` if the storage fails.

    Guarantees: when a method that writes returns, its changes are durable, and they are applied entirely or not at
    all. Reads see every completed write of this store. Many tasks of one event loop can call the methods concurrently,
    and several processes can open the same storage. No method reveals one tenant's data to another tenant.
    """

    url: str
    """The URL of the storage, as the operator wrote it, without user information."""

    observer: Callable[[Read[..., Any] | Write[..., Any], float, bool], None] | None
    """Receives each operation with the seconds that it took, and whether it failed."""

    def read(self, operation: Read[P, R], *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Return the result of an operation that only reads, in one snapshot of the storage."""
        ...

    def write(self, operation: Write[P, R], *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Return the result of an operation that writes, in one transaction. It may run more than once.

        It completes even if the caller is cancelled.
        """
        ...

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Store one part of a blob. When the last part is stored, the whole blob is durable."""
        ...

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """Return one part of a blob, or None."""
        ...

    async def delete_blob_parts(self, blob: str) -> None:
        """Delete the bytes of a blob, a few parts at a time."""
        ...

    async def trim_answers(self, limit: int) -> int:
        """Delete the least recently used answers until the rest uses at most `limit` bytes; return how many."""
        ...

    async def check(self) -> None:
        """Raise `StoreError` unless the storage responds."""
        ...

    async def check_writable(self) -> None:
        """Raise `StoreError` unless a write succeeds now and is durable. The written value is never read."""
        ...

    async def has_room(self) -> bool:
        """Return whether the disk of the storage has room, and keep space there for deletions, if the storage can.

        On a full disk, writes raise a `StoreError` with `is_disk_full`. If the space is kept, deletions, changes of API
        keys and `purge` succeed.
        """
        ...

    async def inspect(self) -> Mapping[str, int]:
        """Check all of the storage; return the number of rows of each table. Raises `StoreError` if it is damaged."""
        ...

    async def close(self) -> None:
        """Finish pending writes and release the storage.

        After that, every other method raises `StoreError`. Closing a closed store does nothing.
        """
        ...
