"""Which reports of tokens mean that a backend has cut a prompt."""

from typing import Any

import pytest

from antiphon.translation.to_chat_completions.cut_prompts import is_cut, is_longer, message_of
from antiphon.translation.to_chat_completions.tokens import tokens_of

PROSE = "The quick brown fox jumps over the lazy dog near the river. "


def requested(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


TOOLS = [
    {"type": "function", "function": {"name": f"tool_{number}", "description": PROSE * 10}}
    for number in range(20)
]
CODEX = {
    "messages": [
        {"role": "system", "content": PROSE * 350},
        {"role": "user", "content": "Fix the test."},
    ],
    "tools": TOOLS,
}
"""As large as what Codex says first: about 9,000 tokens, of which the tools are nearly half."""


@pytest.mark.parametrize(
    ("body", "reported", "window"),
    [
        (CODEX, 4_096, None),
        (CODEX, 2_048, None),
        (CODEX, 4_096, 4_096),
        (CODEX, 300, None),  # all but the newest message is gone
        (requested(PROSE * 2_000), 4_000, None),
        (requested(PROSE * 2_000), 4_000, 8_192),
    ],
)
def test_a_prompt_that_was_cut_is_recognised(
    body: dict[str, Any], reported: int, window: int | None
) -> None:
    assert is_cut(body, reported, window)


@pytest.mark.parametrize(
    ("body", "reported", "window"),
    [
        (CODEX, 8_000, None),
        (CODEX, 5_100, None),  # a template that writes tools shorter
        (CODEX, 5_100, 32_768),
        (CODEX, 300, 32_768),  # it fits: the rest was in the cache
        (CODEX, 0, None),  # not reported
        (requested("Hello"), 1, None),
        (requested(PROSE * 100), 3, None),
        (requested("नमस्ते दुनिया " * 1_500), 5_000, None),
        (requested("今天天气很好我们去公园吧" * 800), 4_900, None),
        (requested(" " * 100_000 + "x"), 1_300, None),
        (requested("x", extra="y" * 90_000), 10, None),
        (
            {"messages": [{"role": "assistant", "content": "Yes.", "reasoning": PROSE * 2_000}]},
            20,
            None,
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:"}}] * 20,
                    }
                ]
            },
            1_500,
            None,
        ),
    ],
)
def test_no_other_report_is_an_alarm(
    body: dict[str, Any], reported: int, window: int | None
) -> None:
    assert not is_cut(body, reported, window)


@pytest.mark.parametrize(
    ("tokens", "is_certain"), [(3_000, True), (3_700, True), (3_800, False), (7_000, False)]
)
def test_the_lower_bound_is_half_of_the_estimate(tokens: int, is_certain: bool) -> None:
    body = requested(PROSE * 500)

    assert 7_400 < tokens_of(body) < 7_600
    assert is_longer(body, tokens) == is_certain


def test_a_run_of_one_character_counts_once() -> None:
    assert not is_longer(requested(" " * 100_000 + "=" * 100_000), 10)
    assert is_longer(requested(" =" * 100_000), 10)


def test_no_more_of_a_prompt_is_read_than_the_window_calls_for() -> None:
    words = "one two " * 2_000
    blanks = " " * 1_000_000
    assert is_longer({"messages": [{"content": words + blanks}]}, 1_000)
    assert not is_longer({"messages": [{"content": blanks + words}]}, 1_000)


def test_the_message_states_how_much_was_read_and_what_to_do() -> None:
    message = message_of("qwen3", 4_096, 12_000)

    assert "only 4,096 of about 12,000 tokens" in message
    assert "larger window" in message


@pytest.mark.parametrize(
    ("reported", "window", "was_cut"),
    [
        (4_096, 4_096, True),  # no room for an answer
        (4_095, 4_096, False),
        (4_100, 4_096, False),  # the window has grown since it was measured
        (4_096, None, True),
        (4_097, None, False),
        (5_120, None, True),
        (6_144, None, False),  # as likely a prompt that is that long
    ],
)
def test_exactly_a_window_is_what_a_cut_leaves(
    reported: int, window: int | None, was_cut: bool
) -> None:
    assert 7_700 < tokens_of(requested(PROSE * 520)) < 7_900
    assert is_cut(requested(PROSE * 520), reported, window) == was_cut
