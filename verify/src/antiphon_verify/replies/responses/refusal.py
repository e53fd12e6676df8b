"""Refusals."""

from antiphon_verify.replies import states
from antiphon_verify.replies.bodies import RESPONSE

GOOD = states(RESPONSE).patched("output", 0, "content", to=[{"type": "refusal", "refusal": "No."}])
