"""`/v1/conversations` and their items (specification section 1)."""

from starlette.types import Receive, Scope, Send

from antiphon.engine import conversations
from antiphon.engine.engine import Engine
from antiphon.protocol.validation.validate import (
    decode_add_items,
    decode_create_conversation,
    decode_include,
    decode_input_items_query,
    decode_update_conversation,
)
from antiphon.server.http import Resources, path_part, read_body, read_query, reply_json, tenant_of
from antiphon.server.keyed import Admission


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def create_conversation(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = decode_create_conversation(body)
        async with Admission(engine, scope, body, receive, send, prefix="conv") as ticket:
            if ticket is not None:
                await reply_json(send, await conversations.create(engine, request, ticket))

    async def get_conversation(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await conversations.retrieve(engine, tenant_of(scope), _id(scope)))

    async def update_conversation(scope: Scope, receive: Receive, send: Send) -> None:
        request = decode_update_conversation(await read_body(scope, receive))
        await reply_json(send, await conversations.update(engine, tenant_of(scope), _id(scope), request.metadata))

    async def delete_conversation(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await conversations.delete(engine, tenant_of(scope), _id(scope)))

    async def create_items(scope: Scope, receive: Receive, send: Send) -> None:
        include = decode_include(read_query(scope))
        request = decode_add_items(await read_body(scope, receive))
        await reply_json(send, await conversations.add_items(engine, tenant_of(scope), _id(scope), request, include))

    async def list_items(scope: Scope, receive: Receive, send: Send) -> None:
        query = decode_input_items_query(read_query(scope))
        await reply_json(send, await conversations.list_items(engine, tenant_of(scope), _id(scope), query))

    async def get_item(scope: Scope, receive: Receive, send: Send) -> None:
        include = decode_include(read_query(scope))
        item = await conversations.retrieve_item(engine, tenant_of(scope), _id(scope), _item_id(scope), include)
        await reply_json(send, item)

    async def delete_item(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await conversations.delete_item(engine, tenant_of(scope), _id(scope), _item_id(scope)))

    one = "/v1/conversations/{conversation_id}"
    return {
        "/v1/conversations": {"POST": create_conversation},
        one: {"GET": get_conversation, "POST": update_conversation, "DELETE": delete_conversation},
        f"{one}/items": {"GET": list_items, "POST": create_items},
        f"{one}/items/{{item_id}}": {"GET": get_item, "DELETE": delete_item},
    }


def _id(scope: Scope) -> str:
    return path_part(scope, "conversation_id")


def _item_id(scope: Scope) -> str:
    return path_part(scope, "item_id")
