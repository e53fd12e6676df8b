"""`/v1/chat/completions` and `/v1/embeddings`: validated like everything, then passed to the backend byte for byte."""

import json
from typing import Any

from starlette.types import Receive, Scope, Send

from antiphon.backends.base import Reply
from antiphon.chat.estimate import tokens_of
from antiphon.engine.asking import MAX_ERROR_BODY
from antiphon.engine.engine import Engine, going_away
from antiphon.engine.failures import read_failure
from antiphon.engine.limits import weight_of
from antiphon.engine.meter import FREE, Grant
from antiphon.engine.routing.router import Route
from antiphon.engine.routing.verdict import Failure
from antiphon.engine.routing.waits import wait_of
from antiphon.engine.tally import Tally
from antiphon.errors import AntiphonError
from antiphon.protocol.validate import decode_chat_request, decode_embeddings_request
from antiphon.server.attendance import Attendance
from antiphon.server.http import BACKEND, Resources, plain_name, read_body, tenant_of
from antiphon.server.metered import admit

PASSED_HEADERS = ("content-type", "cache-control")


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def create_chat_completion(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = decode_chat_request(body)
        output = request.get("max_completion_tokens") or request.get("max_tokens")
        with await admit(engine, scope, request["model"], lambda: weight_of(body, output)) as grant:
            await _pass_on(engine, "/chat/completions", request, body, tenant_of(scope), grant, receive, send)

    async def create_embeddings(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = decode_embeddings_request(body)
        with await admit(engine, scope, request["model"], lambda: weight_of(body, 0)) as grant:
            await _pass_on(engine, "/embeddings", request, body, tenant_of(scope), grant, receive, send)

    return {"/v1/chat/completions": {"POST": create_chat_completion}, "/v1/embeddings": {"POST": create_embeddings}}


async def _pass_on(
    engine: Engine,
    path: str,
    request: dict[str, Any],
    body: bytes,
    tenant: str,
    grant: Grant,
    receive: Receive,
    send: Send,
) -> None:
    if not engine.takes_work:
        raise going_away()
    route = await engine.router.route(request["model"], tenant=tenant)
    async with Attendance(receive):
        while not await _ask(route, path, request, body, grant, send):
            pass


async def _ask(route: Route, path: str, request: dict[str, Any], body: bytes, grant: Grant, send: Send) -> bool:
    """Ask the target and pass on what it says; return False where another is to be asked instead."""
    target = route.target
    if target.model != request["model"]:
        body = json.dumps({**request, "model": target.model}).encode()
    async with route.hold():
        try:
            reply = await target.backend.post(path, body)
        except AntiphonError as error:
            if route.moves_on(Failure(0), error):
                return False
            raise
        try:
            if reply.status >= 400:
                return _refuse(route, reply, await reply.read(MAX_ERROR_BODY))
            await _copy(reply, target.backend.name, _Counted(grant, request, reply), send)
            route.answered()
            return True
        finally:
            await reply.close()


def _refuse(route: Route, reply: Reply, body: bytes) -> bool:
    error = read_failure(reply.status, reply.headers, body, route.target.model, rename=str)
    if not route.moves_on(Failure(reply.status, error.code, wait_of(reply.headers, error.message)), error):
        raise error
    return False


class _Counted:
    """`with` around the copying of an answer: tells the grant what it took, also where it breaks off."""

    def __init__(self, grant: Grant, request: dict[str, Any], reply: Reply) -> None:
        self._grant, self._request = grant, request
        is_stream = reply.content_type == "text/event-stream"
        self._tally = None if grant is FREE else Tally(is_stream=is_stream)

    def __enter__(self) -> None: ...

    def see(self, part: bytes) -> None:
        """Look at what is passed on."""
        if self._tally is not None:
            self._tally.feed(part)

    def __exit__(self, *error: object) -> None:
        if (tally := self._tally) is None:
            return
        tally.finish()
        if (usage := tally.usage) is not None:
            self._grant.tell(usage.input_tokens, usage.output_tokens)
        else:
            self._grant.tell(tokens_of(self._request), tally.said)


async def _copy(reply: Reply, backend: str, counted: "_Counted", send: Send) -> None:
    headers = [(BACKEND.encode(), plain_name(backend).encode())]
    headers += [(name.encode(), reply.headers[name].encode()) for name in PASSED_HEADERS if name in reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    with counted:
        async for part in reply.body:
            counted.see(part)
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
