"""Messages of text."""

from antiphon_verify.areas.responses.text import (
    an_answer_is_a_message,
    instructions_are_followed,
)
from tests.unit.conformance.exchanges import Shown, says, shown
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE

GOOD = says(RESPONSE).patched("output", 0, "content", 0, "text", to="Paris.")

REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}

EXCHANGES: dict[str, Shown] = {
    **shown(
        an_answer_is_a_message,
        [GOOD],
        {
            "responses:text:message": [GOOD.patched("output", 0, "role", to="model")],
            "responses:text:content": [GOOD.patched("output", 0, "content", to="Paris.")],
            "responses:text:part": [GOOD.patched("output", 0, "content", 0, "type", to="text")],
            "responses:text:annotations": [GOOD.without("output", 0, "content", 0, "annotations")],
            "responses:text:logprobs": [GOOD.without("output", 0, "content", 0, "logprobs")],
            "responses:text:status": [GOOD.patched("output", 0, "status", to="in_progress")],
            "responses:text:last": [GOOD.patched("output", to=[MESSAGE, REASONING])],
            "responses:text:one-message": [GOOD.patched("output", to=[MESSAGE, MESSAGE | {"id": "msg_2"}])],
            "responses:text:answers": [GOOD.patched("output", 0, "content", 0, "text", to="Rome.")],
        },
    ),
    **shown(
        instructions_are_followed,
        [GOOD.patched("output", 0, "content", 0, "text", to="Paris, banana.")],
        {"responses:text:follows-instructions": [GOOD]},
    ),
}
