"""API keys, their limits, and their usage.

A limit per minute is stored as one number: the time until which it is used up. A request advances
this time by its cost, 60 seconds divided by the limit, and is granted if the result is at most one
minute from now. So the limit recovers steadily, and one statement both checks and takes.

Callers pass and receive the times of a key as times of this process's clock; the stored times are
of the store's clock.
"""

import json
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from antiphon.storage.operations import budgets
from antiphon.storage.operations.step import (
    EXACT_NOW,
    NOW,
    SHIFT,
    UNKNOWN_ITEMS,
    Operation,
    Row,
    announce_read,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.money import Budget, MoneyClaim, day_of
from antiphon.storage.records.tenants import (
    ApiKey,
    BucketState,
    KeyLimits,
    Role,
    UsageField,
    UsageRecord,
    UsageRow,
)

MINUTE = 60_000_000
"""One minute in microseconds."""

NO_LIMIT = 2**62


@writes("put_api_key", is_of_all=True, frees=True)
def put(key: ApiKey) -> Operation[None]:
    """Store or replace a key. A revoked key loses its saved views."""
    limits = key.limits
    shift: int = yield SHIFT
    yield from query_rows(
        "put_api_key",
        key.id,
        key.tenant,
        key.name,
        key.digest,
        key.displayed,
        key.created_at + shift,
        None if key.expires_at is None else key.expires_at + shift,
        None if key.revoked_at is None else key.revoked_at + shift,
        key.old_digest,
        key.old_until and key.old_until + shift,
        json.dumps(list(limits.models)),
        limits.requests_per_minute,
        limits.tokens_per_minute,
        limits.tokens_per_day,
        limits.concurrency,
        int(key.caches),
        None if limits.budget is None else limits.budget.per_day,
        None if limits.budget is None else limits.budget.per_month,
        key.role.value,
    )
    if limits.budget is None:
        yield from query_rows("close_budget", key.tenant, key.id)
    if key.revoked_at is not None:
        yield from query_rows("delete_views_of", key.id)


@reads("find_api_key", is_of_all=True)
def find(digest: bytes) -> Operation[ApiKey | None]:
    """Return the key with this digest, or None if it is unknown, revoked or expired."""
    now: int = yield NOW
    shift: int = yield SHIFT
    row = yield from first("find_api_key", digest, now)
    return _key(row, shift) if row else None


@reads("load_api_key", is_of_all=True)
def load(key_id: str) -> Operation[ApiKey | None]:
    """Return the key with this ID, or None if it is unknown or revoked. An expired one counts: its
    work in progress ends.
    """
    shift: int = yield SHIFT
    row = yield from first("load_api_key", key_id)
    return _key(row, shift) if row else None


@reads("api_keys", is_of_all=True)
def every() -> Operation[list[ApiKey]]:
    """Return all keys of all tenants, newest first, including revoked keys."""
    shift: int = yield SHIFT
    return [_key(row, shift) for row in (yield from query_rows("api_keys"))]


@reads("has_api_keys", is_of_all=True)
def any_at_all() -> Operation[bool]:
    """Return whether a key was ever created."""
    return bool((yield from query_rows("has_api_keys")))


@writes("take", is_of_all=True)
def take(
    key_id: str, limits: KeyLimits, tokens: int, claim: MoneyClaim | None = None
) -> Operation[BucketState]:
    """Take one request and these tokens out of the key's limits, if all limits have room; return
    the limits' state.

    A `claim` is taken out of its budgets in the same transaction. However many requests and
    processes compete, the limits and the budgets are never exceeded. An amount that is larger than
    a whole limit or budget counts as all of it.
    """
    now: float = yield EXACT_NOW
    if claim is None:
        return (yield from _take_tokens(key_id, limits, tokens, now))
    levels = yield from budgets.lock(claim, now)
    lacking = budgets.exhausted(claim, levels)
    if lacking is not None:
        return replace((yield from _refused(key_id, now)), exhausted=lacking)
    state = yield from _take_tokens(key_id, limits, tokens, now)
    if state.is_granted:
        yield from budgets.spend(claim)
    return state


def _take_tokens(key_id: str, limits: KeyLimits, tokens: int, now: float) -> Operation[BucketState]:
    at = int(now * 1_000_000)
    today = day_of(now)
    tokens = limits.fit(tokens)
    most = NO_LIMIT if limits.tokens_per_day is None else limits.tokens_per_day
    row = yield from first(
        "take_tokens",
        key_id,
        at,
        _cost(1, limits.requests_per_minute),
        _cost(tokens, limits.tokens_per_minute),
        today,
        tokens,
        most,
    )
    return (yield from _refused(key_id, now)) if row is None else _level(True, row, at)


def _refused(key_id: str, now: float) -> Operation[BucketState]:
    at = int(now * 1_000_000)
    stands = yield from first("level", key_id, day_of(now))
    return _level(False, stands or (at, at, 0), at)


@writes("charge", is_of_all=True)
def charge(uses: Sequence[UsageRecord]) -> Operation[None]:
    """Record the usage, and settle the reservation."""
    now: float = yield EXACT_NOW
    yield from query_many("add_use", sorted(map(_used, uses)))
    yield from budgets.settle(uses)
    yield from query_many("settle", sorted(_settling(use, int(now * 1_000_000)) for use in uses))


@writes("charge_once", is_of_all=True)
def charge_once(writer: str, number: int, uses: Sequence[UsageRecord]) -> Operation[None]:
    """Record the usage as `charge` does, unless it was this writer's batch with this number or a
    later one that was recorded last: so a writer can repeat a batch if it does not know its fate.
    """
    now: int = yield NOW
    if (yield from query_rows("put_usage_batch", writer, number, now)):
        yield from charge(uses)


@reads("usage")
def usage(
    tenant: str | None,
    begin: int,
    end: int,
    by: Collection[UsageField] = ("key", "day"),
    most: int | None = None,
) -> Operation[list[UsageRow]]:
    """Return the summed usage of the days (UTC) that start from `begin` up to but excluding `end`,
    in order.

    Without a `tenant`, include all tenants. If there are more than `most` rows, return those with
    the most requests.
    """
    yield from announce_read(UNKNOWN_ITEMS)  # the number of rows to sum up is unknown
    apart = [int(field in by) for field in ("tenant", "key", "model", "day")]
    query, owner = ("usage_of_all", ()) if tenant is None else ("usage", (tenant,))
    return [
        UsageRow(*row)
        for row in (
            yield from query_rows(
                query, begin, end, *apart, NO_LIMIT if most is None else most, *owner
            )
        )
    ]


def _used(use: UsageRecord) -> tuple[str | int, ...]:
    counts = (use.requests, use.input_tokens, use.cached_tokens, use.output_tokens, use.cost)
    return (use.tenant, day_of(use.at), use.key_id, use.model, *counts)


def _settling(use: UsageRecord, now: int) -> tuple[str, int, int, int]:
    return use.key_id, use.input_tokens + use.output_tokens - use.taken, now, day_of(use.at)


def _cost(amount: int, per_minute: int | None) -> int:
    return 0 if per_minute is None else amount * MINUTE // per_minute


def _level(is_granted: bool, row: Row, now: int) -> BucketState:
    requests_until, tokens_until, tokens_today = row
    return BucketState(
        is_granted, _seconds(requests_until - now), _seconds(tokens_until - now), tokens_today
    )


def _seconds(microseconds: int) -> float:
    return max(0, microseconds) / 1_000_000


def _key(row: Row, shift: int) -> ApiKey:
    (
        key_id,
        tenant,
        name,
        digest,
        displayed,
        created_at,
        expires_at,
        revoked_at,
        old_digest,
        old_until,
        *rest,
    ) = row
    models, requests, tokens, tokens_a_day, concurrency, caches, *money = rest
    per_day, per_month, role, tenant_per_day, tenant_per_month = money
    return ApiKey(
        key_id,
        tenant,
        name,
        bytes(digest),
        displayed,
        created_at - shift,
        None if expires_at is None else expires_at - shift,
        None if revoked_at is None else revoked_at - shift,
        None if old_digest is None else bytes(old_digest),
        old_until and old_until - shift,
        KeyLimits(
            tuple(json.loads(models)),
            requests,
            tokens,
            tokens_a_day,
            concurrency,
            _budget(per_day, per_month),
        ),
        bool(caches),
        Role(role),
        _budget(tenant_per_day, tenant_per_month),
    )


def _budget(per_day: int | None, per_month: int | None) -> Budget | None:
    return None if per_day is None and per_month is None else Budget(per_day, per_month)
