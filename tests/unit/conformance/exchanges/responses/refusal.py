"""Refusals."""

from antiphon_verify.areas.responses.refusal import a_refusal_is_a_part
from tests.unit.conformance.exchanges import Shown, says, shown
from tests.unit.conformance.exchanges.bodies import RESPONSE

GOOD = says(RESPONSE).patched("output", 0, "content", to=[{"type": "refusal", "refusal": "No."}])

EXCHANGES: dict[str, Shown] = shown(
    a_refusal_is_a_part,
    [GOOD],
    {
        "responses:refusal:part": [GOOD.patched("output", 0, "content", 0, "type", to="output_text")],
        "responses:refusal:no-text": [GOOD.patched("output", 0, "content", 0, "text", to="")],
        "responses:refusal:status": [GOOD.patched("status", to="failed")],
    },
)
