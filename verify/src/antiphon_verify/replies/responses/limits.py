"""Truncated responses."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE

GOOD = (
    states(
        RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    )
    .patched("output", to=[MESSAGE | {"status": "incomplete"}])
    .patched("usage", "output_tokens", to=16)
)

LONG = error("The input is too long.", 400, "context_length_exceeded", "input")
