"""Usage as JSON, for clients and for the command line."""

from datetime import UTC, datetime
from typing import Any

from antiphon.storage.contract import UsageRow
from antiphon.storage.records.money import DAY
from antiphon.upstream.prices import decimal

JsonObject = dict[str, Any]


def usage_object(row: UsageRow, currency: str) -> JsonObject:
    """Return a row as JSON. What is not kept apart is absent; `cost` is exact, so it is text."""
    return {
        "object": "usage.total" if row.day is None else "usage.day",
        **_of_day(row),
        **({} if row.tenant is None else {"tenant": row.tenant}),
        **_of_key(row),
        **({} if row.model is None else {"model": row.model}),
        "requests": row.requests,
        "input_tokens": row.input_tokens,
        "cached_input_tokens": row.cached_tokens,
        "output_tokens": row.output_tokens,
        "total_tokens": row.input_tokens + row.output_tokens,
        "cost": {"value": decimal(row.cost), "currency": currency},
    }


def _of_day(row: UsageRow) -> JsonObject:
    if row.day is None:
        return {}
    date = datetime.fromtimestamp(row.day, UTC).date().isoformat()
    return {"date": date, "start_time": row.day, "end_time": row.day + DAY}


def _of_key(row: UsageRow) -> JsonObject:
    if row.key_id is None:
        return {}
    return {"api_key_id": row.key_id, "api_key_name": row.name, "api_key": row.shown}
