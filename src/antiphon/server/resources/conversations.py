"""`/v1/conversations` and their items (specification section 1)."""

from collections.abc import Sequence
from typing import get_args

from antiphon.gateway import Gateway, RequestIdentity
from antiphon.protocol.requests import Include
from antiphon.protocol.resources import (
    AddItems,
    CreateConversation,
    InputItemsQuery,
    UpdateConversation,
)
from antiphon.protocol.validation.queries import decode_include, decode_input_items_query
from antiphon.protocol.validation.validate import (
    decode_add_items,
    decode_create_conversation,
    decode_update_conversation,
)
from antiphon.server.admission import IDEMPOTENCY_HEADER, acquire, decoded, reserve
from antiphon.server.described import Described, query_parameter
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Conversations(gateway)
    one = "/v1/conversations/{conversation_id}"
    return {
        "/v1/conversations": {"POST": api.create},
        one: {"GET": api.retrieve, "POST": api.update, "DELETE": api.delete},
        f"{one}/items": {"GET": api.list_items, "POST": api.add_items},
        f"{one}/items/{{item_id}}": {"GET": api.retrieve_item, "DELETE": api.delete_item},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/v1/conversations"
    one = f"{path}/{{conversation_id}}"
    items = f"{one}/items"
    item = f"{items}/{{item_id}}"
    include = query_parameter(
        "include[]", {"type": "array", "items": {"enum": list(get_args(Include))}}
    )
    return (
        Described("post", path, "Create a conversation", CreateConversation, takes_key=True),
        Described("get", one, "Get a conversation"),
        Described("post", one, "Update a conversation", UpdateConversation),
        Described("delete", one, "Delete a conversation"),
        Described("get", items, "List items", query=InputItemsQuery),
        Described("post", items, "Add items", AddItems, parameters=(include,)),
        Described("get", item, "Get an item", parameters=(include,)),
        Described("delete", item, "Delete an item"),
    )


class _Conversations:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._conversations = gateway.conversations

    async def create(self, http: HttpRequest) -> Reply:
        body = await http.body()
        request = await decoded(self._gateway, http, body, decode_create_conversation)
        conversation_id = self._gateway.new_id("conv")
        identity: RequestIdentity | Reply
        if IDEMPOTENCY_HEADER in http.headers:
            identity = await reserve(self._gateway, http, body, conversation_id)
        else:
            identity = RequestIdentity(http.tenant, conversation_id)
        if isinstance(identity, Reply):
            return identity
        return Reply(await self._conversations.create(request, identity, len(body)))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return Reply(await self._conversations.retrieve(http.tenant, _id(http)))

    async def update(self, http: HttpRequest) -> Reply:
        request = await decoded(self._gateway, http, await http.body(), decode_update_conversation)
        return Reply(await self._conversations.update(http.tenant, _id(http), request.metadata))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._conversations.delete(http.tenant, _id(http)))

    async def add_items(self, http: HttpRequest) -> Reply:
        include = decode_include(http.query())
        body = await http.body()
        request = await decoded(self._gateway, http, body, decode_add_items)
        add = self._conversations.add_items
        return Reply(await add(http.tenant, _id(http), request, include, len(body)))

    async def list_items(self, http: HttpRequest) -> Reply:
        query = decode_input_items_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._conversations.list_items(http.tenant, _id(http), query))

    async def retrieve_item(self, http: HttpRequest) -> Reply:
        include = decode_include(http.query())
        item = await self._conversations.retrieve_item(
            http.tenant, _id(http), http.path_params["item_id"], include
        )
        return Reply(item)

    async def delete_item(self, http: HttpRequest) -> Reply:
        return Reply(
            await self._conversations.delete_item(
                http.tenant, _id(http), http.path_params["item_id"]
            )
        )


def _id(http: HttpRequest) -> str:
    return http.path_params["conversation_id"]
