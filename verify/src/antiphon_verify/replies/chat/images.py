"""Images."""

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.completions import COMPLETION

GOOD = states(COMPLETION)

REJECTED = error("Invalid content.")

BROKEN = error("Internal Server Error", 500)


def with_text(text: str) -> Reply:
    """Return a completion with this text."""
    return GOOD.patched("choices", 0, "message", "content", to=text)
