"""`/v1/chat/completions` and `/v1/embeddings`: validated like everything, then passed to the backend byte for byte."""

import asyncio
import json
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from antiphon.engine.asking import read_error
from antiphon.engine.engine import Engine, going_away
from antiphon.engine.failures import read_failure
from antiphon.engine.keys.limits import weight_of
from antiphon.engine.keys.meter import Grant
from antiphon.engine.observers import Call, Observer, Operation
from antiphon.engine.routing.router import Route
from antiphon.engine.routing.verdict import Failure, unanswered
from antiphon.engine.routing.waits import wait_of
from antiphon.errors import AntiphonError, BackendError
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
    passing = _Passing(engine.observers, route, path, request, body, send, grant)
    async with Attendance(receive):
        while not await passing.ask():
            pass


class _Passing:
    """One request on its way through the backends."""

    def __init__(
        self,
        observers: Observer,
        route: Route,
        path: str,
        request: dict[str, Any],
        body: bytes,
        send: Send,
        grant: Grant,
    ) -> None:
        self._observers, self._route, self._send, self._grant = observers, route, send, grant
        self._path, self._request, self._body = path, request, body

    async def ask(self) -> bool:
        """Ask the target and pass on what it says; return False where another is to be asked instead."""
        target, body = self._route.target, self._body
        if target.model != self._request["model"]:
            body = json.dumps({**self._request, "model": target.model}).encode()
        await self._route.enter()
        call = self._call = Call(None, target, self._request, OPERATIONS[self._path])
        self._observers.asked(call)
        try:
            try:
                reply = await target.backend.post(self._path, body)
            except AntiphonError as error:
                return self._give_up(unanswered(error), error)
            return await self._answer(reply)
        except asyncio.CancelledError:
            self._grant.tell(asked_tokens(self._request), 0)  # unless an answer began, of which more is known
            raise
        finally:
            self._observers.answered(call)
            self._route.leave()

    async def _answer(self, reply: Reply) -> bool:
        try:
            if reply.status >= 400:
                return self._refuse(reply, await read_error(reply))
            return await self._copy(reply)
        finally:
            await reply.close()

    def _refuse(self, reply: Reply, body: bytes) -> bool:
        error = read_failure(reply.status, reply.headers, body, self._route.target.model, rename=str)
        return self._give_up(Failure(reply.status, error.code, wait_of(reply.headers, error.message)), error)

    def _give_up(self, failure: Failure, error: AntiphonError) -> bool:
        """Return False where another is to be asked instead; raise the error where there is none."""
        self._call.error = error
        if self._route.moves_on(failure, error):
            return False
        raise error

    async def _copy(self, reply: Reply) -> bool:
        """Pass an answer on from its first byte; return False where none came and another is to be asked instead."""
        parts = aiter(reply.body)
        try:
            first = await anext(parts, b"")
        except BackendError as error:
            return self._give_up(Failure(0, is_broken=True), error)
        self._observers.spoke(self._call)
        headers = [(BACKEND.encode(), plain_name(self._route.target.served.label).encode())]
        headers += [(name.encode(), reply.headers[name].encode()) for name in PASSED_HEADERS if name in reply.headers]
        await self._send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self._say(first)
        try:
            async for part in parts:
                await self._say(part)
        except BackendError as error:
            self._call.error = error
            self._route.broke(Failure(0, is_broken=True), error)
            raise
        await self._say(b"", more_body=False)
        self._route.answered()
        return True

    async def _say(self, part: bytes, *, more_body: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": part, "more_body": more_body})
