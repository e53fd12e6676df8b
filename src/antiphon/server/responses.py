"""`/v1/responses`: create, retrieve, delete, list input items (specification section 1)."""

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from antiphon.engine.response import output_text
from antiphon.engine.run import Engine
from antiphon.engine.stored import delete, list_input_items, retrieve
from antiphon.errors import ClientError
from antiphon.protocol.validate import decode_include, decode_input_items_query, decode_request
from antiphon.server.attendance import Attendance
from antiphon.server.http import Resources, method_not_supported, read_body, read_query, reply_json
from antiphon.server.sse import send_events


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def create_response(scope: Scope, receive: Receive, send: Send) -> None:
        run = await engine.create(decode_request(await read_body(scope, receive)))
        if run.is_stream:
            await send_events(run, receive, send)
            return
        async with Attendance(receive):
            response = await run.result()
        await reply_json(send, replace(response, output_text=output_text(response)))

    async def get_response(scope: Scope, receive: Receive, send: Send) -> None:
        query = read_query(scope)
        if query.get("stream", ["false"])[-1].lower() == "true":
            text = "This response cannot be streamed because it was not created with background=true."
            raise ClientError(text, param="stream")
        await reply_json(send, await retrieve(engine.store, _id(scope), decode_include(query)))

    async def delete_response(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, await delete(engine.store, _id(scope)))

    async def get_input_items(scope: Scope, receive: Receive, send: Send) -> None:
        query = decode_input_items_query(read_query(scope))
        await reply_json(send, await list_input_items(engine.store, _id(scope), query))

    one = "/v1/responses/{response_id}"
    return {
        "/v1/responses": {"POST": create_response, "GET": refuse_websocket},
        one: {"GET": get_response, "DELETE": delete_response},
        f"{one}/input_items": {"GET": get_input_items},
    }


async def refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a WebSocket upgrade with 426: Codex then falls back to HTTP at once, 405 costs it five tries (L61)."""
    if dict(scope["headers"]).get(b"upgrade", b"").lower() == b"websocket":
        raise ClientError("WebSocket mode is not served here; use HTTP.", status=426, code="upgrade_not_supported")
    raise method_not_supported(scope, ["POST"])


def _id(scope: Scope) -> str:
    response_id: str = scope["path_params"]["response_id"]
    return response_id
