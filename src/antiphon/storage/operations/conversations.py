"""Conversations and their items."""

from collections.abc import Sequence

from antiphon.storage.operations import item_blobs
from antiphon.storage.operations.responses import answer, append_items, item_of
from antiphon.storage.operations.step import (
    Changed,
    Operation,
    Row,
    announce_read,
    first,
    query_in_slices,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import StoredConversation, StoredItem
from antiphon.storage.records.tenants import StoredReply


@writes("create_conversation")
def create(
    conversation: StoredConversation, items: Sequence[StoredItem], reply: StoredReply | None = None
) -> Operation[None]:
    """Store a new conversation with its first items."""
    yield Changed([""])
    values = (conversation.id, conversation.tenant, conversation.created_at, conversation.metadata)
    yield from query_rows("put_conversation", *values)
    yield from append_items(conversation.id, 0, items, conversation.tenant)
    yield from answer(reply, conversation.id)


@reads("load_conversation")
def load(tenant: str, conversation_id: str) -> Operation[StoredConversation | None]:
    """Return the conversation, or None."""
    row = yield from first("load_conversation", conversation_id, tenant)
    return StoredConversation(*row) if row else None


LAST = "conv_z"
"""Sorts after every conversation id."""


@reads("list_conversations")
def page(tenant: str | None, limit: int, after: str = "") -> Operation[list[StoredConversation]]:
    """Return up to `limit` conversations of one tenant, or of all tenants, newest first, starting
    after `after`.

    `after` is the id of a conversation, which may have been deleted.
    """
    query, own = ("conversations_of_all", ()) if tenant is None else ("conversations", (tenant,))
    return [
        StoredConversation(*row)
        for row in (yield from query_rows(query, after or LAST, limit, *own))
    ]


@writes("update_conversation")
def update(
    tenant: str, conversation_id: str, metadata: bytes
) -> Operation[StoredConversation | None]:
    """Replace the metadata; return the conversation, or None."""
    row = yield from first("update_conversation", conversation_id, tenant, metadata)
    return StoredConversation(*row) if row else None


@writes("delete_conversation", frees=True)
def delete(tenant: str, conversation_id: str) -> Operation[LockResult]:
    """Delete the conversation and its items."""
    row = yield from first("lock_conversation", conversation_id, tenant)
    if (outcome := _usable(row)) is LockResult.DONE:
        yield from query_rows("delete_conversation", conversation_id)
    return outcome


@writes("add_items")
def add(tenant: str, conversation_id: str, items: Sequence[StoredItem]) -> Operation[LockResult]:
    """Append items to the conversation."""
    row = yield from first("lock_conversation", conversation_id, tenant)
    if row is None or (outcome := _usable(row)) is not LockResult.DONE:
        return _usable(row)
    for item in items:
        if (yield from query_rows("position_of", conversation_id, item.id)):
            return LockResult.DUPLICATE
    yield from _take(conversation_id, row)
    yield from append_items(conversation_id, row[0], items, tenant)
    return outcome


@reads("items")
def items(tenant: str, conversation_id: str) -> Operation[list[StoredItem] | None]:
    """Return all items in order, or None if the conversation is unknown."""
    row = yield from first("load_conversation", conversation_id, tenant)
    if row is None:
        return None
    yield from announce_read(row[5], row[6])
    found: list[StoredItem] = []
    yield from query_in_slices(
        "conversation_items", (conversation_id,), lambda part: found.extend(map(item_of, part))
    )
    return found


@reads("conversation_item")
def item(tenant: str, conversation_id: str, item_id: str) -> Operation[StoredItem | None]:
    """Return one item, or None."""
    row = yield from first("conversation_item", conversation_id, tenant, item_id)
    return item_of(row) if row else None


@writes("delete_item", frees=True)
def delete_item(tenant: str, conversation_id: str, item_id: str) -> Operation[LockResult]:
    """Delete one item."""
    row = yield from first("lock_conversation", conversation_id, tenant)
    if row is None or _usable(row) is not LockResult.DONE:
        return _usable(row)
    yield from _take(conversation_id, row)
    deleted = yield from first("delete_item", conversation_id, item_id)
    if deleted is None:
        return LockResult.UNKNOWN
    yield from query_rows("count_deleted", conversation_id, deleted[0])
    yield from item_blobs.drop(conversation_id, item_id)
    return LockResult.DONE


@writes("unlock", is_of_all=True, frees=True)
def let_go(conversation_id: str, response_id: str) -> Operation[None]:
    """Unlock a conversation if this response holds its lock."""
    yield from query_rows("let_go", conversation_id, response_id)


def _usable(row: Row | None) -> LockResult:
    if row is None:
        return LockResult.UNKNOWN
    _, holder, is_expired = row
    return LockResult.DONE if holder is None or is_expired else LockResult.BUSY


def _take(conversation_id: str, row: Row) -> Operation[None]:
    """Unlock a conversation after the worker of its response expired, because its items are about
    to change.
    """
    if row[1] is not None:
        yield from query_rows("let_go", conversation_id, row[1])
