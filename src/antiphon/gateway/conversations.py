"""`/v1/conversations`, as the gateway offers it."""

from collections.abc import Awaitable, Collection, Mapping, Sequence

from antiphon.gateway.made import JsonObject, Made
from antiphon.protocol.requests import Include
from antiphon.protocol.resources import AddItems, CreateConversation, InputItemsQuery
from antiphon.recording.persistence import RequestIdentity
from antiphon.stored import conversations
from antiphon.stored.parts import ObjectParts


class Conversations:
    """`/v1/conversations` as methods."""

    def __init__(self, parts: ObjectParts) -> None:
        self._parts = parts

    def create(self, request: CreateConversation, ticket: RequestIdentity) -> Made:
        """Create a conversation under the id of the ticket."""
        return conversations.create(self._parts, request, ticket)

    def retrieve(self, tenant: str, conversation_id: str) -> Made:
        """Return a conversation."""
        return conversations.retrieve(self._parts, tenant, conversation_id)

    def update(self, tenant: str, conversation_id: str, metadata: Mapping[str, str] | None) -> Made:
        """Replace the metadata of a conversation."""
        return conversations.update(self._parts, tenant, conversation_id, metadata)

    def delete(self, tenant: str, conversation_id: str) -> Made:
        """Delete a conversation with its items."""
        return conversations.delete(self._parts, tenant, conversation_id)

    def add_items(
        self, tenant: str, conversation_id: str, request: AddItems, include: list[Include], *, is_large: bool = False
    ) -> Made:
        """Append items."""
        return conversations.add_items(self._parts, tenant, conversation_id, request, include, is_large=is_large)

    def list_items(self, tenant: str, conversation_id: str, query: InputItemsQuery) -> Made:
        """Return a page of the items."""
        return conversations.list_items(self._parts, tenant, conversation_id, query)

    def retrieve_item(self, tenant: str, conversation_id: str, item_id: str, include: Collection[str]) -> Made:
        """Return one item."""
        return conversations.retrieve_item(self._parts, tenant, conversation_id, item_id, include)

    def delete_item(self, tenant: str, conversation_id: str, item_id: str) -> Made:
        """Delete one item; return its conversation."""
        return conversations.delete_item(self._parts, tenant, conversation_id, item_id)

    def list(self, tenant: str | None, limit: int, after: str) -> Awaitable[Sequence[JsonObject]]:
        """Return conversations with their tenants, newest first; without a `tenant`, of all tenants."""
        return conversations.list_all(self._parts, tenant, limit, after)
