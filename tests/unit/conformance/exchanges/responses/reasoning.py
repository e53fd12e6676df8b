"""Reasoning."""

from antiphon_verify.areas.responses import reasoning
from tests.unit.conformance.exchanges import Shown, error, says, shown
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE

ITEM = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Thought."}],
    "content": [{"type": "reasoning_text", "text": "Three times seventeen."}],
}

GOOD = says(RESPONSE | {"output": [ITEM, MESSAGE]}).patched("usage", "output_tokens_details", "reasoning_tokens", to=3)

REFUSED = error("Invalid value: 'low'.", 400, "invalid_value", "reasoning.effort")

SEALED = GOOD.patched("output", 0, "encrypted_content", to="gAAABBBB")

FORGED = error("The encrypted content could not be verified.", 400, "invalid_encrypted_content")

BROKEN = error("Internal Server Error", 500)

EXCHANGES: dict[str, Shown] = {
    **shown(
        reasoning.reasoning_is_an_item,
        [GOOD],
        {
            "responses:reasoning:accepted": [REFUSED],
            "responses:reasoning:not-in-text": [
                GOOD.patched("output", 1, "content", 0, "text", to="<think>17</think>51")
            ],
            "responses:reasoning:summary": [GOOD.without("output", 0, "summary")],
            "responses:reasoning:summary-parts": [GOOD.patched("output", 0, "summary", 0, to="Thought.")],
            "responses:reasoning:content-parts": [GOOD.patched("output", 0, "content", 0, "type", to="output_text")],
            "responses:reasoning:id": [GOOD.without("output", 0, "id")],
            "responses:reasoning:id-prefix": [GOOD.patched("output", 0, "id", to="1")],
            "responses:reasoning:first": [GOOD.patched("output", to=[MESSAGE, ITEM])],
            "responses:reasoning:counted": [GOOD.patched("usage", "output_tokens_details", "reasoning_tokens", to=0)],
        },
    ),
    **shown(reasoning.a_summary_is_asked_for, [GOOD], {"responses:reasoning:summary-accepted": [REFUSED]}),
    **shown(
        reasoning.a_stored_response_needs_nothing_encrypted,
        [GOOD],
        {"responses:reasoning:encrypted-only-when-asked": [GOOD.patched("output", 0, "encrypted_content", to="gAAA")]},
    ),
    **shown(
        reasoning.encrypted_reasoning_goes_back,
        [SEALED, GOOD, FORGED],
        {
            "responses:reasoning:encrypted": [GOOD],
            "responses:reasoning:encrypted-taken": [SEALED, FORGED, FORGED],
            "responses:reasoning:encrypted-forged": [SEALED, GOOD, BROKEN],
        },
    ),
    **shown(
        reasoning.reasoning_of_another_server_is_sent,
        [GOOD.patched("input_transformations", to=[{"id": reasoning.FOREIGN, "action": "removed"}])],
        {"responses:reasoning:removed": [GOOD.patched("input_transformations", to=None)]},
    ),
    **shown(
        reasoning.encrypted_reasoning_may_be_asked_for, [GOOD], {"responses:reasoning:include-accepted": [REFUSED]}
    ),
}
