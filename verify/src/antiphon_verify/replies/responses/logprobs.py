"""Log probabilities."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import states, streams
from antiphon_verify.replies.bodies import RESPONSE

ALTERNATIVE = {"token": "Hello.", "logprob": -0.1}

TOKEN = {**ALTERNATIVE, "top_logprobs": [ALTERNATIVE, {"token": "Hi", "logprob": -2}]}

PLACE = ("output", 0, "content", 0, "logprobs")

BARE = states(RESPONSE)

GOOD = BARE.patched(*PLACE, to=[TOKEN])

DELTAS = [
    one | {"logprobs": [TOKEN]} if one["type"].endswith("_text.delta") else one
    for one in STREAMS["answer"]
]

EMPTY = [
    one | {"logprobs": []} if one["type"].endswith("_text.delta") else one
    for one in STREAMS["answer"]
]

STREAM = streams(DELTAS)
