"""The window is found by prompts of known size, whatever the backend does with one that is too
long.
"""

from collections.abc import Callable

import pytest

from antiphon.upstream.probing.answers import ProbeAnswer
from antiphon.upstream.probing.window import CODEWORD, MOST_STEPS, measure

Reply = Callable[[int], ProbeAnswer]


def replied(text: str, tokens: int) -> ProbeAnswer:
    body = {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens},
    }
    return ProbeAnswer(200, body)


def run(stated: int | None, reply: Reply) -> tuple[int | None, int]:
    """The window that is found, and how many prompts were sent."""
    steps = measure(stated)
    count = 0
    body = next(steps)
    while True:
        count += 1
        try:
            body = steps.send(reply(len(body["messages"][0]["content"]) // 4))
        except StopIteration as end:
            return end.value, count


def cuts(window: int) -> Reply:
    """A backend that cuts the beginning of a prompt, and reports the tokens that are left."""
    return lambda tokens: replied(CODEWORD if tokens <= window else "?", min(tokens, window))


def rejects(window: int, status: int = 400) -> Reply:
    """A backend that rejects a prompt that is too long."""
    return lambda tokens: replied(CODEWORD, tokens) if tokens <= window else ProbeAnswer(status)


@pytest.mark.parametrize("window", [2048, 4096, 5000, 8192, 30_000])
@pytest.mark.parametrize("stated", [None, 32_768, 131_072])
@pytest.mark.parametrize("backend", [cuts, rejects])
def test_a_window_is_found_and_never_exceeded(
    window: int, stated: int | None, backend: Callable[[int], Reply]
) -> None:
    found, count = run(stated, backend(window))

    assert found is not None
    assert 0.8 * window <= found <= window
    assert count <= 1 + MOST_STEPS


def test_a_stated_window_that_holds_is_returned_as_it_is() -> None:
    assert run(40_960, cuts(40_960)) == (40_960, 2)


@pytest.mark.parametrize(
    "first",
    [ProbeAnswer(500), replied("I do not know.", 800), replied(CODEWORD, 0)],
    ids=["failed", "forgot", "uncounted"],
)
def test_a_model_that_fails_the_short_prompt_cannot_be_measured(first: ProbeAnswer) -> None:
    assert run(8192, lambda tokens: first) == (None, 1)


def test_a_failure_for_another_reason_ends_the_measure_with_what_passed() -> None:
    answers = iter(
        [replied(CODEWORD, 800), ProbeAnswer(400), replied(CODEWORD, 7_900), ProbeAnswer(0)]
    )

    assert run(16_384, lambda tokens: next(answers)) == (7_900, 4)


def test_a_model_that_repeats_the_word_without_the_whole_prompt_does_not_pass() -> None:
    found, _ = run(16_384, lambda tokens: replied(CODEWORD, min(tokens, 4_096)))

    assert found is not None
    assert found <= 4_096
