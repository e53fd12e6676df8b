"""Chains."""

from antiphon_verify.areas.responses import chain
from tests.unit.conformance.exchanges import Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import CALL, RESPONSE
from tests.unit.testing.events.streams import STREAMS

FIRST = says(RESPONSE)

SECOND = (
    FIRST.patched("id", to="resp_2")
    .patched("previous_response_id", to="resp_1")
    .patched("usage", "input_tokens", to=40)
    .patched("output", 0, "content", 0, "text", to="Zanzibar.")
)

GONE = error("Previous response with id 'resp_1' not found.", 400, "previous_response_not_found")

CALLED = FIRST.patched("output", to=[CALL])

DUPLICATE = error("Duplicate function call found with call_id call_1.", 400, "invalid_value", "input")

STREAM = streams(STREAMS["answer"])

EXCHANGES: dict[str, Shown] = {
    **shown(
        chain.a_chain_is_followed,
        [FIRST, SECOND, FIRST, SECOND],
        {
            "responses:chain:taken": [FIRST, GONE],
            "responses:chain:echoed": [FIRST, SECOND.patched("previous_response_id", to=None)],
            "responses:chain:counted": [FIRST, FIRST, FIRST],
            "responses:chain:three-deep": [FIRST, SECOND, FIRST, GONE],
            "responses:chain:recalled": [FIRST, FIRST, FIRST],
        },
    ),
    **shown(
        chain.a_stream_is_gone_on_from_at_once,
        [STREAM, SECOND, STREAM],
        {"responses:chain:after-stream": [STREAM, GONE], "responses:chain:streamed": [STREAM, SECOND, GONE]},
    ),
    **spoiled(chain.a_chain_is_forked, [FIRST, SECOND, FIRST], [FIRST, SECOND, GONE]),
    **spoiled(chain.an_unstored_response_ends_a_chain, [FIRST, GONE], [FIRST, SECOND]),
    **spoiled(chain.a_deleted_response_ends_a_chain, [FIRST, says({}), GONE], [FIRST, says({}), SECOND]),
    **spoiled(
        chain.an_item_of_the_chain_is_sent_again,
        [FIRST, error("Duplicate item found with id msg_1.", 400, None, "input")],
        [FIRST, SECOND],
    ),
    **shown(
        chain.a_call_of_the_chain_is_sent_again,
        [CALLED, DUPLICATE, SECOND],
        {
            "responses:chain:changed-call": [CALLED, SECOND, SECOND],
            "responses:chain:repeated-call": [CALLED, DUPLICATE, DUPLICATE],
        },
    ),
    **spoiled(
        chain.instructions_hold_once, [FIRST, SECOND], [FIRST, SECOND.patched("instructions", to="Answer in one word.")]
    ),
}
