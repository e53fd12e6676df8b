"""Non-streamed messages."""

from antiphon_verify.replies import Reply
from antiphon_verify.replies.messages.bodies import CALLING, MESSAGE, replied

PARIS = replied(MESSAGE)
CALL = replied(CALLING)
COUNT = replied({"input_tokens": 12})


def with_text(text: str) -> Reply:
    """Return a message with this text."""
    return PARIS.patched("content", 0, "text", to=text)
