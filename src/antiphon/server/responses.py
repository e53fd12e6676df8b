"""`/v1/responses`: create, retrieve or replay, cancel, delete, list input (specification section 1)."""

from starlette.types import Receive, Scope, Send

from antiphon.engine.background import cancel
from antiphon.engine.engine import Engine
from antiphon.engine.replay import begin_replay, replay
from antiphon.engine.stored import delete, list_input_items, retrieve
from antiphon.errors import ClientError
from antiphon.protocol.validation.validate import (
    decode_include,
    decode_input_items_query,
    decode_stream_query,
    is_true,
)
from antiphon.server.create import creation
from antiphon.server.http import (
    Resources,
    method_not_supported,
    path_part,
    read_query,
    reply_json,
    tenant_of,
)
from antiphon.server.sse import send_frames


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def get_response(scope: Scope, receive: Receive, send: Send) -> None:
        params, tenant, response_id = read_query(scope), tenant_of(scope), _id(scope)
        if not is_true(params, "stream"):
            await reply_json(send, await retrieve(engine.store, tenant, response_id, decode_include(params)))
            return
        query = decode_stream_query(params)
        await begin_replay(engine, tenant, response_id)
        after = -1 if query.starting_after is None else query.starting_after
        frames = replay(engine, tenant, response_id, after, padding=query.include_obfuscation)
        await send_frames(frames, receive, send)

    async def delete_response(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await delete(engine.store, tenant_of(scope), _id(scope)))

    async def cancel_response(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await cancel(engine, tenant_of(scope), _id(scope)))

    async def get_input_items(scope: Scope, receive: Receive, send: Send) -> None:
        query = decode_input_items_query(read_query(scope))
        await reply_json(send, await list_input_items(engine.store, tenant_of(scope), _id(scope), query))

    one = "/v1/responses/{response_id}"
    return {
        "/v1/responses": {"POST": creation(engine), "GET": refuse_websocket},
        one: {"GET": get_response, "DELETE": delete_response},
        f"{one}/cancel": {"POST": cancel_response},
        f"{one}/input_items": {"GET": get_input_items},
    }


async def refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a WebSocket upgrade with 426: Codex then falls back to HTTP at once, 405 costs it five tries (L61)."""
    if scope["type"] == "websocket" or dict(scope["headers"]).get(b"upgrade", b"").lower() == b"websocket":
        raise ClientError("WebSocket mode is not served here; use HTTP.", status=426, code="upgrade_not_supported")
    raise method_not_supported(scope, ["POST"])


def _id(scope: Scope) -> str:
    return path_part(scope, "response_id")
