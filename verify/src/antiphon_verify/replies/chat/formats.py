"""Structured output."""

from antiphon_verify.replies import Reply, chunks, error, states
from antiphon_verify.replies.completions import COMPLETION, END, ROLE, chunk

DAY = {"place": {"city": "Paris"}, "weather": "sun", "stops": [{"name": "Louvre", "hour": 9}]}

PARIS = '{"city": "Paris"}'


def with_text(text: str) -> Reply:
    """Return a completion with this text."""
    return states(COMPLETION).patched("choices", 0, "message", "content", to=text)


def streaming(text: str) -> Reply:
    """Return a stream with this text."""
    return chunks(ROLE, chunk({"content": text[:4]}), chunk({"content": text[4:]}), END)


REJECTED = error("Invalid value.")
