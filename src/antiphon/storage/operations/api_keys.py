"""API keys, their limits, and what they used.

A minute's limit is one number: the time until which it is used up. A request moves it on by what it costs, 60 seconds
divided by the limit, and is granted where that leads no further than a minute from now. So the limit comes back evenly,
and one statement both looks and takes.
"""

import json
from collections.abc import Sequence

from antiphon.storage.operations.step import Operation, Row, ask, ask_many, first
from antiphon.storage.records import ApiKey, BucketState, DayOfUse, Limits, UsageRecord

MINUTE = 60_000_000
"""Microseconds."""

DAY = 86_400

NO_LIMIT = 2**62


def put(key: ApiKey) -> Operation[None]:
    """Keep a key."""
    limits = key.limits
    yield from ask(
        "put_api_key",
        key.id,
        key.tenant,
        key.name,
        key.digest,
        key.shown,
        key.created_at,
        key.expires_at,
        key.revoked_at,
        key.old_digest,
        key.old_until,
        json.dumps(list(limits.models)),
        limits.requests_per_minute,
        limits.tokens_per_minute,
        limits.tokens_per_day,
        limits.concurrency,
        int(key.caches),
    )


def find(digest: bytes, now: int) -> Operation[ApiKey | None]:
    """Get the key of a digest."""
    row = yield from first("find_api_key", digest, now)
    return _key(row) if row else None


def every() -> Operation[list[ApiKey]]:
    """Get all keys."""
    return [_key(row) for row in (yield from ask("api_keys"))]


def any_at_all() -> Operation[bool]:
    """Whether there is a key."""
    return bool((yield from ask("has_api_keys")))


def take(key_id: str, limits: Limits, tokens: int, now: float) -> Operation[BucketState]:
    """Take a request and its tokens out of the limits, or nothing."""
    at, today, tokens = int(now * 1_000_000), day_of(now), limits.fit(tokens)
    budget = NO_LIMIT if limits.tokens_per_day is None else limits.tokens_per_day
    row = yield from first(
        "take_tokens",
        key_id,
        at,
        _cost(1, limits.requests_per_minute),
        _cost(tokens, limits.tokens_per_minute),
        today,
        tokens,
        budget,
    )
    if row is not None:
        return _level(True, row, at)
    stands = yield from first("level", key_id, today)
    return _level(False, stands or (at, at, 0), at)


def charge(uses: Sequence[UsageRecord], now: float) -> Operation[None]:
    """Count what was used, and settle what was taken."""
    rows = [(use.tenant, day_of(use.at), use.key_id, use.requests, use.input_tokens, use.output_tokens) for use in uses]
    # In one order whoever writes: two that meet wait for each other only one way.
    yield from ask_many("add_use", sorted(rows))
    yield from ask_many("settle", sorted(_settling(use, int(now * 1_000_000)) for use in uses))


def usage(tenant: str, begin: int, end: int) -> Operation[list[DayOfUse]]:
    """Get what a tenant's keys used."""
    return [DayOfUse(*row) for row in (yield from ask("usage", tenant, begin, end))]


def day_of(at: float) -> int:
    """Return the first second of a day in UTC."""
    return int(at) // DAY * DAY


def _settling(use: UsageRecord, now: int) -> tuple[str, int, int, int]:
    return use.key_id, use.input_tokens + use.output_tokens - use.taken, now, day_of(use.at)


def _cost(amount: int, per_minute: int | None) -> int:
    return 0 if per_minute is None else amount * MINUTE // per_minute


def _level(is_granted: bool, row: Row, now: int) -> BucketState:
    requests_until, tokens_until, tokens_today = row
    return BucketState(is_granted, _seconds(requests_until - now), _seconds(tokens_until - now), tokens_today)


def _seconds(microseconds: int) -> float:
    return max(0, microseconds) / 1_000_000


def _key(row: Row) -> ApiKey:
    key_id, tenant, name, digest, shown, created_at, expires_at, revoked_at, old_digest, old_until, *rest = row
    models, *limits, caches = rest
    return ApiKey(
        key_id,
        tenant,
        name,
        bytes(digest),
        shown,
        created_at,
        expires_at,
        revoked_at,
        None if old_digest is None else bytes(old_digest),
        old_until,
        Limits(tuple(json.loads(models)), *limits),
        bool(caches),
    )
