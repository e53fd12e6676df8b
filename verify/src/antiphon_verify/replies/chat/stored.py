"""Stored chat completions."""

from typing import Any

from antiphon_verify.replies import Reply, chunks, error, states
from antiphon_verify.replies.completions import CHUNKS, COMPLETION

CREATED = states(COMPLETION)

FOUND = states(COMPLETION | {"metadata": {"a": "1"}})

CHANGED = FOUND.patched("metadata", to={"b": "2"})

MESSAGES = states(
    {"object": "list", "data": [{"id": "chatcmpl-1-0", "role": "user", "content": "Say hello."}]}
)

DELETED = states({"object": "chat.completion.deleted", "id": "chatcmpl-1", "deleted": True})

NOT_FOUND = error("Chat completion with id 'chatcmpl-1' not found.", 404)

LIFE = [CREATED, FOUND, CHANGED, MESSAGES, DELETED, NOT_FOUND]

STREAM = chunks(*CHUNKS)

SECOND = CREATED.patched("id", to="chatcmpl-2")


def page(*ids: str, has_more: bool = False) -> Reply:
    """Return a page of stored completions."""
    data: list[dict[str, Any]] = [COMPLETION | {"id": one} for one in ids]
    return states({"object": "list", "data": data, "has_more": has_more})


BOTH = page("chatcmpl-1", "chatcmpl-2")

LISTS = [
    *(CREATED, CHANGED, SECOND, CHANGED, page("chatcmpl-2", "chatcmpl-1", "chatcmpl-0"), BOTH),
    *(page("chatcmpl-1", has_more=True), page("chatcmpl-2")),
]
