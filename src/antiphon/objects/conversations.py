"""Conversations: the operations on them and on their items (specification section 1)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.history.bounds import Bounds
from antiphon.history.encoding import store_item
from antiphon.history.history_errors import conversation_locked, duplicate_item
from antiphon.ids import Clock, NewId
from antiphon.objects.items import ItemViews, page_query
from antiphon.objects.large import size_of
from antiphon.objects.pages import LONGEST_ID, JsonObject, not_found, unknown_bound
from antiphon.protocol.requests import Include
from antiphon.protocol.resources import AddItems, CreateConversation, InputItemsQuery
from antiphon.recording.persistence import RequestIdentity
from antiphon.recording.quota import StorageQuota
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import conversations, pages
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import StoredConversation, StoredItem
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store
from antiphon.translation.to_chat_completions.request import normalise_input


class Conversations:
    """The conversations of all tenants. `now` is the time in seconds since the epoch."""

    def __init__(
        self,
        store: Store,
        views: ItemViews,
        offload: Offload,
        bounds: Bounds,
        quota: StorageQuota,
        new_id: NewId,
        now: Clock,
    ) -> None:
        self._store = store
        self._views = views
        self._offload = offload
        self._bounds = bounds
        self._quota = quota
        self._new_id = new_id
        self._now = now

    async def create(
        self, request: CreateConversation, identity: RequestIdentity, size: int = 0
    ) -> JsonObject:
        """Create a conversation with its first items, by a request of `size` bytes.

        The ticket has its id.
        """
        metadata = msgspec.json.encode(request.metadata or {})
        conversation = StoredConversation(
            identity.response_id, int(self._now()), metadata, identity.tenant
        )
        displayed = conversation_object(conversation)
        body = msgspec.json.encode(displayed)
        reply = StoredReply(identity.tenant, identity.key, False, body) if identity.key else None
        items = await self._new_items(identity.tenant, request.items or [], size)
        self._check_room(conversation, items)
        with await self._quota.reserve(identity.tenant, size_of(items)):
            await self._store.write(conversations.create, conversation, items, reply)
        return displayed

    async def retrieve(self, tenant: str, conversation_id: str) -> JsonObject:
        """Return a conversation. Raises `ClientError` (404) if it is unknown."""
        return conversation_object(await self._load(tenant, conversation_id))

    async def update(
        self, tenant: str, conversation_id: str, metadata: Mapping[str, str] | None
    ) -> JsonObject:
        """Replace a conversation's metadata. Raises `ClientError` (404) if it is unknown."""
        body = msgspec.json.encode(metadata or {})
        conversation = await self._store.write(conversations.update, tenant, conversation_id, body)
        return conversation_object(_found(conversation, conversation_id))

    async def delete(self, tenant: str, conversation_id: str) -> JsonObject:
        """Delete a conversation and its items.

        Raises `ClientError`: 404 if it is unknown, 400 while it is locked.
        """
        _check(
            await self._store.write(conversations.delete, tenant, conversation_id), conversation_id
        )
        return {"id": conversation_id, "object": "conversation.deleted", "deleted": True}

    async def add_items(
        self,
        tenant: str,
        conversation_id: str,
        request: AddItems,
        include: Sequence[Include],
        size: int = 0,
    ) -> JsonObject:
        """Append items to a conversation, by a request of `size` bytes, and return them as a list.

        Raises `ClientError`: 404 if the conversation is unknown; 400 while it is locked, if it
        already has one of the items, or if it has no room for them; 429 if the tenant has reached
        its storage limit.
        """
        conversation = await self._load(tenant, conversation_id)
        items = await self._new_items(tenant, request.items, size)
        self._check_room(conversation, items)
        with await self._quota.reserve(tenant, size_of(items)):
            outcome = await self._store.write(conversations.add, tenant, conversation_id, items)
        if outcome is LockResult.DUPLICATE:
            raise duplicate_item(await self._first_known(tenant, conversation_id, items), "items")
        _check(outcome, conversation_id)
        query = InputItemsQuery(limit=len(items), order="asc", include=[*include])
        return await self._views.page(tenant, items, query)

    async def list_items(
        self, tenant: str, conversation_id: str, query: InputItemsQuery
    ) -> JsonObject:
        """Return a page of the items.

        Raises `ClientError`: 404 if unknown, 400 if `after` is not in the list.
        """
        if query.before is not None:
            await self._load(tenant, conversation_id)
            raise ClientError(
                "Unknown parameter: 'before'.", code="unknown_parameter", param="before"
            )
        page = await self._store.read(
            pages.conversation_page, tenant, conversation_id, page_query(query)
        )
        if page is None:
            raise not_found("Conversation", conversation_id)
        if page.unknown:
            raise unknown_bound(page.unknown, getattr(query, page.unknown)[:LONGEST_ID], "item")
        return await self._views.page(tenant, page.data, query, has_more=page.has_more)

    async def retrieve_item(
        self, tenant: str, conversation_id: str, item_id: str, include: Collection[str]
    ) -> JsonObject:
        """Return an item. Raises `ClientError` (404) if it or its conversation is unknown."""
        await self._load(tenant, conversation_id)
        item = await self._store.read(conversations.item, tenant, conversation_id, item_id)
        if item is None:
            raise not_found("Item", item_id)
        return await self._views.item(tenant, item, include)

    async def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> JsonObject:
        """Delete an item; return the conversation.

        Raises `ClientError`: 404 if it is unknown, 400 while locked.
        """
        conversation = await self._load(tenant, conversation_id)
        outcome = await self._store.write(
            conversations.delete_item, tenant, conversation_id, item_id
        )
        if outcome is LockResult.UNKNOWN:
            raise not_found("Item", item_id)
        _check(outcome, conversation_id)
        return conversation_object(conversation)

    async def _load(self, tenant: str, conversation_id: str) -> StoredConversation:
        return _found(
            await self._store.read(conversations.load, tenant, conversation_id), conversation_id
        )

    async def _first_known(
        self, tenant: str, conversation_id: str, items: Sequence[StoredItem]
    ) -> str:
        """Return the id of the first of these items that a conversation already has."""
        for item in items:
            if await self._store.read(conversations.item, tenant, conversation_id, item.id):
                return item.id
        return items[0].id

    def _check_room(self, conversation: StoredConversation, items: Sequence[StoredItem]) -> None:
        self._bounds.check_addition(conversation, len(items), size_of(items))

    async def _new_items(self, tenant: str, items: Any, size: int) -> Sequence[StoredItem]:
        def stored() -> Sequence[StoredItem]:
            return [store_item(item, size=size) for item in normalise_input(items, self._new_id)]

        return await self._offload.run(tenant, size, stored)


def _found(conversation: StoredConversation | None, conversation_id: str) -> StoredConversation:
    if conversation is None:
        raise not_found("Conversation", conversation_id)
    return conversation


def _check(outcome: LockResult, conversation_id: str) -> None:
    if outcome is LockResult.UNKNOWN:
        raise not_found("Conversation", conversation_id)
    if outcome is LockResult.BUSY:
        raise conversation_locked()


def conversation_object(conversation: StoredConversation) -> JsonObject:
    """Return a conversation as its JSON object."""
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_at,
        "metadata": msgspec.json.decode(conversation.metadata),
    }
