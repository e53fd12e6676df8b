"""Requests that ask a model, on behalf of a key: its limits are looked at first, and told in the reply's headers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.types import Message, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.engine.keys.limits import Weigh
from antiphon.engine.keys.meter import FREE, Grant
from antiphon.engine.keys.tally import Tally
from antiphon.server.access import api_key_of
from antiphon.server.http import HEADERS


async def admit(engine: Engine, scope: Scope, model: str, weigh: Weigh) -> Grant:
    """Return leave to ask the model, for `with`. Raises what `Meter.admit` raises, and 401 for a key that has ended."""
    key = await api_key_of(scope)
    grant = await engine.meter.admit(key, model, weigh)
    if grant.headers:
        scope[HEADERS] = [(name.encode(), value.encode()) for name, value in grant.headers.items()]
    return grant


@contextmanager
def counted(grant: Grant, request: dict[str, Any], send: Send) -> Iterator[Send]:
    """Give what to send an answer through that is passed on unread; in the end the grant is told what it took."""
    if grant is FREE:
        yield send
        return
    tally: Tally | None = None

    async def see(message: Message) -> None:
        nonlocal tally
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            tally = Tally(is_stream=kind.startswith(b"text/event-stream"))
        elif tally is not None:
            tally.feed(message["body"])
        await send(message)

    try:
        yield see
    finally:
        if tally is not None:
            grant.tell(*tally.spent(request))
