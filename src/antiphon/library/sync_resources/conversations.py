"""The conversations of `Antiphon`, and the items in them.

Written by `scripts/sync_client.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.pages import Pages
from antiphon.library.parameters import CallOptions, PageParameters
from antiphon.library.resources.conversations import AsyncConversationItems, AsyncConversations
from antiphon.library.signatures import spelled_out
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import Include
from antiphon.protocol.response import OutputItem
from antiphon.protocol.results import Conversation, DeletedConversation, ItemPage


class Conversations:
    """Conversations, which store their items on the server."""

    def __init__(self, resource: AsyncConversations, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner
        self.items = ConversationItems(resource.items, owner)

    @spelled_out
    def create(
        self,
        *,
        items: Sequence[Mapping[str, Any] | Item] | None = None,
        metadata: Mapping[str, str] | None = None,
        **options: Unpack[CallOptions],
    ) -> Conversation:
        """Create a conversation with its first items."""
        return self._owner.run(self._resource.create(items=items, metadata=metadata, **options))

    @spelled_out
    def retrieve(self, conversation_id: str, **options: Unpack[CallOptions]) -> Conversation:
        """Return a conversation."""
        return self._owner.run(self._resource.retrieve(conversation_id, **options))

    @spelled_out
    def update(
        self,
        conversation_id: str,
        *,
        metadata: Mapping[str, str] | None,
        **options: Unpack[CallOptions],
    ) -> Conversation:
        """Replace the metadata of a conversation."""
        return self._owner.run(self._resource.update(conversation_id, metadata=metadata, **options))

    @spelled_out
    def delete(self, conversation_id: str, **options: Unpack[CallOptions]) -> DeletedConversation:
        """Delete a conversation with its items."""
        return self._owner.run(self._resource.delete(conversation_id, **options))


class ConversationItems:
    """The items of conversations."""

    def __init__(self, resource: AsyncConversationItems, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def create(
        self,
        conversation_id: str,
        *,
        items: Sequence[Mapping[str, Any] | Item],
        include: Sequence[Include] | None = None,
        **options: Unpack[CallOptions],
    ) -> ItemPage:
        """Append items; return them."""
        return self._owner.run(
            self._resource.create(conversation_id, items=items, include=include, **options)
        )

    @spelled_out
    def list(self, conversation_id: str, **parameters: Unpack[PageParameters]) -> Pages[OutputItem]:
        """Return the items, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(conversation_id, **parameters), self._owner)

    @spelled_out
    def retrieve(
        self,
        item_id: str,
        *,
        conversation_id: str,
        include: Sequence[Include] | None = None,
        **options: Unpack[CallOptions],
    ) -> OutputItem:
        """Return an item."""
        return self._owner.run(
            self._resource.retrieve(
                item_id, conversation_id=conversation_id, include=include, **options
            )
        )

    @spelled_out
    def delete(
        self, item_id: str, *, conversation_id: str, **options: Unpack[CallOptions]
    ) -> Conversation:
        """Delete an item; return its conversation."""
        return self._owner.run(
            self._resource.delete(item_id, conversation_id=conversation_id, **options)
        )
