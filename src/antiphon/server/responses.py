"""`/v1/responses`: create, retrieve or replay, cancel, delete, list and count input (specification section 1)."""

from dataclasses import replace as replace_fields

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from antiphon.engine.background import cancel, enqueue
from antiphon.engine.compact import compact
from antiphon.engine.counting import count_input_tokens
from antiphon.engine.engine import Engine, going_away
from antiphon.engine.keeping import Ticket
from antiphon.engine.keys.limits import check_model, weight_of, weight_of_response
from antiphon.engine.keys.meter import Grant
from antiphon.engine.replay import begin_replay, replay
from antiphon.engine.response import output_text
from antiphon.engine.stored import delete, list_input_items, retrieve
from antiphon.errors import ClientError
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validate import (
    decode_compact_request,
    decode_count,
    decode_include,
    decode_input_items_query,
    decode_request,
    decode_stream_query,
    is_true,
)
from antiphon.server.access import api_key_of
from antiphon.server.attendance import Attendance
from antiphon.server.caching import body_with_cache, cache_header, with_cache
from antiphon.server.http import (
    BACKEND,
    Resources,
    ignored_header,
    method_not_supported,
    path_part,
    plain_name,
    read_body,
    read_query,
    reply_json,
    tenant_of,
)
from antiphon.server.keyed import Admission
from antiphon.server.metered import admit
from antiphon.server.sse import send_events, send_frames


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

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

    async def compact_context(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = decode_compact_request(body)
        if not engine.takes_work:
            raise going_away()
        with await admit(engine, scope, request.model, lambda: weight_of(body)) as grant:
            async with Attendance(receive):
                compacted = await compact(engine, request, tenant_of(scope), grant.watch)
            await reply_json(send, compacted)

    async def count_input(scope: Scope, receive: Receive, send: Send) -> None:
        request = decode_count(await read_body(scope, receive))
        check_model(await api_key_of(scope), request.model)
        async with Attendance(receive):
            count = await count_input_tokens(engine, request, tenant_of(scope))
        body = {"object": "response.input_tokens", "input_tokens": count.input_tokens}
        headers = {"antiphon-token-count": "exact" if count.is_exact else "estimate"}
        await reply_json(send, body, headers=headers)

    one = "/v1/responses/{response_id}"
    return {
        "/v1/responses": {"POST": create_response, "GET": refuse_websocket},
        "/v1/responses/compact": {"POST": compact_context},
        "/v1/responses/input_tokens": {"POST": count_input},  # before the ids: the first path that fits is taken
        one: {"GET": get_response, "DELETE": delete_response},
        f"{one}/cancel": {"POST": cancel_response},
        f"{one}/input_items": {"GET": get_input_items},
    }


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


async def refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a WebSocket upgrade with 426: Codex then falls back to HTTP at once, 405 costs it five tries (L61)."""
    if scope["type"] == "websocket" or dict(scope["headers"]).get(b"upgrade", b"").lower() == b"websocket":
        raise ClientError("WebSocket mode is not served here; use HTTP.", status=426, code="upgrade_not_supported")
    raise method_not_supported(scope, ["POST"])


def _id(scope: Scope) -> str:
    return path_part(scope, "response_id")
