"""The list of a tenant's responses: what is kept as facts, each as a `response.summary`."""

from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.resources import ResponsesQuery
from antiphon.protocol.response_filters import FilterError, Filters, parse_filters
from antiphon.storage.contract import Facts, FactsPage, FactsQuery, Store
from antiphon.storage.records.facts import BACKGROUND, CACHED, STORED, STREAM, WEBSOCKET
from antiphon.stored.responses import invalid_bound


async def list_responses(store: Store, tenant: str, query: ResponsesQuery, now: float) -> dict[str, Any]:
    """Return a page of the tenant's responses; `now` is the time since the epoch.

    Raises `ClientError` (400) where `after` or `before` names no response of the list, or `q` is no filter.
    """
    filters = _filters(query.q, now) if query.q else Filters()
    wanted = FactsQuery(query.limit, query.after, query.before, query.order == "desc", filters)
    page = await store.list_facts(tenant, wanted)
    if page.unknown:
        raise invalid_bound(page.unknown, query, "response")
    return shown_page(page)


def shown_page(page: FactsPage) -> dict[str, Any]:
    """Return a page as JSON. One that says `partial` goes on behind `after`, and may have found nothing so far."""
    data = [shown(facts) for facts in page.facts]
    listed: dict[str, Any] = {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": page.has_more or bool(page.read_to),
    }
    return listed | ({"partial": True, "after": page.read_to} if page.read_to else {})


def shown(facts: Facts) -> dict[str, Any]:
    """Return one response as a `response.summary`."""
    flags, ended = facts.flags, facts.ended
    has_words = bool(flags & STORED)
    return {
        "id": facts.id,
        "object": "response.summary",
        "created_at": facts.began // 1000,
        "completed_at": None if ended is None else ended // 1000,
        "status": facts.status,
        "error_code": facts.error or None,
        "model": facts.model,
        "served_model": facts.served_model or None,
        "backend": facts.backend or None,
        "api_key_id": facts.key_id or None,
        "previous_response_id": facts.previous_response_id or None,
        "conversation_id": facts.conversation_id or None,
        "store": has_words,
        "stream": bool(flags & STREAM),
        "background": bool(flags & BACKGROUND),
        "websocket": bool(flags & WEBSOCKET),
        "cached": bool(flags & CACHED),
        "tools": facts.tools.split(),
        "calls": facts.calls,
        "attempts": facts.attempts,
        "duration_ms": None if ended is None else ended - facts.began,
        "queue_ms": facts.queued,
        "first_token_ms": facts.first,
        "usage": {
            "input_tokens": facts.input_tokens,
            "input_tokens_details": {"cached_tokens": facts.cached_tokens},
            "output_tokens": facts.output_tokens,
            "output_tokens_details": {"reasoning_tokens": facts.reasoning_tokens},
            "total_tokens": facts.input_tokens + facts.output_tokens,
        },
        "request_bytes": facts.request_bytes,
        "input": facts.input if has_words else None,
        "output": facts.output if has_words else None,
    }


def _filters(line: str, now: float) -> Filters:
    try:
        return parse_filters(line, now)
    except FilterError as error:
        raise ClientError(f"Invalid 'q': {error}", code="invalid_value", param="q") from None
