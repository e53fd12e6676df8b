"""Conversation and `Idempotency-Key` methods of the SQL stores."""

from collections.abc import Sequence

from antiphon.storage.operations import conversations, idempotency, jobs, pages
from antiphon.storage.records import (
    ItemPage,
    KeyReservation,
    LockResult,
    PageQuery,
    Reply,
    StoredConversation,
    StoredItem,
)
from antiphon.storage.sql_store.performer import Performer


class SqlConversations(Performer):
    """See `Conversations` and `Keys`."""

    async def create_conversation(
        self, conversation: StoredConversation, items: Sequence[StoredItem], reply: Reply | None = None
    ) -> None:
        """See `Store.create_conversation`."""
        await self._write(lambda: conversations.create(conversation, items, reply), conversation.tenant)
        self._tell("")

    async def load_conversation(self, tenant: str, conversation_id: str) -> StoredConversation | None:
        """See `Store.load_conversation`."""
        return await self._read(lambda: conversations.load(tenant, conversation_id), tenant)

    async def list_conversations(self, tenant: str | None, limit: int, after: str = "") -> list[StoredConversation]:
        """See `Store.list_conversations`."""
        return await self._read(lambda: conversations.page(tenant, limit, after), tenant)

    async def update_conversation(
        self, tenant: str, conversation_id: str, metadata: bytes
    ) -> StoredConversation | None:
        """See `Store.update_conversation`."""
        return await self._write(lambda: conversations.update(tenant, conversation_id, metadata), tenant)

    async def delete_conversation(self, tenant: str, conversation_id: str) -> LockResult:
        """See `Store.delete_conversation`."""
        return await self._free(lambda: conversations.delete(tenant, conversation_id), tenant)

    async def add_items(self, tenant: str, conversation_id: str, items: Sequence[StoredItem]) -> LockResult:
        """See `Store.add_items`."""
        return await self._write(lambda: conversations.add(tenant, conversation_id, items), tenant)

    async def items(self, tenant: str, conversation_id: str) -> list[StoredItem] | None:
        """See `Store.items`."""
        return await self._read(lambda: conversations.items(tenant, conversation_id), tenant)

    async def conversation_page(self, tenant: str, conversation_id: str, query: PageQuery) -> ItemPage | None:
        """See `Store.conversation_page`."""
        return await self._read(lambda: pages.conversation_page(tenant, conversation_id, query), tenant)

    async def conversation_item(self, tenant: str, conversation_id: str, item_id: str) -> StoredItem | None:
        """See `Store.conversation_item`."""
        return await self._read(lambda: conversations.item(tenant, conversation_id, item_id), tenant)

    async def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> LockResult:
        """See `Store.delete_item`."""
        return await self._free(lambda: conversations.delete_item(tenant, conversation_id, item_id), tenant)

    async def lock(self, tenant: str, conversation_id: str, response_id: str, worker: str) -> LockResult:
        """See `Store.lock`."""
        return await self._write(lambda: jobs.hold(tenant, conversation_id, response_id, worker), tenant)

    async def unlock(self, conversation_id: str, response_id: str) -> None:
        """See `Store.unlock`."""
        await self._free(lambda: conversations.let_go(conversation_id, response_id))

    async def reserve(self, tenant: str, key: str, fingerprint: bytes, response_id: str, worker: str) -> KeyReservation:
        """See `Store.reserve`."""
        return await self._write(
            lambda: idempotency.reserve(tenant, key, fingerprint, response_id, worker, self._now()), tenant
        )

    async def find_key(self, tenant: str, key: str) -> KeyReservation | None:
        """See `Store.find_key`."""
        return await self._read(lambda: idempotency.find(tenant, key, self._now()), tenant)

    async def free_key(self, tenant: str, key: str, response_id: str) -> None:
        """See `Store.free_key`."""
        await self._free(lambda: idempotency.free(tenant, key, response_id), tenant)
        self._tell(response_id)
