"""Text messages."""

from antiphon_verify.replies import states
from antiphon_verify.replies.bodies import RESPONSE

GOOD = states(RESPONSE).patched("output", 0, "content", 0, "text", to="Paris.")

REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}
