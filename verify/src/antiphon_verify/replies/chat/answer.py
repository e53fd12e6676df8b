"""Plain answers."""

from antiphon_verify.replies import Reply, chunks, error, says
from antiphon_verify.replies.completions import CHUNKS, COMPLETION

GOOD = says(COMPLETION)

CHOICE = ("choices", 0)


def telling(text: str) -> Reply:
    """Return a completion with this text."""
    return GOOD.patched(*CHOICE, "message", "content", to=text)


PARIS = telling("Paris.")

REFUSED = error("Invalid value.")

STREAM = chunks(*CHUNKS)
