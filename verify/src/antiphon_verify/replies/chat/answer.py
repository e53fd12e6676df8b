"""Non-streamed completions."""

from antiphon_verify.replies import Reply, chunks, error, states
from antiphon_verify.replies.completions import CHUNKS, COMPLETION

GOOD = states(COMPLETION)

CHOICE = ("choices", 0)


def with_text(text: str) -> Reply:
    """Return a completion with this text."""
    return GOOD.patched(*CHOICE, "message", "content", to=text)


PARIS = with_text("Paris.")

REJECTED = error("Invalid value.")

STREAM = chunks(*CHUNKS)
