"""Applies a key's limits to one request: whether it is admitted, and which headers its reply has.

The numbers are the store's `BucketState`; the headers are those of specification section 14, the
errors of section 13.
"""

import math
from collections.abc import Callable, Mapping

from antiphon.access.spending import Weight
from antiphon.errors import ClientError
from antiphon.storage.records.money import ExhaustedBudget, next_month
from antiphon.storage.records.tenants import ApiKey, BucketState, KeyLimits
from antiphon.upstream.permitted import is_among
from antiphon.upstream.prices import decimal
from antiphon.upstream.registry import model_not_found

MINUTE = 60.0
DAY = 86_400

LONGEST_WAIT = 30
"""The longest time in seconds before a client retries: it does not know how long the queue is."""

Headers = Mapping[str, str]

Weigh = Callable[[], Weight]
"""Returns the tokens that a request is expected to use."""


def check_model(key: ApiKey | None, model: str) -> None:
    """Raise `ClientError` (400), as for an unknown model, if the key does not allow the model."""
    if key is not None and not allows(key.limits, model):
        raise model_not_found(model, key.limits.models)


def allows(limits: KeyLimits, model: str) -> bool:
    """Whether the model is allowed."""
    return is_among(model, limits.models)


def counts_tokens(limits: KeyLimits) -> bool:
    """Whether a request's tokens matter before it begins."""
    return limits.tokens_per_minute is not None or limits.tokens_per_day is not None


def has_budget(key: ApiKey) -> bool:
    """Whether the cost of a request is reserved before it begins."""
    return key.limits.budget is not None or key.tenant_budget is not None


def is_weighed(key: ApiKey) -> bool:
    """Whether a request's tokens matter before it begins."""
    return counts_tokens(key.limits) or has_budget(key)


def rate_headers(limits: KeyLimits, level: BucketState, now: float) -> dict[str, str]:
    """Return `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` for the limits of the key."""
    headers: dict[str, str] = {}
    if (most := limits.requests_per_minute) is not None:
        headers |= _headers("requests", most, _left(most, level.requests_in), level.requests_in)
    if (most := limits.tokens_per_minute) is not None:
        headers |= _headers("tokens", most, _left(most, level.tokens_in), level.tokens_in)
    elif (most := limits.tokens_per_day) is not None:
        headers |= _headers("tokens", most, max(0, most - level.tokens_today), _to_midnight(now))
    return headers


def refusal(limits: KeyLimits, level: BucketState, tokens: int, now: float) -> ClientError:
    """Return the error for a request above the limits: 429, with the seconds to wait."""
    tokens = limits.fit(tokens)
    if limits.tokens_per_day is not None and level.tokens_today + tokens > limits.tokens_per_day:
        return _over_quota(limits.tokens_per_day, now)
    waits = {
        "requests": _wait(level.requests_in, 1, limits.requests_per_minute),
        "tokens": _wait(level.tokens_in, tokens, limits.tokens_per_minute),
    }
    kind = max(waits, key=lambda one: waits[one])
    most = limits.requests_per_minute if kind == "requests" else limits.tokens_per_minute
    text = f"Rate limit reached: this API key allows {most} {kind} per minute."
    return _rate(kind, f"{text} Please try again in {_duration(waits[kind])}.", waits[kind])


def over_budget(lacking: ExhaustedBudget, currency: str, now: float) -> ClientError:
    """Return the error for a request above a budget: 429, with the seconds until the budget is
    renewed.
    """
    spender = "your organization" if lacking.is_shared else "this API key"
    if lacking.period == "day":
        wait = _to_midnight(now)
        renewed = "at midnight, UTC"
    else:
        wait = next_month(now) - now
        renewed = "on the first of the month, UTC"
    amount = f"{decimal(lacking.limit)} {currency}"
    return _quota(
        f"{spender} may spend {amount} a {lacking.period}. The budget is renewed {renewed}.", wait
    )


def too_many_at_once(most: int) -> ClientError:
    """Return the error for a request above the key's limit of concurrent requests."""
    return _rate(
        "requests",
        f"This API key allows {most} requests at once. Please try again when one has ended.",
        1.0,
    )


def too_many_responses(wait: float) -> ClientError:
    """Return the error for a request when the queue is full; in `wait` seconds a place may be
    free.
    """
    headers = {"retry-after": str(min(max(1, math.ceil(wait)), LONGEST_WAIT))}
    return ClientError.overloaded(
        "Too many requests are waiting for this server. Please try again later.", headers
    )


def _over_quota(most: int, now: float) -> ClientError:
    wait = _to_midnight(now)
    return _quota(f"this API key allows {most} tokens a day. It is renewed at midnight, UTC.", wait)


def _quota(reason: str, wait: float) -> ClientError:
    text = f"You exceeded your current quota: {reason}"
    headers = {"retry-after": str(math.ceil(wait)), "x-should-retry": "false"}
    return ClientError(
        text, status=429, type="insufficient_quota", code="insufficient_quota", headers=headers
    )


def _rate(kind: str, text: str, wait: float) -> ClientError:
    headers = {"retry-after": str(max(1, math.ceil(wait)))}
    return ClientError(text, status=429, type=kind, code="rate_limit_exceeded", headers=headers)


def _wait(full_in: float, amount: int, most: int | None) -> float:
    """Return the seconds until so much is available again."""
    return 0.0 if most is None else max(0.0, full_in + amount * MINUTE / most - MINUTE)


def _left(most: int, full_in: float) -> int:
    return max(0, math.floor(most * (MINUTE - full_in) / MINUTE))


def _headers(kind: str, most: int, left: int, reset: float) -> dict[str, str]:
    values = {"limit": str(most), "remaining": str(left), "reset": _duration(reset)}
    return {f"x-ratelimit-{name}-{kind}": value for name, value in values.items()}


def _to_midnight(now: float) -> float:
    return DAY - now % DAY


def _duration(seconds: float) -> str:
    """Return a time as OpenAI writes it: `20ms`, `1s`, `6m0s`, `1h0m0s`."""
    if 0 < seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{rest}s"
