"""Completions that follow a parameter, and some that ignore it."""

from antiphon_verify.replies import Reply, chunks, states
from antiphon_verify.replies.completions import COMPLETION, ROLE, chunk

GOOD = states(COMPLETION)

WHOLE = "alpha beta gamma delta epsilon"

STOPPED = "alpha beta "


def with_text(text: str) -> Reply:
    """Return a completion with this text."""
    return GOOD.patched("choices", 0, "message", "content", to=text)


def streaming(text: str, finish_reason: str = "stop") -> Reply:
    """Return a stream with this text."""
    return chunks(ROLE, chunk({"content": text}), chunk({}, finish_reason))


CUT = (
    with_text("one two three four five six seven eight")
    .patched("choices", 0, "finish_reason", to="length")
    .patched("usage", "completion_tokens", to=8)
)

UNCUT = CUT.patched("usage", "completion_tokens", to=200)

OTHER = {"token": "Hi", "logprob": -2.0}

TOKENS = {
    "content": [{"token": "Hello.", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": [OTHER]}]
}

LOGPROBS = GOOD.patched("choices", 0, "logprobs", to=TOKENS)

TWO = GOOD.patched(
    "choices", to=[COMPLETION["choices"][0], COMPLETION["choices"][0] | {"index": 1}]
)
