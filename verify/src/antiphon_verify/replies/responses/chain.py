"""Chains."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import error, states, streams
from antiphon_verify.replies.bodies import CALL, RESPONSE

FIRST = states(RESPONSE)

SECOND = (
    FIRST.patched("id", to="resp_2")
    .patched("previous_response_id", to="resp_1")
    .patched("usage", "input_tokens", to=40)
    .patched("output", 0, "content", 0, "text", to="Zanzibar.")
)

NOT_FOUND = error(
    "Previous response with id 'resp_1' not found.", 400, "previous_response_not_found"
)

CALLED = FIRST.patched("output", to=[CALL])

DUPLICATE = error(
    "Duplicate function call found with call_id call_1.", 400, "invalid_value", "input"
)

STREAM = streams(STREAMS["answer"])
