"""Usage of bounded size, and as JSON for clients and for the command line."""

from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from antiphon.objects.pages import JsonObject
from antiphon.storage.operations import api_keys, sizes
from antiphon.storage.records.money import DAY
from antiphon.storage.records.tenants import UsageField, UsageRow
from antiphon.storage.store import Store
from antiphon.upstream.prices import decimal

MOST_ROWS = 10_000
"""Rows of usage in one reply of the API, at most: some megabytes."""


class UsageFound(Struct, frozen=True):
    """Sums of usage: the rows with the most requests, and the sum of the others; None if all rows
    are included.
    """

    rows: list[UsageRow]
    rest: UsageRow | None = None


class StoredBytes(Struct, frozen=True):
    """The bytes that a tenant has stored, and its limit, 0 for none."""

    size: int
    most: int


class KeyUsage:
    """The usage of the keys of one store.

    `settle` waits until the usage of ended requests is written.

    `currency` is a label. A tenant can store `max_stored_bytes`, 0 for no limit.
    """

    def __init__(
        self,
        store: Store,
        settle: Callable[[], Awaitable[None]],
        currency: str,
        max_stored_bytes: int,
    ) -> None:
        self._store = store
        self._settle = settle
        self.currency = currency
        self._max_stored_bytes = max_stored_bytes

    async def find(
        self, tenant: str | None, begin: int, end: int, by: Collection[UsageField] = ("key", "day")
    ) -> UsageFound:
        """Return the total usage of a tenant's keys; without a `tenant`, of all tenants.

        Raises `StoreError`.

        `begin` and `end` are in seconds since the epoch: the days from the first to the second are
        included.
        """
        await self._settle()
        rows = await self._store.read(api_keys.usage, tenant, begin, end, by, MOST_ROWS + 1)
        if len(rows) <= MOST_ROWS:
            return UsageFound(rows)
        rows.remove(min(rows, key=lambda row: row.requests))
        (total,) = await self._store.read(api_keys.usage, tenant, begin, end, ())
        return UsageFound(rows, _without(total, rows))

    async def stored(self, tenant: str) -> StoredBytes:
        """Return the bytes that a tenant has stored, and its limit. Raises `StoreError`."""
        return StoredBytes(
            await self._store.read(sizes.stored_bytes, tenant), self._max_stored_bytes
        )


def _without(total: UsageRow, rows: list[UsageRow]) -> UsageRow:
    return replace(
        total,
        requests=total.requests - sum(row.requests for row in rows),
        input_tokens=total.input_tokens - sum(row.input_tokens for row in rows),
        cached_tokens=total.cached_tokens - sum(row.cached_tokens for row in rows),
        output_tokens=total.output_tokens - sum(row.output_tokens for row in rows),
        cost=total.cost - sum(row.cost for row in rows),
    )


def usage_object(row: UsageRow, currency: str) -> JsonObject:
    """Return a row as JSON. Fields that it is not grouped by are absent; `cost` is exact, so it is
    text.
    """
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
    return {"api_key_id": row.key_id, "api_key_name": row.name, "api_key": row.displayed}
