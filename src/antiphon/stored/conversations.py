"""Conversations: the eight operations on them and on their items (specification section 1)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.history.context import conversation_locked, duplicate_item, store_item
from antiphon.protocol.requests import Include
from antiphon.protocol.resources import AddItems, CreateConversation, InputItemsQuery
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import conversations, pages
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import StoredConversation, StoredItem
from antiphon.storage.records.tenants import Reply
from antiphon.stored.large import size_of
from antiphon.stored.parts import ObjectParts
from antiphon.stored.responses import invalid_bound, page_query, show_item, show_page
from antiphon.translation.to_chat_completions.request import normalise_input


async def create(parts: ObjectParts, request: CreateConversation, ticket: RequestIdentity) -> dict[str, Any]:
    """Create a conversation with its first items. The ticket has its id, and whether the items are large."""
    metadata = msgspec.json.encode(request.metadata or {})
    conversation = StoredConversation(ticket.response_id, int(parts.now()), metadata, ticket.tenant)
    shown = _shown(conversation)
    body = msgspec.json.encode(shown)
    reply = Reply(ticket.tenant, ticket.key, False, body) if ticket.key else None
    items = await _new_items(parts, ticket.tenant, request.items or [], is_large=ticket.is_large)
    _check_room(parts, conversation, items)
    with await parts.quota.reserve(ticket.tenant, size_of(items)):
        await parts.store.write(conversations.create, conversation, items, reply)
    return shown


async def list_all(parts: ObjectParts, tenant: str | None, limit: int, after: str) -> Sequence[dict[str, Any]]:
    """Return conversations with tenants and item counts, newest first. Without a `tenant`, include all tenants."""
    found = await parts.store.read(conversations.page, tenant, limit, after)
    return [_shown(one) | {"tenant": one.tenant or None, "items": one.items} for one in found]


async def retrieve(parts: ObjectParts, tenant: str, conversation_id: str) -> dict[str, Any]:
    """Return a conversation. Raises `ClientError` (404) if it is unknown."""
    return _shown(_found(await parts.store.read(conversations.load, tenant, conversation_id), conversation_id))


async def update(
    parts: ObjectParts, tenant: str, conversation_id: str, metadata: Mapping[str, str] | None
) -> dict[str, Any]:
    """Replace a conversation's metadata. Raises `ClientError` (404) if it is unknown."""
    body = msgspec.json.encode(metadata or {})
    return _shown(_found(await parts.store.write(conversations.update, tenant, conversation_id, body), conversation_id))


async def delete(parts: ObjectParts, tenant: str, conversation_id: str) -> dict[str, Any]:
    """Delete a conversation and its items. Raises `ClientError`: 404 if it is unknown, 400 while it is locked."""
    _check(await parts.store.write(conversations.delete, tenant, conversation_id), conversation_id)
    return {"id": conversation_id, "object": "conversation.deleted", "deleted": True}


async def add_items(
    parts: ObjectParts,
    tenant: str,
    conversation_id: str,
    request: AddItems,
    include: list[Include],
    *,
    is_large: bool = False,
) -> dict[str, Any]:
    """Append items to a conversation and return them as a list. Large items are encoded in a thread.

    Raises `ClientError`: 404 if the conversation is unknown; 400 while it is locked, if it already has one of the
    items, or if it has no room for them; 429 if the tenant has reached its storage limit.
    """
    conversation = _found(await parts.store.read(conversations.load, tenant, conversation_id), conversation_id)
    items = await _new_items(parts, tenant, request.items, is_large=is_large)
    _check_room(parts, conversation, items)
    with await parts.quota.reserve(tenant, size_of(items)):
        outcome = await parts.store.write(conversations.add, tenant, conversation_id, items)
    if outcome is LockResult.DUPLICATE:
        known = [
            item.id for item in items if await parts.store.read(conversations.item, tenant, conversation_id, item.id)
        ]
        raise duplicate_item(known[0] if known else items[0].id, "items")
    _check(outcome, conversation_id)
    query = InputItemsQuery(limit=len(items), order="asc", include=include)
    return await show_page(tenant, items, query, parts)


async def list_items(parts: ObjectParts, tenant: str, conversation_id: str, query: InputItemsQuery) -> dict[str, Any]:
    """Return a page of the items. Raises `ClientError`: 404 if unknown, 400 if `after` is not in the list."""
    if query.before is not None:
        await retrieve(parts, tenant, conversation_id)
        raise ClientError("Unknown parameter: 'before'.", code="unknown_parameter", param="before")
    page = await parts.store.read(pages.conversation_page, tenant, conversation_id, page_query(query))
    if page is None:
        raise not_found(conversation_id)
    if page.unknown:
        raise invalid_bound(page.unknown, query, "item")
    return await show_page(tenant, page.items, query, parts, has_more=page.has_more)


async def retrieve_item(
    parts: ObjectParts, tenant: str, conversation_id: str, item_id: str, include: Collection[str]
) -> dict[str, Any]:
    """Return an item. Raises `ClientError` (404) if it or its conversation is unknown."""
    await retrieve(parts, tenant, conversation_id)
    item = await parts.store.read(conversations.item, tenant, conversation_id, item_id)
    if item is None:
        raise _item_not_found(item_id)
    return await show_item(item, tenant, include, parts)


async def delete_item(parts: ObjectParts, tenant: str, conversation_id: str, item_id: str) -> dict[str, Any]:
    """Delete an item; return the conversation. Raises `ClientError`: 404 if it is unknown, 400 while locked."""
    conversation = await retrieve(parts, tenant, conversation_id)
    outcome = await parts.store.write(conversations.delete_item, tenant, conversation_id, item_id)
    if outcome is LockResult.UNKNOWN:
        raise _item_not_found(item_id)
    _check(outcome, conversation_id)
    return conversation


def not_found(conversation_id: str) -> ClientError:
    """Return the error for an unknown conversation (specification section 13)."""
    return ClientError(f"Conversation with id '{conversation_id[:100]}' not found.", status=404)


def _item_not_found(item_id: str) -> ClientError:
    return ClientError(f"Item with id '{item_id[:100]}' not found.", status=404)


def _found(conversation: StoredConversation | None, conversation_id: str) -> StoredConversation:
    if conversation is None:
        raise not_found(conversation_id)
    return conversation


def _check(outcome: LockResult, conversation_id: str) -> None:
    if outcome is LockResult.UNKNOWN:
        raise not_found(conversation_id)
    if outcome is LockResult.BUSY:
        raise conversation_locked()


def _check_room(parts: ObjectParts, conversation: StoredConversation, items: Sequence[StoredItem]) -> None:
    parts.bounds.check_addition(conversation, len(items), size_of(items))


async def _new_items(parts: ObjectParts, tenant: str, items: Any, *, is_large: bool) -> list[StoredItem]:
    def stored() -> list[StoredItem]:
        return [store_item(item, is_large=is_large) for item in normalise_input(items, parts.new_id)]

    return await parts.offload.run(tenant, stored) if is_large else stored()


def _shown(conversation: StoredConversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_at,
        "metadata": msgspec.json.decode(conversation.metadata),
    }
