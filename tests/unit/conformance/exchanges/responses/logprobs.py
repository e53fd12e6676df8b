"""Log probabilities."""

from antiphon_verify.areas.responses import logprobs
from tests.unit.conformance.exchanges import Shown, says, shown, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

ALTERNATIVE = {"token": "Hello.", "logprob": -0.1}

TOKEN = {**ALTERNATIVE, "top_logprobs": [ALTERNATIVE, {"token": "Hi", "logprob": -2}]}

PLACE = ("output", 0, "content", 0, "logprobs")

BARE = says(RESPONSE)

GOOD = BARE.patched(*PLACE, to=[TOKEN])

DELTAS = [one | {"logprobs": [TOKEN]} if one["type"].endswith("_text.delta") else one for one in STREAMS["answer"]]

EMPTY = [one | {"logprobs": []} if one["type"].endswith("_text.delta") else one for one in STREAMS["answer"]]

STREAM = streams(DELTAS)

EXCHANGES: dict[str, Shown] = {
    **shown(
        logprobs.log_probabilities_come_where_asked_for,
        [GOOD, STREAM],
        {
            "responses:logprobs:some": [BARE],
            "responses:logprobs:token": [GOOD.patched(*PLACE, 0, "logprob", to=0.9)],
            "responses:logprobs:top": [GOOD.patched(*PLACE, 0, "top_logprobs", to=[ALTERNATIVE] * 3)],
            "responses:logprobs:top-some": [GOOD.patched(*PLACE, 0, "top_logprobs", to=[])],
            "responses:logprobs:joined": [GOOD.patched(*PLACE, 0, "token", to="Hell")],
            "responses:logprobs:streamed": [GOOD, streams(EMPTY)],
        },
    ),
    **shown(logprobs.log_probabilities_come_only_where_asked_for, [BARE], {"responses:logprobs:unasked": [GOOD]}),
}
