"""The conversations of `AsyncAntiphon`, and the items in them."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from antiphon.gateway import RequestIdentity
from antiphon.library.calls import TENANT, Calls, page_query, shown
from antiphon.library.pages import AsyncItemPages
from antiphon.library.parameters import PageParameters
from antiphon.library.reading import read_item, read_object
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import Include
from antiphon.protocol.response import OutputItem
from antiphon.protocol.results import Conversation, DeletedConversation, ItemPage
from antiphon.protocol.validation.validate import (
    decode_add_items,
    decode_create_conversation,
    decode_update_conversation,
)


class AsyncConversations:
    """Conversations, which store their items on the server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.items = AsyncConversationItems(calls)

    async def create(
        self, *, items: Sequence[Mapping[str, Any] | Item] | None = None, metadata: Mapping[str, str] | None = None
    ) -> Conversation:
        """Create a conversation with its first items."""
        body = {"items": items, "metadata": metadata}
        request, is_large = await self._calls.decoded(body, decode_create_conversation)
        gateway = await self._calls.gateway()
        ticket = RequestIdentity(TENANT, gateway.new_id("conv"), is_large=is_large)
        return read_object(await gateway.conversations.create(request, ticket), Conversation)

    async def retrieve(self, conversation_id: str) -> Conversation:
        """Return a conversation."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.conversations.retrieve(TENANT, conversation_id), Conversation)

    async def update(self, conversation_id: str, *, metadata: Mapping[str, str] | None) -> Conversation:
        """Replace the metadata of a conversation."""
        request, _ = await self._calls.decoded({"metadata": metadata}, decode_update_conversation)
        gateway = await self._calls.gateway()
        updated = await gateway.conversations.update(TENANT, conversation_id, request.metadata)
        return read_object(updated, Conversation)

    async def delete(self, conversation_id: str) -> DeletedConversation:
        """Delete a conversation with its items."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.conversations.delete(TENANT, conversation_id), DeletedConversation)


class AsyncConversationItems:
    """The items of conversations."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create(
        self,
        conversation_id: str,
        *,
        items: Sequence[Mapping[str, Any] | Item],
        include: Sequence[Include] | None = None,
    ) -> ItemPage:
        """Append items; return them."""
        included = list(shown(include))
        request, is_large = await self._calls.decoded({"items": items}, decode_add_items)
        gateway = await self._calls.gateway()
        added = gateway.conversations.add_items(TENANT, conversation_id, request, included, is_large=is_large)
        return await self._calls.read(ItemPage, await added)

    def list(self, conversation_id: str, **parameters: Unpack[PageParameters]) -> AsyncItemPages:
        """Return the items, newest first unless `order` is `asc`."""

        async def fetch(after: str | None) -> ItemPage:
            query = page_query({**parameters, **following(after)})
            gateway = await self._calls.gateway()
            return await self._calls.read(
                ItemPage, await gateway.conversations.list_items(TENANT, conversation_id, query)
            )

        return AsyncItemPages(fetch)

    async def retrieve(
        self, item_id: str, *, conversation_id: str, include: Sequence[Include] | None = None
    ) -> OutputItem:
        """Return an item."""
        gateway = await self._calls.gateway()
        return read_item(await gateway.conversations.retrieve_item(TENANT, conversation_id, item_id, shown(include)))

    async def delete(self, item_id: str, *, conversation_id: str) -> Conversation:
        """Delete an item; return its conversation."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.conversations.delete_item(TENANT, conversation_id, item_id), Conversation)


def following(after: str | None) -> dict[str, str]:
    """Return the parameter for the page after an item, which replaces the one of the request."""
    return {} if after is None else {"after": after}
