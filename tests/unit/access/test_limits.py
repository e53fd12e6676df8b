"""What a key's limits say of one request: the headers of its reply, and the refusal with the
seconds to wait.
"""

import pytest

from antiphon.access.limits import (
    allows,
    check_model,
    counts_tokens,
    is_weighed,
    over_budget,
    rate_headers,
    refusal,
    too_many_at_once,
    too_many_responses,
)
from antiphon.errors import ClientError
from antiphon.storage.records.money import Budget, ExhaustedBudget
from antiphon.storage.records.tenants import BucketState, KeyLimits
from tests.store.making import new_key

NOON = 1_700_049_600
"""On 15 November 2023: 12 hours before midnight, 15 and a half days before the end of the month."""


def level(requests_in: float = 0.0, tokens_in: float = 0.0, today: int = 0) -> BucketState:
    return BucketState(False, requests_in, tokens_in, today)


@pytest.mark.parametrize(
    ("models", "model", "is_allowed"),
    [
        ((), "any", True),
        (("m",), "m", True),
        (("m",), "n", False),
        (("m",), "m:latest", True),
        (("m:latest",), "m", True),
        (("m:latest",), "m:8b", False),
        (("m", "n"), "n", True),
    ],
)
def test_a_key_allows_the_models_of_its_list_or_all(
    models: tuple[str, ...], model: str, is_allowed: bool
) -> None:
    key = new_key(limits=KeyLimits(models=models))

    assert allows(key.limits, model) is is_allowed
    check_model(None, model)
    if is_allowed:
        check_model(key, model)
    else:
        with pytest.raises(ClientError, match=model):
            check_model(key, model)


@pytest.mark.parametrize(
    ("limits", "counts", "weighs"),
    [
        (KeyLimits(), False, False),
        (KeyLimits(requests_per_minute=1), False, False),
        (KeyLimits(tokens_per_minute=1), True, True),
        (KeyLimits(tokens_per_day=1), True, True),
        (KeyLimits(budget=Budget(1)), False, True),
    ],
)
def test_tokens_matter_if_a_limit_or_a_budget_counts_them(
    limits: KeyLimits, counts: bool, weighs: bool
) -> None:
    assert counts_tokens(limits) is counts
    assert is_weighed(new_key(limits=limits)) is weighs
    assert is_weighed(new_key(limits=limits, tenant_budget=Budget(1)))


@pytest.mark.parametrize(
    ("limits", "state", "headers"),
    [
        (KeyLimits(), level(30, 30, 30), {}),
        (KeyLimits(requests_per_minute=10), level(0.0), {"requests": ("10", "10", "0s")}),
        (KeyLimits(requests_per_minute=10), level(30.0), {"requests": ("10", "5", "30s")}),
        (KeyLimits(requests_per_minute=10), level(0.02), {"requests": ("10", "9", "20ms")}),
        (KeyLimits(tokens_per_minute=600), level(0, 90.0), {"tokens": ("600", "0", "1m30s")}),
        (KeyLimits(tokens_per_day=500), level(today=200), {"tokens": ("500", "300", "12h0m0s")}),
        (KeyLimits(tokens_per_day=500), level(today=501), {"tokens": ("500", "0", "12h0m0s")}),
        (
            KeyLimits(tokens_per_minute=600, tokens_per_day=500),
            level(0, 1.0),
            {"tokens": ("600", "590", "1s")},
        ),
        (
            KeyLimits(requests_per_minute=10, tokens_per_minute=600),
            level(6.0, 360.0),
            {"requests": ("10", "9", "6s"), "tokens": ("600", "0", "6m0s")},
        ),
    ],
)
def test_the_headers_report_the_rest_of_each_limit_and_its_reset_time(
    limits: KeyLimits, state: BucketState, headers: dict[str, tuple[str, str, str]]
) -> None:
    assert rate_headers(limits, state, NOON) == {
        f"x-ratelimit-{name}-{kind}": value
        for kind, values in headers.items()
        for name, value in zip(("limit", "remaining", "reset"), values, strict=True)
    }


@pytest.mark.parametrize(
    ("limits", "state", "tokens", "kind", "wait", "words"),
    [
        (
            KeyLimits(requests_per_minute=10),
            level(60.0),
            0,
            "requests",
            "6",
            "10 requests per minute. Please try again in 6s",
        ),
        (KeyLimits(requests_per_minute=10), level(54.5), 0, "requests", "1", "again in 500ms"),
        (
            KeyLimits(tokens_per_minute=600),
            level(0, 50.0),
            200,
            "tokens",
            "10",
            "600 tokens per minute. Please try again in 10s",
        ),
        (KeyLimits(tokens_per_minute=600), level(0, 20.0), 9_000, "tokens", "20", "again in 20s"),
        (
            KeyLimits(requests_per_minute=10, tokens_per_minute=600),
            level(57.0, 60.0),
            100,
            "tokens",
            "10",
            "600 tokens",
        ),
        (
            KeyLimits(requests_per_minute=10, tokens_per_minute=600),
            level(60.0, 51.0),
            100,
            "requests",
            "6",
            "10 requests",
        ),
        (
            KeyLimits(requests_per_minute=2, tokens_per_day=500),
            level(59.0, 0, 400),
            100,
            "requests",
            "29",
            "2 requests",
        ),
    ],
)
def test_a_refusal_names_the_limit_that_takes_longest_and_its_wait(
    limits: KeyLimits, state: BucketState, tokens: int, kind: str, wait: str, words: str
) -> None:
    error = refusal(limits, state, tokens, NOON)

    assert (error.status, error.type, error.code) == (429, kind, "rate_limit_exceeded")
    assert error.headers == {"retry-after": wait}
    assert words in error.message


def quota(error: ClientError, wait: int, words: str) -> None:
    assert (error.status, error.type, error.code) == (
        429,
        "insufficient_quota",
        "insufficient_quota",
    )
    assert error.headers == {"retry-after": str(wait), "x-should-retry": "false"}
    assert words in error.message


def test_more_tokens_than_are_left_of_the_day_are_refused_until_midnight() -> None:
    limits = KeyLimits(requests_per_minute=2, tokens_per_day=500)

    quota(refusal(limits, level(60.0, 0, 401), 100, NOON), 43_200, "allows 500 tokens a day")
    quota(refusal(limits, level(60.0, 0, 1), 9_000, NOON), 43_200, "allows 500 tokens a day")


@pytest.mark.parametrize(
    ("lacking", "wait", "words"),
    [
        (
            ExhaustedBudget(False, "day", 2 * 10**9),
            43_200,
            "this API key may spend 2.00 USD a day. The budget is renewed at",
        ),
        (
            ExhaustedBudget(True, "month", 10**9),
            15 * 86_400 + 43_200,
            "your organization may spend 1.00 USD a month. The budget is renewed on the first",
        ),
    ],
)
def test_what_a_budget_has_no_room_for_is_refused_until_it_is_renewed(
    lacking: ExhaustedBudget, wait: int, words: str
) -> None:
    quota(over_budget(lacking, "USD", NOON), wait, words)


def test_too_many_requests_at_once_may_try_again_in_a_second() -> None:
    error = too_many_at_once(3)

    assert (error.status, error.headers) == (429, {"retry-after": "1"})
    assert "allows 3 requests at once" in error.message


@pytest.mark.parametrize(("wait", "reported"), [(0.0, "1"), (2.1, "3"), (500.0, "30")])
def test_a_full_queue_sends_a_retry_after_within_half_a_minute(wait: float, reported: str) -> None:
    error = too_many_responses(wait)

    assert (error.status, error.headers) == (503, {"retry-after": reported})
