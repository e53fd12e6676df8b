"""The messages are those of the providers, as the threads quote them that `rate_limits.py`
names.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.rate_limits import is_about_request, never_fits

OPENAI = (
    "Request too large for gpt-4o in organization org-2itO on tokens per min (TPM): Limit 30000, "
    "Requested 36278. The input or output tokens must be reduced in order to run successfully."
)
GROQ = (
    "Request too large for model `llama-3.3-70b-versatile` in organization `org_01` "
    "service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, "
    "please reduce your message size and try again."
)
REACHED = (
    "Rate limit reached for model `m` in organization `o` on tokens per {}: "
    "Limit {}, Used {}, Requested {}."
)

NEVER = [
    OPENAI,
    GROQ,
    f"litellm.RateLimitError: OpenAIException - {OPENAI}",
    "Rate limit reached on tokens per min. Limit: 6,000, Requested: 6,294.",
    REACHED.format("minute (TPM)", 6000, 5034, 6001),
]
NOT_NOW = [
    REACHED.format("minute (TPM)", 6000, 5034, 1443) + " Please try again in 4.77s.",
    "The system is currently experiencing high demand and cannot process your request. "
    "Your request exceeds the maximum usage size allowed during peak load. "
    "Please retry after 20 seconds.",
]
OF_THE_KEY = [
    REACHED.format("day (TPD)", 100_000, 99_769, 872) + " Please try again in 4h36m54.72s.",
    "Rate limit reached for gpt-4 on requests per min (RPM): Limit 3, Used 3, Requested 1. Please "
    "try again in 20s.",
    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version "
    "2024-05-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. "
    "Please retry after 86400 seconds.",
    "This request would exceed the rate limit for your organization of 20,000 input tokens per "
    "minute. Please reduce the prompt length or the maximum tokens requested, or try again later.",
    "Tokens per minute limit exceeded - too many tokens processed.",
    "Rate limit reached for gpt-3.5-turbo on tokens per min. Limit: 10000.000000 / min. Current: "
    "10020.000000 / min.",
    "",
]


@pytest.mark.parametrize("message", NEVER)
def test_a_request_that_alone_exceeds_the_limit_never_fits(message: str) -> None:
    assert never_fits(message)
    assert is_about_request(message)


@pytest.mark.parametrize("message", NOT_NOW)
def test_a_request_beyond_the_remaining_quota_does_not_affect_smaller_ones(message: str) -> None:
    assert not never_fits(message)
    assert is_about_request(message)


@pytest.mark.parametrize("message", OF_THE_KEY)
def test_a_limit_of_which_next_to_nothing_is_left_is_about_the_key(message: str) -> None:
    assert not is_about_request(message)


@pytest.mark.parametrize(("requested", "expected"), [(5999, False), (6000, False), (6001, True)])
def test_a_request_of_exactly_the_limit_fits(requested: int, expected: bool) -> None:
    assert never_fits(f"Limit 6000, Requested {requested}") is expected


@pytest.mark.wide
@given(st.text())
def test_any_answer_of_a_backend_is_parsed(message: str) -> None:
    assert never_fits(message) <= is_about_request(message)
