"""Conversations."""

from typing import Any

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.bodies import RESPONSE

CREATED = states(
    {"id": "conv_1", "object": "conversation", "created_at": 1763000000, "metadata": {"a": "1"}}
)

CHANGED = CREATED.patched("metadata", to={"b": "2"})

DELETED = states({"id": "conv_1", "object": "conversation.deleted", "deleted": True})

NOT_FOUND = error("Conversation with id 'conv_1' not found.", 404)

REJECTED = error("Mutually exclusive parameters.", 400, "mutually_exclusive_parameters")

LIFE = [CREATED, CREATED, CHANGED, DELETED, NOT_FOUND, NOT_FOUND]


def item(text: str, role: str = "user") -> dict[str, Any]:
    """Return a message of a conversation."""
    return {
        "id": f"msg_{text[:3]}",
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text}],
    }


ONE, TWO, THREE = map(item, ("One.", "Two.", "Three."))


def page(*items: dict[str, Any], has_more: bool = False) -> Reply:
    """Return a page of items."""
    return states(
        {
            "object": "list",
            "data": list(items),
            "first_id": items[0]["id"],
            "last_id": items[-1]["id"],
            "has_more": has_more,
        }
    )


ITEMS = [
    *(CREATED, page(ONE), page(TWO, THREE), page(THREE, TWO, ONE)),
    *(page(ONE, TWO, has_more=True), page(THREE), states(TWO), CREATED),
]


TALK = page(item("Say."), item("Hello.", "assistant"))

FIRST = states(RESPONSE | {"conversation": {"id": "conv_1"}})

SECOND = FIRST.patched("usage", "input_tokens", to=40).patched(
    "output", 0, "content", 0, "text", to="Zanzibar."
)

CONVERSATION_USED = [CREATED, FIRST, TALK, SECOND, FIRST]

STREAM = streams(STREAMS["answer"])
