"""Input items."""

from typing import Any

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import RESPONSE

TURNS = [
    {"role": "user", "content": "One."},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "Three. Say hello."},
]


CREATED = states(RESPONSE)


def item(text: str, role: str = "user") -> dict[str, Any]:
    """Return a message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {
        "id": f"msg_{text[:2]}",
        "type": "message",
        "role": role,
        "content": [{"type": kind, "text": text}],
    }


def page(*items: dict[str, Any], has_more: bool = False) -> Reply:
    """Return a page of items."""
    ids = [one["id"] for one in items]
    return states(
        {
            "object": "list",
            "data": list(items),
            "first_id": ids[0],
            "last_id": ids[-1],
            "has_more": has_more,
        }
    )


ONE, TWO, THREE = (item(turn["content"], turn["role"]) for turn in TURNS)

TEXT = page(item("Say hello."))

NEWEST = page(THREE, TWO, ONE)
OLDEST = page(ONE, TWO, THREE)
HALF = page(ONE, TWO, has_more=True)
REST = page(THREE)

NOT_FOUND = error("Response with id 'resp_0' not found.", 404)

REJECTED = error("Invalid 'limit'.")
