"""Compaction."""

from antiphon_verify.areas.responses import compact
from tests.unit.conformance.exchanges import Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE, USAGE

ITEM = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAA"}

USERS = [{"id": "msg_1", "type": "message", **turn} for turn in compact.TURNS if turn["role"] == "user"]

COMPACTED = says(
    {"id": "resp_1", "object": "response.compaction", "created_at": 1, "output": [*USERS, ITEM], "usage": USAGE}
)

PLAIN = says(RESPONSE)

TRIGGERED = says(RESPONSE | {"output": [ITEM]})

REFUSED = error("Missing required parameter: 'model'.")

LOST = error("Previous response not found.", 400, "previous_response_not_found", "previous_response_id")

BROKEN = error("Internal Server Error", 500)

EXCHANGES: dict[str, Shown] = {
    **shown(
        compact.a_context_is_compacted,
        [COMPACTED, PLAIN],
        {
            "responses:compact:object": [COMPACTED.patched("object", to="response"), PLAIN],
            "responses:compact:item": [COMPACTED.patched("output", to=[*USERS, ITEM, ITEM]), PLAIN],
            "responses:compact:users-kept": [COMPACTED.patched("output", to=[ITEM]), PLAIN],
            "responses:compact:usage": [COMPACTED.without("usage"), PLAIN],
            "responses:compact:taken-back": [COMPACTED, REFUSED],
        },
    ),
    **spoiled(compact.compaction_needs_a_model, [REFUSED], [COMPACTED]),
    **shown(
        compact.compaction_is_triggered,
        [TRIGGERED, PLAIN],
        {"responses:compact:trigger": [PLAIN], "responses:compact:chained": [TRIGGERED, LOST]},
    ),
    **spoiled(compact.a_stored_chain_is_compacted, [PLAIN, COMPACTED], [PLAIN, REFUSED]),
    **spoiled(compact.compaction_is_left_to_the_server, [PLAIN], [REFUSED]),
    **spoiled(compact.a_forged_compaction_is_seen, [COMPACTED, REFUSED], [COMPACTED, BROKEN]),
    **spoiled(
        compact.items_before_a_compaction_are_read,
        [COMPACTED, PLAIN, PLAIN.patched("usage", "input_tokens", to=500)],
        [COMPACTED, PLAIN, PLAIN],
    ),
}
