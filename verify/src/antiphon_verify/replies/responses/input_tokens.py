"""Input tokens."""

from antiphon_verify.replies import Reply, states
from antiphon_verify.replies.bodies import RESPONSE


def counted(number: int, exactness: str = "exact") -> Reply:
    """Return a count of tokens."""
    body = {"object": "response.input_tokens", "input_tokens": number}
    return states(body, antiphon_token_count=exactness)


SHORT = counted(12)
LONG = counted(99)

USED = states(RESPONSE)
