"""What is asked of a context alone: to be made shorter, and how long it is (specification sections 1 and 11)."""

from starlette.types import Receive, Scope, Send

from antiphon.engine.compact import compact
from antiphon.engine.counting import count_input_tokens
from antiphon.engine.engine import Engine, going_away
from antiphon.engine.keys.limits import check_model, weight_of
from antiphon.protocol.validation.validate import decode_compact_request, decode_count
from antiphon.server.access import api_key_of
from antiphon.server.attendance import Attendance
from antiphon.server.http import (
    Resources,
    read_body,
    reply_json,
    tenant_of,
)
from antiphon.server.metered import admit


def resources(engine: Engine) -> Resources:
    """Return what is served under which path; these go before the ids of responses, which would fit them too."""

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

    return {
        "/v1/responses/compact": {"POST": compact_context},
        "/v1/responses/input_tokens": {"POST": count_input},
    }
