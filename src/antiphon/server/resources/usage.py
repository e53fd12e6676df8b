"""`GET /v1/usage`: what each key of the tenant used, day by day, and the bytes that the tenant has stored."""

from datetime import UTC, datetime
from typing import Any

from antiphon.gateway import DayOfUse, Gateway
from antiphon.protocol.resources import UsageQuery
from antiphon.protocol.validation.queries import decode_usage_query
from antiphon.server.reply import Reply, Resources, json_reply
from antiphon.server.request import HttpRequest

DAY = 86_400

DAYS = 30
"""Days that are told where the query does not say which: today and those before."""


def resources(gateway: Gateway) -> Resources:
    """Return what is served under which path."""

    async def get_usage(http: HttpRequest) -> Reply:
        begin, end = span(decode_usage_query(http.query()), gateway.now())
        days = await gateway.usage(http.tenant, begin, end)
        stored = await gateway.stored(http.tenant)
        storage = {"object": "usage.storage", "stored_bytes": stored.size, "max_stored_bytes": stored.most or None}
        return json_reply({"object": "list", "data": [_shown(day) for day in days], "storage": storage})

    return {"/v1/usage": {"GET": get_usage}}


def span(query: UsageQuery, now: float) -> tuple[int, int]:
    """Return the first second that is asked for, and the first that is not."""
    end = int(now) + 1 if query.end_time is None else query.end_time
    begin = (end - 1) // DAY * DAY - (DAYS - 1) * DAY if query.start_time is None else query.start_time
    return begin // DAY * DAY, end


def _shown(day: DayOfUse) -> dict[str, Any]:
    return {
        "object": "usage.day",
        "date": datetime.fromtimestamp(day.day, UTC).date().isoformat(),
        "start_time": day.day,
        "end_time": day.day + DAY,
        "api_key_id": day.key_id,
        "api_key_name": day.name,
        "api_key": day.shown,
        "requests": day.requests,
        "input_tokens": day.input_tokens,
        "output_tokens": day.output_tokens,
        "total_tokens": day.input_tokens + day.output_tokens,
    }
