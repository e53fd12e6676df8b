"""Limits have the names of the Messages API, and reset at a time."""

from antiphon.protocol.messages.limits import limit_headers


def test_limits_are_renamed_and_a_duration_becomes_a_time() -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-tokens": "5",
        "x-ratelimit-reset-tokens": "1h2m3s",
        "x-ratelimit-reset-requests": "20ms",
        "retry-after": "1",
    }

    assert dict(limit_headers(headers, 0)) == {
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-tokens-remaining": "5",
        "anthropic-ratelimit-tokens-reset": "1970-01-01T01:02:03Z",
        "anthropic-ratelimit-requests-reset": "1970-01-01T00:00:01Z",
    }
