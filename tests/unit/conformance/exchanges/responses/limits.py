"""Cut answers."""

from antiphon_verify.areas.responses import limits
from tests.unit.conformance.exchanges import Shown, error, says, shown, streams
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE
from tests.unit.testing.events.streams import STREAMS

GOOD = (
    says(RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}})
    .patched("output", to=[MESSAGE | {"status": "incomplete"}])
    .patched("usage", "output_tokens", to=16)
)

LONG = error("The input is too long.", 400, "context_length_exceeded", "input")

EXCHANGES: dict[str, Shown] = {
    **shown(
        limits.a_long_answer_is_cut,
        [GOOD],
        {
            "responses:limits:incomplete": [GOOD.patched("status", to="completed")],
            "responses:limits:reason": [GOOD.patched("incomplete_details", to=None)],
            "responses:limits:no-error": [GOOD.patched("error", to={"code": "server_error", "message": "length"})],
            "responses:limits:item": [GOOD.patched("output", 0, "status", to="completed")],
            "responses:limits:bounded": [GOOD.patched("usage", "output_tokens", to=200)],
            "responses:limits:usage": [GOOD.patched("usage", to=None)],
        },
    ),
    **shown(
        limits.a_long_input_is_not_truncated,
        [LONG],
        {
            "responses:limits:nothing-dropped": [says(RESPONSE).patched("usage", "input_tokens", to=4096)],
            "responses:limits:too-long-named": [error("The input is too long.", 400, "invalid_value", "input")],
        },
    ),
    **shown(
        limits.a_long_stream_is_cut,
        [streams(STREAMS["cut"])],
        {
            "responses:limits:streamed": [
                streams([*STREAMS["cut"][:-1], {"type": "response.completed", "response": {}}])
            ]
        },
    ),
}
