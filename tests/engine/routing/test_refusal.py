import pytest

from antiphon.engine.routing.refusal import resting
from antiphon.errors import BackendError, ClientError

SLOWER = "m: 3 of 3 used. Please try again in 20s."
LIMIT = ClientError(SLOWER, status=429, type="requests", code="rate_limit_exceeded")
QUOTA = ClientError("You exceeded …", status=429, type="insufficient_quota", code="insufficient_quota")


@pytest.mark.parametrize(
    ("rest", "headers"),
    [(0.2, {"retry-after": "1"}), (11.2, {"retry-after": "12"}), (300, {"x-should-retry": "false"})],
)
def test_who_was_not_asked_is_told_what_is_left_of_the_wait(rest: float, headers: dict[str, str]) -> None:
    error = resting(LIMIT, rest)

    assert (error.status, error.code, error.headers) == (429, "rate_limit_exceeded", headers)
    assert "20s" not in error.message
    assert "Please try again in " in error.message


def test_the_reason_stays() -> None:
    quota, key = resting(QUOTA, 600), resting(BackendError("It refused this server's credentials."), 60)

    assert (quota.body(), quota.status) == (QUOTA.body(), 429)
    assert (key.status, type(key), key.message) == (502, BackendError, "It refused this server's credentials.")
