"""What the engine asks of a store. Any implementation can be proved with `antiphon.testing.check_store`."""

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
    StorageUse,
    StoreBatch,
    StoredAnswer,
    StoredCompletion,
    StoredContainer,
    StoredContainerFile,
    StoredConversation,
    StoredFile,
    StoredItem,
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
    Reports,
    Files,
    Containers,
    Protocol,
):
    """Keeps what must survive. Every method raises `StoreError` where the storage itself fails.

    Guarantees: what a method that writes returned from is durable, whole or not at all; reads see every finished
    write of this store; calls may run concurrently from many tasks of one event loop, and several processes may have
    the same place open. Nothing of one tenant is known to another.
    """

    url: str
    """Where it keeps things, as the operator wrote it, without a password."""

    async def check(self) -> None:
        """Raise `StoreError` unless the storage answers."""
        ...

    async def check_writable(self) -> None:
        """Raise `StoreError` unless something can be written now and is durable. The value itself is never read."""
        ...

    async def inspect(self) -> Mapping[str, int]:
        """Look through all of it; return how many rows each table has. Raises `StoreError` where it is damaged."""
        ...

    async def close(self) -> None:
        """Finish pending writes and release the storage.

        Every other method raises `StoreError` from then on; closing again does nothing.
        """
        ...
