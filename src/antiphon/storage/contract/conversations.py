"""The store contract for conversations and `Idempotency-Key`s."""

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
    """Conversations and their items, which never expire. A response locks its conversation until it has ended."""

    async def create_conversation(
        self, conversation: StoredConversation, items: Sequence[StoredItem], reply: Reply | None = None
    ) -> None:
        """Store a new conversation with its first items."""
        ...

    async def load_conversation(self, tenant: str, conversation_id: str) -> StoredConversation | None:
        """Return the conversation, or None."""
        ...

    async def list_conversations(self, tenant: str | None, limit: int, after: str = "") -> list[StoredConversation]:
        """Return up to `limit` conversations of one tenant, or of all tenants, newest first, starting after `after`.

        `after` is the id of a conversation, which may have been deleted.
        """
        ...

    async def update_conversation(
        self, tenant: str, conversation_id: str, metadata: bytes
    ) -> StoredConversation | None:
        """Replace the metadata; return the conversation, or None."""
        ...

    async def delete_conversation(self, tenant: str, conversation_id: str) -> LockResult:
        """Delete the conversation and its items."""
        ...

    async def add_items(self, tenant: str, conversation_id: str, items: Sequence[StoredItem]) -> LockResult:
        """Append items to the conversation."""
        ...

    async def items(self, tenant: str, conversation_id: str) -> list[StoredItem] | None:
        """Return all items in order, or None if the conversation is unknown."""
        ...

    async def conversation_page(self, tenant: str, conversation_id: str, query: PageQuery) -> ItemPage | None:
        """Return one page of the items, or None if the conversation is unknown. Reads little more than it returns."""
        ...

    async def conversation_item(self, tenant: str, conversation_id: str, item_id: str) -> StoredItem | None:
        """Return one item, or None."""
        ...

    async def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> LockResult:
        """Delete one item."""
        ...

    async def lock(self, tenant: str, conversation_id: str, response_id: str, worker: str) -> LockResult:
        """Lock the conversation for a response that the worker runs."""
        ...

    async def unlock(self, conversation_id: str, response_id: str) -> None:
        """Unlock a conversation if this response holds its lock."""
        ...


class Keys(Protocol):
    """`Idempotency-Key`s. Each is valid for one day."""

    async def reserve(self, tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str) -> KeyReservation:
        """Reserve a key for a response that the worker will run, unless it is reserved; return the reservation."""
        ...

    async def find_key(self, tenant: str, key: str) -> KeyReservation | None:
        """Return the reservation of this key, or None."""
        ...

    async def free_key(self, tenant: str, key: str, response_id: str) -> None:
        """Release the reservation if it belongs to this response and has no reply."""
        ...
