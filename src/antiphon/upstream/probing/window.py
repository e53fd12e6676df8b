"""Measures how many tokens of a prompt reach the model: some backends truncate a prompt silently.

The prompt begins with a word that the model must repeat, then has filler. The word is returned, and
the reported tokens grow with the filler, only while nothing is truncated. Each step tries half of
the length that failed, or the middle between the lengths that passed and failed.
"""

from collections.abc import Generator
from typing import Any

from antiphon.upstream.probing.answers import ProbeAnswer

Body = dict[str, Any]

CODEWORD = "COBALT"
FILLER = "The sea is blue and calm today. "
"""Repeated; 8 tokens in most vocabularies."""

MOST_STEPS = 8
"""Prompts that are sent in addition to the first, short one."""

LARGEST = 131_072
"""Tokens that are tried if the backend reports no window."""

SMALLEST = 1_024
CLOSE = 0.1
"""Fraction of the window at which the measurement is precise enough."""

MARGIN = 0.95
"""Fraction of a window that is filled: the template and the answer need the rest."""

ANSWER = 16
"""Token limit of an answer."""


def prompt(repetitions: int) -> Body:
    """Return a request with a prompt of this much filler."""
    text = (
        f"Remember this word: {CODEWORD}.\n\n{FILLER * repetitions}\n\nWhich word were you to "
        "remember? Answer with it."
    )
    return {"messages": [{"role": "user", "content": text}]}


def measure(stated: int | None) -> Generator[Body, ProbeAnswer, int | None]:
    """Yield requests, receive their answers, and return the window in tokens; None if it cannot be
    measured.

    `stated` is the window that the backend reports; a prompt is never larger than that. A smaller
    window is returned as the tokens of the longest prompt that arrived, so it is never too large.
    """
    calibrated = yield prompt(100)
    if (
        not calibrated.is_good
        or not calibrated.prompt_tokens
        or CODEWORD not in calibrated.stated.upper()
    ):
        return None
    each = calibrated.prompt_tokens / 100
    fits = passed = failed = 0
    size = largest = stated or LARGEST
    for _ in range(MOST_STEPS):
        answer = yield prompt(max(1, int(size * MARGIN / each)))
        if arrived(answer, size * MARGIN):
            passed = size
            fits = answer.prompt_tokens
        elif answer.status == 200 or answer.is_refusal or answer.status == 413:
            failed = size
        else:
            break  # it failed for another reason
        if passed == largest:
            return largest
        size = (passed + failed) // 2
        if failed - passed <= CLOSE * failed or size < SMALLEST:
            break
    return fits or None


def arrived(answer: ProbeAnswer, tokens: float) -> bool:
    """Whether a prompt of about this many tokens reached the model complete."""
    return (
        answer.is_good
        and CODEWORD in answer.stated.upper()
        and answer.prompt_tokens >= (1 - CLOSE) * tokens
    )
