"""Structured output."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, states, streams
from antiphon_verify.replies.bodies import RESPONSE


def with_text(text: str) -> Reply:
    """Return a response with this text."""
    return states(RESPONSE).patched("output", 0, "content", 0, "text", to=text)


def streaming(*texts: str) -> Reply:
    """Return a stream with these deltas."""
    deltas = [{"type": "response.output_text.delta", "delta": text} for text in texts]
    return streams([STREAMS["answer"][0], *deltas, STREAMS["answer"][-1]])
