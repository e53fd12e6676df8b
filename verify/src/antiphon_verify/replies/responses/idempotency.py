"""Replies to repeated requests."""

from antiphon_verify.replies import error, states, streams
from antiphon_verify.replies.bodies import RESPONSE

CREATED = states(RESPONSE)
OTHER = states(RESPONSE | {"id": "resp_2"})
REUSED = error("This key was used with another request.", 422)
GOOD = [CREATED, OTHER, OTHER, CREATED, REUSED]
STREAM = streams([{"type": "response.completed", "sequence_number": 0, "response": RESPONSE}])
AGAIN = streams(
    [{"type": "response.completed", "sequence_number": 0, "response": RESPONSE | {"id": "resp_3"}}]
)
