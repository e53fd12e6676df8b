"""The interface that the engine requires of a store. `antiphon.testing.check_store` verifies an implementation."""

from collections.abc import Mapping
from typing import Protocol

from antiphon.storage.contract.chat_completions import ChatCompletions
from antiphon.storage.contract.chunks import Chunks
from antiphon.storage.contract.container_counts import ContainerCounts
from antiphon.storage.contract.containers import Containers
from antiphon.storage.contract.conversations import Conversations, Keys
from antiphon.storage.contract.facts import ResponseFacts
from antiphon.storage.contract.files import BlobStorage, FileReader, Files
from antiphon.storage.contract.jobs import JOBS, Jobs, Pulse
from antiphon.storage.contract.lessons import Lessons
from antiphon.storage.contract.profiles import Profiles
from antiphon.storage.contract.prompts import Prompts
from antiphon.storage.contract.reports import Reports
from antiphon.storage.contract.responses import Responses
from antiphon.storage.contract.sessions import Sessions
from antiphon.storage.contract.tenants import Answers, ApiKeys, Secrets, Sizes, Webhooks
from antiphon.storage.contract.vector_stores import INGESTIONS, VectorStores
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
    "INGESTIONS",
    "JOBS",
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
    ResponseFacts,
    Jobs,
    Conversations,
    ChatCompletions,
    Chunks,
    VectorStores,
    Prompts,
    ContainerCounts,
    Keys,
    Webhooks,
    Secrets,
    Answers,
    ApiKeys,
    Sessions,
    Sizes,
    Profiles,
    Lessons,
    Reports,
    Files,
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
