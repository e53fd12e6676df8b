import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.retry_policy import (
    ERROR_REST,
    KEY_REST,
    LONGEST_REST,
    QUOTA_REST,
    RATE_REST,
    Failure,
    RetryBudget,
    Verdict,
    verdict,
)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(0), Verdict(moves=True, counts=True, is_gone=True)),
        (Failure(0, is_broken=True), Verdict(moves=True, counts=True)),
        (Failure(500), Verdict(moves=True, costs=True, counts=True)),
        (Failure(503, wait=7), Verdict(moves=True, costs=True, counts=True, rest=7)),
        (Failure(503, wait=86_400), Verdict(moves=True, costs=True, counts=True, rest=ERROR_REST)),
        (Failure(529), Verdict(moves=True, costs=True, counts=True)),
        (Failure(429), Verdict(moves=True, rest=RATE_REST)),
        (Failure(429, wait=300), Verdict(moves=True, rest=300)),
        (Failure(429, wait=1e9), Verdict(moves=True, rest=LONGEST_REST)),
        (Failure(429, "insufficient_quota", wait=1), Verdict(moves=True, rest=QUOTA_REST, rests_whole=True)),
        (Failure(402, "insufficient_quota"), Verdict(moves=True, rest=QUOTA_REST, rests_whole=True)),
        (Failure(402), Verdict(moves=True)),
        (Failure(401), Verdict(moves=True, rest=KEY_REST, rests_whole=True)),
        (Failure(403), Verdict(moves=True)),
        (Failure(403, "model_not_found"), Verdict(moves=True)),
        (Failure(401, "model_not_found"), Verdict(moves=True)),
        (Failure(404, "model_not_found"), Verdict(moves=True)),
        (Failure(400), Verdict()),
        (Failure(413), Verdict()),
        (Failure(400, "context_length_exceeded"), Verdict()),
    ],
)
def test_what_follows_from_a_failure(failure: Failure, expected: Verdict) -> None:
    assert verdict(failure) == expected


@given(st.integers(0, 599), st.none() | st.floats(0, 1e12))
def test_nobody_rests_for_longer_than_an_hour_and_only_servers_are_taken_out(status: int, wait: float | None) -> None:
    found = verdict(Failure(status, wait=wait))

    assert 0 <= found.rest <= LONGEST_REST
    assert not found.counts or status == 0 or status >= 500


def test_the_first_failures_may_all_be_retried() -> None:
    budget = RetryBudget(reserve=3)

    assert [budget.spend() for _ in range(4)] == [True, True, True, False]


def test_under_a_full_outage_one_request_in_ten_is_retried() -> None:
    budget, retries = RetryBudget(), 0
    for _ in range(10_000):
        budget.earn()
        retries += budget.spend()

    assert 1000 <= retries <= 1011


def test_quiet_times_save_up_no_storm() -> None:
    budget = RetryBudget(reserve=10)
    for _ in range(10_000):
        budget.earn()

    assert sum(budget.spend() for _ in range(100)) == 10
