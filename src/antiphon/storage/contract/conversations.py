"""The part of the contract that keeps conversations, and `Idempotency-Key`s."""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records import (
    ItemPage,
    KeyReservation,
    LockResult,
    PageQuery,
    Reply,
    StoredConversation,
    StoredItem,
)


class Conversations(Protocol):
    """Conversations and their items, which do not expire. A response that writes to one holds it meanwhile."""

    async def create_conversation(
        self, conversation: StoredConversation, items: Sequence[StoredItem], reply: Reply | None = None
    ) -> None:
        """Keep a new conversation with its first items."""
        ...

    async def load_conversation(self, tenant: str, conversation_id: str) -> StoredConversation | None:
        """Return the conversation, or None."""
        ...

    async def list_conversations(self, tenant: str | None, limit: int, after: str = "") -> list[StoredConversation]:
        """Return at most `limit` conversations of a tenant, or of all tenants, newest first, those behind `after`.

        `after` is the id of a conversation; the conversation may have been deleted.
        """
        ...

    async def update_conversation(
        self, tenant: str, conversation_id: str, metadata: bytes
    ) -> StoredConversation | None:
        """Replace the metadata; return the conversation, or None."""
        ...

    async def delete_conversation(self, tenant: str, conversation_id: str) -> LockResult:
        """Forget the conversation and its items."""
        ...

    async def add_items(self, tenant: str, conversation_id: str, items: Sequence[StoredItem]) -> LockResult:
        """Put items at the end."""
        ...

    async def items(self, tenant: str, conversation_id: str) -> list[StoredItem] | None:
        """Return all items in order; None where the conversation is unknown."""
        ...

    async def conversation_page(self, tenant: str, conversation_id: str, query: PageQuery) -> ItemPage | None:
        """Return a part of the items; None where the conversation is unknown. Reads about as much as it returns."""
        ...

    async def conversation_item(self, tenant: str, conversation_id: str, item_id: str) -> StoredItem | None:
        """Return one item, or None."""
        ...

    async def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> LockResult:
        """Take one item out."""
        ...

    async def lock(self, tenant: str, conversation_id: str, response_id: str, worker: str) -> LockResult:
        """Hold the conversation for a response that the worker makes."""
        ...

    async def unlock(self, conversation_id: str, response_id: str) -> None:
        """Release a conversation, if the response holds it."""
        ...


class Keys(Protocol):
    """`Idempotency-Key`s, for a day each."""

    async def reserve(self, tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str) -> KeyReservation:
        """Reserve a key for a response that the worker is to make, unless it is; return what stands."""
        ...

    async def find_key(self, tenant: str, key: str) -> KeyReservation | None:
        """Return the reservation that stands, or None."""
        ...

    async def free_key(self, tenant: str, key: str, response_id: str) -> None:
        """Drop the reservation, if it is that response's and has no reply."""
        ...
