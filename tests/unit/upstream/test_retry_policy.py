from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError, ClientError
from antiphon.upstream.retry_policy import (
    LONGEST_DELAY,
    LONGEST_PAUSE,
    QUOTA_WAIT,
    Failure,
    FailureVerdict,
    RetryBudget,
    rejected,
    verdict,
)

QUOTA = FailureVerdict(moves=True, pause=LONGEST_PAUSE, wait=QUOTA_WAIT, pauses_whole=True)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(0), FailureVerdict(moves=True, counts=True, is_unavailable=True)),
        (Failure(0, is_broken=True), FailureVerdict(moves=True, counts=True)),
        (Failure(500), FailureVerdict(moves=True, costs=True, counts=True)),
        (
            Failure(503, wait=7),
            FailureVerdict(moves=True, costs=True, counts=True, pause=7, wait=7),
        ),
        (
            Failure(503, wait=86_400),
            FailureVerdict(
                moves=True, costs=True, counts=True, pause=LONGEST_PAUSE, wait=LONGEST_PAUSE
            ),
        ),
        (Failure(529), FailureVerdict(moves=True, costs=True, counts=True)),
        (Failure(429), FailureVerdict(moves=True)),
        (Failure(429, wait=7), FailureVerdict(moves=True, pause=7, wait=7)),
        (Failure(429, wait=300), FailureVerdict(moves=True, pause=LONGEST_PAUSE, wait=300)),
        (
            Failure(429, wait=1e9),
            FailureVerdict(moves=True, pause=LONGEST_PAUSE, wait=LONGEST_DELAY),
        ),
        (Failure(502, "rate_limit_exceeded", wait=7), FailureVerdict(moves=True, pause=7, wait=7)),
        (Failure(429, wait=600, is_about_request=True), FailureVerdict(moves=True)),
        (Failure(413, is_about_request=True), FailureVerdict(moves=True)),
        (Failure(502, "rate_limit_exceeded", is_about_request=True), FailureVerdict(moves=True)),
        (Failure(500, "unsupported_value", is_about_request=True), FailureVerdict(moves=True)),
        (Failure(429, "insufficient_quota", wait=1), QUOTA),
        (Failure(402, "insufficient_quota"), replace(QUOTA, pauses_whole=False)),
        (Failure(402), FailureVerdict(moves=True)),
        (Failure(401), FailureVerdict(moves=True, counts=True, ejects=True)),
        (Failure(403), FailureVerdict(moves=True)),
        (Failure(403, "model_not_found"), FailureVerdict(moves=True)),
        (Failure(401, "model_not_found"), FailureVerdict(moves=True)),
        (Failure(404, "model_not_found"), FailureVerdict(moves=True)),
        (Failure(400), FailureVerdict()),
        (Failure(413), FailureVerdict()),
        (Failure(400, "context_length_exceeded"), FailureVerdict()),
    ],
)
def test_what_follows_from_a_failure(failure: Failure, expected: FailureVerdict) -> None:
    assert verdict(failure) == expected


@pytest.mark.parametrize("code", ["context_length_exceeded", "content_filter", "invalid_prompt"])
def test_a_request_that_causes_an_error_in_a_stream_takes_no_backend_from_others(code: str) -> None:
    assert verdict(rejected(502, {}, BackendError("No.", code=code))) == FailureVerdict(moves=True)


@given(st.integers(0, 599), st.none() | st.floats(0, 1e12))
def test_no_pause_is_longer_than_half_a_minute_and_only_servers_and_refused_keys_are_taken_out(
    status: int, wait: float | None
) -> None:
    found = verdict(Failure(status, wait=wait))

    assert 0 <= found.pause <= found.wait <= LONGEST_DELAY
    assert found.pause <= LONGEST_PAUSE
    assert not found.counts or status in {0, 401} or status >= 500


TOO_LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 36278."


@pytest.mark.parametrize(
    ("status", "error", "is_about_request"),
    [
        (429, ClientError(TOO_LARGE, code="rate_limit_exceeded"), True),
        (413, ClientError(TOO_LARGE, code="rate_limit_exceeded"), True),
        (502, BackendError(TOO_LARGE, code="rate_limit_exceeded"), True),
        (400, ClientError(TOO_LARGE), False),
        (429, ClientError("Slow down.", code="rate_limit_exceeded"), False),
        (500, ClientError("This model does not accept images.", code="unsupported_value"), True),
        (500, ClientError("Too long.", code="context_length_exceeded"), True),
        (500, BackendError("It crashed."), False),
    ],
)
def test_a_rejection_may_be_about_the_request(
    status: int, error: ClientError | BackendError, is_about_request: bool
) -> None:
    failure = rejected(status, {"retry-after": "600"}, error)

    assert failure == Failure(status, error.code, 600.0, is_about_request=is_about_request)


def test_the_first_failures_may_all_be_retried() -> None:
    budget = RetryBudget(reserve=3)

    assert [budget.spend() for _ in range(4)] == [True, True, True, False]


def test_under_a_full_outage_one_request_in_ten_is_retried() -> None:
    budget = RetryBudget()
    retries = 0
    for _ in range(10_000):
        budget.earn()
        retries += budget.spend()

    assert 1000 <= retries <= 1011


def test_quiet_times_save_up_no_storm() -> None:
    budget = RetryBudget(reserve=10)
    for _ in range(10_000):
        budget.earn()

    assert sum(budget.spend() for _ in range(100)) == 10
