"""`POST /v1/responses`: make a response, or queue it (specification section 1)."""

from dataclasses import replace as replace_fields

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from antiphon.engine.background import enqueue
from antiphon.engine.engine import Engine, going_away
from antiphon.engine.keeping import Ticket
from antiphon.engine.keys.limits import weight_of_response
from antiphon.engine.keys.meter import Grant
from antiphon.engine.replay import replay
from antiphon.engine.response import output_text
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.server.attendance import Attendance
from antiphon.server.caching import body_with_cache, cache_header, with_cache
from antiphon.server.http import (
    BACKEND,
    Endpoint,
    ignored_header,
    plain_name,
    read_body,
    reply_json,
)
from antiphon.server.keyed import Admission
from antiphon.server.metered import admit
from antiphon.server.sse import send_events, send_frames


def creation(engine: Engine) -> Endpoint:
    """Return the endpoint that makes responses."""

    async def create_response(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        asked = decode_request(body)
        request = with_cache(scope, asked)
        if not engine.takes_work:
            raise going_away()
        async with Admission(engine, scope, body, receive, send, prefix="resp") as ticket:
            if ticket is None:
                return
            with await admit(engine, scope, request.model, lambda: weight_of_response(request, body)) as grant:
                if request.background:
                    kept = body_with_cache(body, asked, request)
                    ticket = replace_fields(ticket, taken=grant.taken)
                    await _create_in_background(engine, request, kept, ticket, grant, receive, send)
                else:
                    await _create(engine, request, ticket, grant, receive, send)

    return create_response


async def _create(
    engine: Engine, request: CreateResponse, ticket: Ticket, grant: Grant, receive: Receive, send: Send
) -> None:
    run = await engine.create(request, ticket)
    grant.watch(run)
    if run.is_stream:
        await send_events(run, receive, send)
        return
    async with Attendance(receive):
        response = await run.result()
    headers = ignored_header(run.ignored_tools) | {BACKEND: plain_name(run.backend), **cache_header(run)}
    await reply_json(send, replace(response, output_text=output_text(response)), headers=headers)


async def _create_in_background(
    engine: Engine,
    request: CreateResponse,
    body: bytes,
    ticket: Ticket,
    grant: Grant,
    receive: Receive,
    send: Send,
) -> None:
    queued = await enqueue(engine, request, body, ticket)
    grant.hand_over()
    headers = ignored_header(queued.ignored_tools)
    if request.stream:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send_frames(replay(engine, ticket.tenant, queued.response.id), receive, send, raw)
    else:
        await reply_json(send, queued.response, headers=headers)
