"""Requests that are sent again."""

from antiphon_verify.areas.responses import idempotency
from tests.unit.conformance.exchanges import Shown, error, says, shown, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE

MADE, OTHER = says(RESPONSE), says(RESPONSE | {"id": "resp_2"})
REUSED = error("This key was used with another request.", 422)
GOOD = [MADE, OTHER, OTHER, MADE, REUSED]
STREAM = streams([{"type": "response.completed", "sequence_number": 0, "response": RESPONSE}])
AGAIN = streams([{"type": "response.completed", "sequence_number": 0, "response": RESPONSE | {"id": "resp_3"}}])

EXCHANGES: dict[str, Shown] = {
    **shown(
        idempotency.a_request_is_sent_again,
        GOOD,
        {
            "responses:idempotency:same": [MADE, OTHER, MADE],
            "responses:idempotency:other-key": [MADE, OTHER, OTHER, OTHER, REUSED],
            "responses:idempotency:other-body": [MADE, OTHER, OTHER, MADE, MADE],
        },
    ),
    **shown(
        idempotency.a_stream_is_asked_for_again,
        [MADE, STREAM, STREAM],
        {"responses:idempotency:streamed": [MADE, STREAM, AGAIN]},
    ),
}
