"""Prompt caches."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE

FULL = states(RESPONSE)

EMPTY = FULL.patched("output", to=[])

WARM = EMPTY.patched("usage", "output_tokens", to=0)

NOT_FOUND = error(
    "Previous response with id 'resp_1' not found.", 400, "previous_response_not_found"
)

QUEUED = states(
    RESPONSE
    | {"status": "queued", "background": True, "output": [], "usage": None, "completed_at": None}
)

STREAM = STREAMS["answer"]

EMPTY_STREAM = [
    STREAM[0],
    STREAM[1],
    STREAM[-1] | {"response": STREAM[-1]["response"] | {"output": []}},
]

MISS = {
    "type": "cache_miss",
    "reason": "input_changed",
    "cache_missed_tokens": 3,
    "comparison_reusable_tokens": 0,
}
