"""Reasoning."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE

ITEM = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Thought."}],
    "content": [{"type": "reasoning_text", "text": "Three times seventeen."}],
}

GOOD = states(RESPONSE | {"output": [ITEM, MESSAGE]}).patched(
    "usage", "output_tokens_details", "reasoning_tokens", to=3
)

REJECTED = error("Invalid value: 'low'.", 400, "invalid_value", "reasoning.effort")

SEALED = GOOD.patched("output", 0, "encrypted_content", to="gAAABBBB")

FORGED = error("The encrypted content could not be verified.", 400, "invalid_encrypted_content")

BROKEN = error("Internal Server Error", 500)
