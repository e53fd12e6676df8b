"""Conversations as the console shows them: with first words, model and cost, and with the response
of each item.
"""

from collections.abc import Sequence
from typing import Any

from antiphon.console.reader import INCLUDED
from antiphon.console.redaction import redacted
from antiphon.console.summaries import in_units
from antiphon.objects.conversations import conversation_object
from antiphon.objects.items import ItemViews, item_object
from antiphon.objects.large import built_object, size_of
from antiphon.objects.pages import LONGEST_ID, JsonObject, not_found, page_of, unknown_bound
from antiphon.protocol.console import ConversationItemsQuery
from antiphon.protocol.json_slices import decoded
from antiphon.storage.operations import conversation_outlines, conversations, pages
from antiphon.storage.records.facts import WORDS
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import (
    ConversationOutline,
    PageQuery,
    StoredConversation,
    StoredItem,
)
from antiphon.storage.store import Store


class ConversationViews:
    """Reads the conversations of one tenant, or of all if the tenant is None."""

    def __init__(self, store: Store, views: ItemViews) -> None:
        self._store = store
        self._views = views

    async def list(self, tenant: str | None, limit: int, after: str) -> Sequence[JsonObject]:
        """Return conversations, newest first."""
        found = await self._store.read(conversations.page, tenant, limit, after)
        outlines = await self._store.read(
            conversation_outlines.outlines, tenant, [one.id for one in found]
        )
        return [_row(one, outlines[one.id]) for one in found]

    async def items(
        self, tenant: str | None, conversation_id: str, query: ConversationItemsQuery
    ) -> JsonObject:
        """Return a page of items, with the ids of their responses by item in `responses`.

        Raises `ClientError`: 404 if the conversation is unknown, 400 if `after` is not in it.
        """
        owner = await self._store.read(conversation_outlines.owner, tenant, conversation_id)
        if owner is None:
            raise not_found("Conversation", conversation_id)
        wanted = PageQuery(query.limit, query.after, None, query.order == "desc")
        page = await self._store.read(pages.conversation_page, owner, conversation_id, wanted)
        if page is None:  # it was deleted in the meantime
            raise not_found("Conversation", conversation_id)
        if page.unknown:
            raise unknown_bound(page.unknown, (query.after or "")[:LONGEST_ID], "item")
        responses = await self._store.read(
            conversation_outlines.responses_of_items,
            owner,
            conversation_id,
            [item.id for item in page.data],
        )
        displayed = await built_object(
            self._views.capacity, owner, size_of(page.data), _items, page, owner, responses
        )
        return await self._views.with_images(owner, page.data, displayed)


def _items(page: Page[StoredItem], tenant: str, responses: dict[str, str]) -> JsonObject:
    data = [redacted(item_object(item, INCLUDED)) for item in page.data]
    ids = [item.id for item in page.data]
    return page_of(data, has_more=page.has_more, ids=ids) | {
        "tenant": tenant,
        "responses": responses,
    }


def _row(conversation: StoredConversation, outline: ConversationOutline) -> JsonObject:
    return conversation_object(conversation) | {
        "tenant": conversation.tenant or None,
        "items": conversation.items,
        "input": _first_words(outline.items) or outline.words or None,
        "model": outline.model or None,
        "cost": in_units(outline.cost),
        "responses": outline.responses,
        "is_partial": conversation.next_position > conversation_outlines.NEWEST,
    }


def _first_words(bodies: Sequence[bytes]) -> str:
    """Return the beginning of the first text of a user."""
    for body in bodies:
        item: dict[str, Any] = decoded(body)
        if item.get("role") != "user":
            continue
        content = item.get("content")
        texts = (
            [content] if isinstance(content, str) else [part.get("text") for part in content or ()]
        )
        if text := next((text for text in texts if text), ""):
            return str(text)[:WORDS]
    return ""
