"""The conversations of `AsyncAntiphon`, and the items in them."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from antiphon.gateway import Gateway, JsonObject, RequestIdentity
from antiphon.library.call import ApiCall, path
from antiphon.library.calls import TENANT, Calls, displayed, page_query
from antiphon.library.options import Options
from antiphon.library.pages import AsyncPages
from antiphon.library.parameters import (
    CallOptions,
    PageParameters,
    as_query,
    following,
    without_options,
)
from antiphon.library.reading import read_item
from antiphon.library.signatures import spelled_out
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

    @spelled_out
    async def create(
        self,
        *,
        items: Sequence[Mapping[str, Any] | Item] | None = None,
        metadata: Mapping[str, str] | None = None,
        **options: Unpack[CallOptions],
    ) -> Conversation:
        """Create a conversation with its first items."""
        body = {"items": items, "metadata": metadata}

        async def direct(gateway: Gateway) -> JsonObject:
            request, size = await self._calls.decoded(body, decode_create_conversation)
            identity = RequestIdentity(TENANT, gateway.new_id("conv"))
            return await gateway.conversations.create(request, identity, size)

        call = ApiCall("POST", "/conversations", body=body)
        return await self._calls.call(Conversation, call, Options.of(options), direct)

    @spelled_out
    async def retrieve(self, conversation_id: str, **options: Unpack[CallOptions]) -> Conversation:
        """Return a conversation."""

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.conversations.retrieve(TENANT, conversation_id)

        call = ApiCall("GET", path("/conversations/{}", conversation_id))
        return await self._calls.call(Conversation, call, Options.of(options), direct)

    @spelled_out
    async def update(
        self,
        conversation_id: str,
        *,
        metadata: Mapping[str, str] | None,
        **options: Unpack[CallOptions],
    ) -> Conversation:
        """Replace the metadata of a conversation."""
        body = {"metadata": metadata}

        async def direct(gateway: Gateway) -> JsonObject:
            request, _ = await self._calls.decoded(body, decode_update_conversation)
            return await gateway.conversations.update(TENANT, conversation_id, request.metadata)

        call = ApiCall("POST", path("/conversations/{}", conversation_id), body=body)
        return await self._calls.call(Conversation, call, Options.of(options), direct)

    @spelled_out
    async def delete(
        self, conversation_id: str, **options: Unpack[CallOptions]
    ) -> DeletedConversation:
        """Delete a conversation with its items."""

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.conversations.delete(TENANT, conversation_id)

        call = ApiCall("DELETE", path("/conversations/{}", conversation_id))
        return await self._calls.call(DeletedConversation, call, Options.of(options), direct)


class AsyncConversationItems:
    """The items of conversations."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def create(
        self,
        conversation_id: str,
        *,
        items: Sequence[Mapping[str, Any] | Item],
        include: Sequence[Include] | None = None,
        **options: Unpack[CallOptions],
    ) -> ItemPage:
        """Append items; return them."""

        async def direct(gateway: Gateway) -> JsonObject:
            included = list(displayed(include))
            request, size = await self._calls.decoded({"items": items}, decode_add_items)
            add = gateway.conversations.add_items
            return await add(TENANT, conversation_id, request, included, size)

        query = as_query({"include": include})
        call = ApiCall(
            "POST", path("/conversations/{}/items", conversation_id), query, {"items": items}
        )
        return await self._calls.call(ItemPage, call, Options.of(options), direct)

    @spelled_out
    def list(
        self, conversation_id: str, **parameters: Unpack[PageParameters]
    ) -> AsyncPages[OutputItem]:
        """Return the items, newest first unless `order` is `asc`."""

        async def fetch(after: str | None) -> ItemPage:
            page = {**without_options(parameters), **following(after)}

            async def direct(gateway: Gateway) -> JsonObject:
                return await gateway.conversations.list_items(
                    TENANT, conversation_id, page_query(page)
                )

            call = ApiCall("GET", path("/conversations/{}/items", conversation_id), as_query(page))
            return await self._calls.call(ItemPage, call, Options.of(parameters), direct)

        return AsyncPages(fetch)

    @spelled_out
    async def retrieve(
        self,
        item_id: str,
        *,
        conversation_id: str,
        include: Sequence[Include] | None = None,
        **options: Unpack[CallOptions],
    ) -> OutputItem:
        """Return an item."""

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.conversations.retrieve_item(
                TENANT, conversation_id, item_id, displayed(include)
            )

        call = ApiCall(
            "GET",
            path("/conversations/{}/items/{}", conversation_id, item_id),
            as_query({"include": include}),
        )
        return read_item(await self._calls.plain(call, Options.of(options), direct))

    @spelled_out
    async def delete(
        self, item_id: str, *, conversation_id: str, **options: Unpack[CallOptions]
    ) -> Conversation:
        """Delete an item; return its conversation."""

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.conversations.delete_item(TENANT, conversation_id, item_id)

        call = ApiCall("DELETE", path("/conversations/{}/items/{}", conversation_id, item_id))
        return await self._calls.call(Conversation, call, Options.of(options), direct)
