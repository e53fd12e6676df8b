"""`/v1/chat/completions` and `/v1/embeddings`: validated like everything, then passed to the backend byte for byte."""

from typing import Any

from starlette.types import Receive, Scope, Send

from antiphon.backends.base import Reply
from antiphon.engine.engine import Engine, going_away
from antiphon.engine.failures import read_failure
from antiphon.engine.run import MAX_ERROR_BODY
from antiphon.protocol.validate import decode_chat_request, decode_embeddings_request
from antiphon.server.attendance import Attendance
from antiphon.server.http import Resources, read_body

PASSED_HEADERS = ("content-type", "cache-control")


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def create_chat_completion(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        await _pass_on(engine, "/chat/completions", decode_chat_request(body), body, receive, send)

    async def create_embeddings(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        await _pass_on(engine, "/embeddings", decode_embeddings_request(body), body, receive, send)

    return {"/v1/chat/completions": {"POST": create_chat_completion}, "/v1/embeddings": {"POST": create_embeddings}}


async def _pass_on(
    engine: Engine, path: str, request: dict[str, Any], body: bytes, receive: Receive, send: Send
) -> None:
    if not engine.takes_work:
        raise going_away()
    target = await engine.models.find(request["model"])
    async with Attendance(receive):
        reply = await target.backend.post(path, body)
        try:
            if reply.status >= 400:
                body = await reply.read(MAX_ERROR_BODY)
                raise read_failure(reply.status, reply.headers, body, target.model, rename=str)
            await _copy(reply, send)
        finally:
            await reply.close()


async def _copy(reply: Reply, send: Send) -> None:
    headers = [(name.encode(), reply.headers[name].encode()) for name in PASSED_HEADERS if name in reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    async for part in reply.body:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
