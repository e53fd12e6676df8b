"""Refusals."""

from antiphon_verify.replies import says
from antiphon_verify.replies.bodies import RESPONSE

GOOD = says(RESPONSE).patched("output", 0, "content", to=[{"type": "refusal", "refusal": "No."}])
