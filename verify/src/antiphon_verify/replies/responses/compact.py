"""Compaction."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE, USAGE

TURNS = [
    {"role": "user", "content": "My name is Ada."},
    {"role": "assistant", "content": "Hello Ada."},
    {"role": "user", "content": "I live in Paris."},
]


ITEM = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAA"}

USERS = [{"id": "msg_1", "type": "message", **turn} for turn in TURNS if turn["role"] == "user"]

COMPACTED = states(
    {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": [*USERS, ITEM],
        "usage": USAGE,
    }
)

PLAIN = states(RESPONSE)

TRIGGERED = states(RESPONSE | {"output": [ITEM]})

REJECTED = error("Missing required parameter: 'model'.")

LOST = error(
    "Previous response not found.", 400, "previous_response_not_found", "previous_response_id"
)

BROKEN = error("Internal Server Error", 500)
