"""Text messages."""

from antiphon_verify.replies import says
from antiphon_verify.replies.bodies import RESPONSE

GOOD = says(RESPONSE).patched("output", 0, "content", 0, "text", to="Paris.")

REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}
