"""The most tokens that an answer can have: as backends list it, or state it in a refusal."""

from typing import Any

import pytest

from antiphon.translation.dialects.output_limits import (
    OUTPUT_LESSON,
    learned_limit,
    listed_limit,
    stated_limit,
    stated_window,
)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        # OpenAI, Groq, DeepSeek, Anthropic, Mistral, vLLM-like
        (
            "max_tokens is too large: 128000. This model supports at most 16384 completion tokens, "
            "whereas you provided 128000.",
            16384,
        ),
        (
            "`max_tokens` must be less than or equal to `16384`, the maximum value for "
            "`max_tokens` is less than the `context_window` for this model",
            16384,
        ),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        (
            "max_tokens: 128000 > 64,000, which is the maximum allowed number of output tokens for "
            "claude-3-2024",
            64000,
        ),
        ("max_new_tokens must be <= 4096.", 4096),
        ("max_tokens must be at least 1", None),
        ("max_tokens is too large: 128000.", None),
        ("The prompt has 5000 words, and at most 4000 are allowed.", None),
        ("Unknown parameter max_tokens of gpt-4096.", None),
        ("max_tokens above 8192 is not supported.", 8192),
        ("max_tokens is not allowed to be greater than 8192.", 8192),
        ("Error code: 400 - max_tokens must be at most 8192", 8192),
        ("http://gpu:8000/v1 says: max_tokens:8192 is the most", 8192),
        (f"max_tokens must be at most {'9' * 5000}, and here 8192", 8192),
        # A status, the parameter itself, an address, a number that was cut, a version and a date.
        ("Error code: 400 - Unsupported parameter: 'max_tokens'", None),
        ("max_tokens is not supported with this model (4096 others are).", None),
        ("max_tokens: Extra inputs are not permitted, of 4096 that are known", None),
        ("HTTP 422: max_tokens is invalid", None),
        ("HTTP/1.1 400 Bad Request: max_tokens is invalid", None),
        ("max_tokens is invalid, says http://gpu:8000/v1", None),
        ("max_tokens is invalid, says gpu:8000", None),
        ("max_tokens is invalid, says 127.0.0.1:8000/v1", None),
        ("max_tokens is invalid (vLLM 20.17, 2024/11/30 12:45:59)", None),
        ("max_tokens must be less than or equal to 81…", None),
        ("max_tokens must be less than or equ…92, it says", None),
    ],
)
def test_the_limit_is_the_highest_number_below_the_one_that_was_sent(
    text: str, limit: int | None
) -> None:
    assert stated_limit(text, 128_000) == limit


@pytest.mark.parametrize(
    ("listed", "limit"),
    [
        ({"max_output_tokens": 8192, "max_tokens": 5000}, 8192),
        ({"max_completion_tokens": 8192}, 8192),
        ({"max_tokens": 64_000}, 64_000),
        ({"top_provider": {"max_completion_tokens": 4096}}, 4096),
        ({"top_provider": {"max_completion_tokens": None}}, None),
        ({"top_provider": None, "max_tokens": True}, None),
        ({"max_tokens": "many"}, None),
        ({}, None),
    ],
)
def test_a_list_of_models_can_have_the_limit(listed: dict[str, Any], limit: int | None) -> None:
    assert listed_limit(listed) == limit


LONG = (
    "This model's maximum context length is 32,768 tokens. However, you requested {all} tokens "
    "({prompt} in the messages, {cap} in the completion)."
)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (LONG.format(all=130_000, prompt=2000, cap=128_000), 32_768),
        (LONG.format(all=168_000, prompt=40_000, cap=128_000), None),
        ("the request exceeds the available context size (4096 tokens)", 4096),
        ("the prompt of 900 tokens exceeds the context window of 512 tokens", None),
        ("the context size is 12…", None),
        ("no context size is known of http://gpu:8000/v1", None),
        (f"the context size is {'9' * 5000}", None),
        ("Too many tokens.", None),
    ],
)
def test_a_window_counts_if_only_the_output_does_not_fit_it(text: str, window: int | None) -> None:
    assert stated_window(text, 128_000, 1000) == window


def test_the_lowest_limit_that_was_learned_counts() -> None:
    assert learned_limit({"tools", f"{OUTPUT_LESSON}9000", f"{OUTPUT_LESSON}800"}) == 800
    assert learned_limit({"tools"}) is None
