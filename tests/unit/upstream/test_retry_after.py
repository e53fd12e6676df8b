from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError, ClientError
from antiphon.upstream.retry_after import paused, wait_of

NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("7", 7),
        (" 0.25 ", 0.25),
        ("300", 300),
        ("0", 0),
        ("1m30s", 90),
        ("20ms", 0.02),
        ("2 minutes", 120),
        ("Sat, 21 Nov 2026 09:00:09 GMT", 9),
        ("Saturday, 21-Nov-26 09:00:09 GMT", 9),
        ("Sat, 21 Nov 2026 08:00:00 GMT", 0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("soon", None),
        ("in 5s, or not", None),
    ],
)
def test_retry_after_is_read_in_every_spelling(reported: str, expected: float | None) -> None:
    assert wait_of({"retry-after": reported}, now=NOW) == expected


def test_milliseconds_go_before_seconds_where_they_are_readable() -> None:
    assert wait_of({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert wait_of({"retry-after-ms": "-1", "retry-after": "9"}) == 9


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Rate limit reached for m. Please try again in 1.5s. Visit …", 1.5),
        ("Please try again in 200ms.", 0.2),
        ("Please try again in 20 milliseconds.", 0.02),
        ("Please try again in 6m0s.", 360),
        ("please Retry after 20 seconds", 20),
        ("Please retry in 1 hour 30 minutes", 5400),
        ("Please try again later.", None),
        ("You have used 5s of your time.", None),
    ],
)
def test_the_error_message_may_state_the_wait_if_no_header_does(
    message: str, expected: float | None
) -> None:
    assert wait_of({}, message) == expected
    assert wait_of({"retry-after": "3"}, message) == 3


@given(st.text(), st.text())
def test_a_wait_is_absent_or_finite_whatever_a_backend_sends(header: str, message: str) -> None:
    for wait in (
        wait_of({"retry-after": header}, message),
        wait_of({"retry-after-ms": header}, f"try again in {message}"),
    ):
        assert wait is None or 0 <= wait < float("inf")


SLOWER = "m: 3 of 3 used. Please try again in 20s."
LIMIT = ClientError(SLOWER, status=429, type="requests", code="rate_limit_exceeded")
QUOTA = ClientError(
    "You exceeded …", status=429, type="insufficient_quota", code="insufficient_quota"
)


@pytest.mark.parametrize(
    ("rest", "headers"),
    [
        (0.2, {"retry-after": "1"}),
        (11.2, {"retry-after": "12"}),
        (300, {"x-should-retry": "false"}),
    ],
)
def test_an_uncalled_backend_reports_the_rest_of_its_wait(
    rest: float, headers: dict[str, str]
) -> None:
    error = paused(LIMIT, rest)

    assert (error.status, error.code, error.headers) == (429, "rate_limit_exceeded", headers)
    assert "20s" not in error.message
    assert "Please try again in " in error.message


def test_the_reason_stays() -> None:
    quota = paused(QUOTA, 600)
    key = paused(BackendError("It refused this server's credentials."), 60)

    assert (quota.body(), quota.status) == (QUOTA.body(), 429)
    assert (key.status, type(key), key.message) == (
        502,
        BackendError,
        "It refused this server's credentials.",
    )
