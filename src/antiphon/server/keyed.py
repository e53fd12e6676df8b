"""Requests that may carry an `Idempotency-Key`."""

from typing import Any

from starlette.types import Receive, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.engine.idempotency import Log, admit, check_key
from antiphon.engine.keeping import Ticket
from antiphon.engine.replay import replay
from antiphon.errors import StoreError, log
from antiphon.server.attendance import Attendance
from antiphon.server.http import reply, tenant_of
from antiphon.server.sse import send_frames, send_whole
from antiphon.storage.contract import Reply


def key_of(scope: Scope) -> str | None:
    """Return a request's `Idempotency-Key`, None where it has none."""
    for name, value in scope["headers"]:
        if name == b"idempotency-key":
            return str(value.decode("latin-1"))
    return None


class Admission:
    """`async with` around the work on a request: gives its ticket, or None where it was answered already.

    Where the work raises, the key is free again, so that the next try is worked on.
    """

    def __init__(self, engine: Engine, scope: Scope, body: bytes, receive: Receive, send: Send, prefix: str) -> None:
        self._engine, self._scope, self._body, self._prefix = engine, scope, body, prefix
        self._receive, self._send = receive, send
        self._ticket: Ticket | None = None

    async def __aenter__(self) -> Ticket | None:
        tenant, key = tenant_of(self._scope), key_of(self._scope)
        if key is None:
            return Ticket(tenant, self._engine.new_id(self._prefix))
        check_key(key)
        async with Attendance(self._receive):
            admitted = await admit(self._engine, tenant, key, self._scope["path"], self._body, self._prefix)
        if isinstance(admitted, Ticket):
            self._ticket = admitted
            return admitted
        await self._answer(admitted)
        return None

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        ticket = self._ticket
        if ticket is None:
            return
        if error is not None:
            try:
                await self._engine.store.free_key(ticket.tenant, ticket.key, ticket.response_id)
            except StoreError as trouble:
                log.warning("An Idempotency-Key is still reserved: %s", trouble)
        # What it may hold still, the worker frees.
        self._engine.holding.discard(ticket.response_id)

    async def _answer(self, known: Reply | Log) -> None:
        if isinstance(known, Log):
            await send_frames(replay(self._engine, known.tenant, known.response_id), self._receive, self._send)
        elif known.is_stream:
            await send_whole(known.body, self._send)
        else:
            await reply(self._send, 200, {"content-type": "application/json"}, known.body)
