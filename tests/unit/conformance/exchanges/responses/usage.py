"""Usage."""

from antiphon_verify.areas.responses import usage
from tests.unit.conformance.exchanges import Shown, changed, says, shown, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE, USAGE
from tests.unit.testing.events.streams import STREAMS

GOOD = says(RESPONSE)

LONGER = GOOD.patched("usage", "input_tokens", to=112)

NULL = [*STREAMS["answer"][:-1], changed(STREAMS["answer"][-1], "response", "usage", to=None)]

ZEROS = dict.fromkeys(usage.COUNTS, 0)

EXCHANGES: dict[str, Shown] = {
    **shown(
        usage.tokens_are_counted,
        [GOOD],
        {
            "responses:usage:counts": [GOOD.patched("usage", to=None)],
            "responses:usage:total": [GOOD.patched("usage", "total_tokens", to=99)],
            "responses:usage:input-details": [GOOD.without("usage", "input_tokens_details")],
            "responses:usage:output-details": [GOOD.without("usage", "output_tokens_details")],
            "responses:usage:counted": [GOOD.patched("usage", to=USAGE | ZEROS)],
            "responses:usage:plausible": [GOOD.patched("usage", "input_tokens", to=1_000_000)],
        },
    ),
    **shown(usage.more_input_counts_more, [GOOD, LONGER], {"responses:usage:grows": [GOOD, GOOD]}),
    **shown(
        usage.tokens_are_counted_in_streams,
        [streams(STREAMS["answer"])],
        {"responses:usage:streamed": [streams(NULL)]},
    ),
}
