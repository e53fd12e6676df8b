"""Requests that are sent again."""

from antiphon_verify.replies import error, says, streams
from antiphon_verify.replies.bodies import RESPONSE

MADE, OTHER = says(RESPONSE), says(RESPONSE | {"id": "resp_2"})
REUSED = error("This key was used with another request.", 422)
GOOD = [MADE, OTHER, OTHER, MADE, REUSED]
STREAM = streams([{"type": "response.completed", "sequence_number": 0, "response": RESPONSE}])
AGAIN = streams([{"type": "response.completed", "sequence_number": 0, "response": RESPONSE | {"id": "resp_3"}}])
