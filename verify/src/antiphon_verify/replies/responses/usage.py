"""Usage."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import changed, states
from antiphon_verify.replies.bodies import RESPONSE

COUNTS = ("input_tokens", "output_tokens", "total_tokens")


GOOD = states(RESPONSE)

LONGER = GOOD.patched("usage", "input_tokens", to=112)

NULL = [*STREAMS["answer"][:-1], changed(STREAMS["answer"][-1], "response", "usage", to=None)]

ZEROS = dict.fromkeys(COUNTS, 0)
