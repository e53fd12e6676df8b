"""The list of a tenant's responses: the stored facts of each as a `response.summary`."""

from collections.abc import Callable
from datetime import UTC, datetime

from antiphon.errors import ClientError
from antiphon.objects.pages import LONGEST_ID, JsonObject, page_of, unknown_bound
from antiphon.protocol.resources import ResponsesQuery
from antiphon.query.conditions import Filters
from antiphon.query.response_filters import FilterError, parse_filters
from antiphon.storage.operations import facts_page
from antiphon.storage.records.facts import (
    BACKGROUND,
    CACHED,
    ESTIMATED,
    HAS_MESSAGE,
    STORED,
    STREAM,
    WEBSOCKET,
    WINDOWS,
    Facts,
    FactsPage,
    FactsQuery,
)
from antiphon.storage.store import Store


def displayed(facts: Facts) -> JsonObject:
    """Return one response as a `response.summary`."""
    flags = facts.flags
    ended = facts.ended
    has_words = bool(flags & STORED)
    has_message = bool(flags & HAS_MESSAGE)
    return {
        "id": facts.id,
        "object": "response.summary",
        "created_at": facts.began // 1000,
        "completed_at": None if ended is None else ended // 1000,
        "status": facts.status,
        "error_code": facts.error or None,
        "error_message": facts.output if has_message else None,
        "model": facts.model,
        "served_model": facts.served_model or None,
        "backend": facts.backend or None,
        "api_key_id": facts.key_id or None,
        "previous_response_id": facts.previous_response_id or None,
        "conversation_id": facts.conversation_id or None,
        "store": has_words,
        "stream": bool(flags & STREAM),
        "background": bool(flags & BACKGROUND),
        "completion_window": next(
            (window for window, flag in WINDOWS.items() if flags & flag), None
        ),
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
        "usage_is_estimated": bool(flags & ESTIMATED),
        "request_bytes": facts.request_bytes,
        "input": facts.input if has_words else None,
        "output": facts.output if has_words and not has_message else None,
    }


Show = Callable[[Facts], JsonObject]
"""Returns the facts of one response as a list shows them."""


async def read_page(
    store: Store, tenant: str | None, query: ResponsesQuery, filters: Filters
) -> FactsPage:
    """Return the facts of a page of the responses of a tenant (None: all tenants).

    Raises `ClientError` (400) if `after` or `before` is not a response in the list, or if there are
    too many responses to sort.
    """
    wanted = FactsQuery(query.limit, query.after, query.before, query.order == "desc", filters)
    page = await store.read(facts_page.page, tenant, wanted)
    if page.unknown:
        raise unknown_bound(page.unknown, getattr(query, page.unknown)[:LONGEST_ID], "response")
    if page.sortable_since is not None:
        raise ClientError(
            f"Invalid 'q': {too_many(filters, page.sortable_since)}",
            code="range_too_large",
            param="q",
        )
    return page


def too_many(filters: Filters, sortable_since: int) -> str:
    """Return why a list was not sorted, and what to add to its filters so that it is.

    `sortable_since` is in milliseconds.
    """
    since = datetime.fromtimestamp(-(-sortable_since // 1000), UTC)
    return (
        f"'sort:{filters.sort}' would have to compare too many responses. Narrow the range: add "
        f"since:{since:%Y-%m-%dT%H:%M:%SZ} or a later time."
    )


def filters_of(line: str | None, now: float) -> Filters:
    """Parse a filter line. `now` is the time since the epoch. Raises `ClientError` (400)."""
    if not line:
        return Filters()
    try:
        return parse_filters(line, now)
    except FilterError as error:
        raise ClientError(f"Invalid 'q': {error}", code="invalid_value", param="q") from None


def page_object(page: FactsPage, show: Show) -> JsonObject:
    """Return a page as JSON. The search for a `partial` page, which can be empty, continues after
    `after`.
    """
    data = [show(facts) for facts in page.facts]
    listed = page_of(data, has_more=page.has_more or bool(page.read_to))
    return listed | ({"partial": True, "after": page.read_to} if page.read_to else {})
