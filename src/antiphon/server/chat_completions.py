"""`/v1/chat/completions` and `/v1/embeddings`: validated like everything, then passed to the backend byte for byte."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from antiphon.engine.engine import Engine, going_away
from antiphon.engine.keys.limits import weight_of
from antiphon.engine.keys.meter import Grant
from antiphon.engine.observers import Call, Operation
from antiphon.engine.routing.backend_state import Target
from antiphon.engine.routing.call import BROKEN, CallObserver, UpstreamReply, call
from antiphon.engine.routing.router import Route
from antiphon.errors import BackendError
from antiphon.protocol.validation.validate import decode_chat_request, decode_embeddings_request
from antiphon.server.attendance import Attendance
from antiphon.server.http import BACKEND, Resources, plain_name, read_body, tenant_of
from antiphon.server.metered import admit, counted
from antiphon.translation.to_chat.estimate import asked_tokens
from antiphon.upstream.backend import Reply

PASSED_HEADERS = ("content-type", "cache-control")

OPERATIONS: dict[str, Operation] = {"/chat/completions": "chat", "/embeddings": "embeddings"}


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def create_chat_completion(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = decode_chat_request(body)
        weight = partial(weight_of, body, _bound(request))
        with await admit(engine, scope, request["model"], weight) as grant, counted(grant, request, send) as telling:
            await _pass_on(engine, "/chat/completions", request, body, tenant_of(scope), receive, telling, grant)

    async def create_embeddings(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = decode_embeddings_request(body)
        weight = partial(weight_of, body, 0)
        with await admit(engine, scope, request["model"], weight) as grant, counted(grant, request, send) as telling:
            await _pass_on(engine, "/embeddings", request, body, tenant_of(scope), receive, telling, grant)

    return {"/v1/chat/completions": {"POST": create_chat_completion}, "/v1/embeddings": {"POST": create_embeddings}}


def _bound(request: dict[str, Any]) -> int | None:
    """Return the tokens that the request allows its answer, if it says so in a way that can be believed."""
    bounds = (request.get("max_completion_tokens"), request.get("max_tokens"))
    return next((bound for bound in bounds if isinstance(bound, int) and bound > 0), None)


async def _pass_on(
    engine: Engine,
    path: str,
    request: dict[str, Any],
    body: bytes,
    tenant: str,
    receive: Receive,
    send: Send,
    grant: Grant,
) -> None:
    if not engine.takes_work:
        raise going_away()
    route = await engine.router.route(request["model"], tenant=tenant)
    async with Attendance(receive):
        await _relay(engine.observers, route, path, request, body, send, grant)


async def _relay(
    observer: CallObserver[Call],
    route: Route,
    path: str,
    request: dict[str, Any],
    body: bytes,
    send: Send,
    grant: Grant,
) -> None:
    """Call a backend, and pass its answer on."""
    newest: Call | None = None

    def record(target: Target) -> Call:
        nonlocal newest
        newest = Call(None, target, request, OPERATIONS[path])
        return newest

    def renamed(target: Target) -> bytes:
        return body if target.model == request["model"] else json.dumps({**request, "model": target.model}).encode()

    try:
        upstream, answer = await call(route, path, renamed, observer, record, _begin)
        try:
            await _copy(upstream, *answer, send)
        finally:
            await upstream.close()
    except asyncio.CancelledError:
        if newest is not None and newest.error is None:
            grant.tell(asked_tokens(request), 0)  # unless an answer began, of which more is known
        raise


async def _begin(reply: Reply) -> tuple[bytes, AsyncIterator[bytes]]:
    """Await the first part of an answer; return it with the rest."""
    parts = aiter(reply.body)
    return await anext(parts, b""), parts


async def _copy(upstream: UpstreamReply[Call], first: bytes, rest: AsyncIterator[bytes], send: Send) -> None:
    """Pass an answer on, byte for byte."""
    upstream.spoke()
    reply = upstream.reply
    headers = [(BACKEND.encode(), plain_name(upstream.target.state.label).encode())]
    headers += [(name.encode(), reply.headers[name].encode()) for name in PASSED_HEADERS if name in reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    try:
        async for part in rest:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except BackendError as error:
        upstream.report_failure(BROKEN, error)
        raise
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    upstream.succeeded()
