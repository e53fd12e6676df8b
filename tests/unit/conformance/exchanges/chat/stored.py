"""Stored chat completions."""

from typing import Any

from antiphon_verify.areas.chat import stored
from tests.unit.conformance.exchanges import Answer, Shown, chunks, error, says, shown, spoiled
from tests.unit.conformance.exchanges.completions import CHUNKS, COMPLETION

MADE = says(COMPLETION)

FOUND = says(COMPLETION | {"metadata": {"a": "1"}})

CHANGED = FOUND.patched("metadata", to={"b": "2"})

MESSAGES = says({"object": "list", "data": [{"id": "chatcmpl-1-0", "role": "user", "content": "Say hello."}]})

DELETED = says({"object": "chat.completion.deleted", "id": "chatcmpl-1", "deleted": True})

GONE = error("Chat completion with id 'chatcmpl-1' not found.", 404)

LIFE = [MADE, FOUND, CHANGED, MESSAGES, DELETED, GONE]

STREAM = chunks(*CHUNKS)

SECOND = MADE.patched("id", to="chatcmpl-2")


def page(*ids: str, has_more: bool = False) -> Answer:
    data: list[dict[str, Any]] = [COMPLETION | {"id": one} for one in ids]
    return says({"object": "list", "data": data, "has_more": has_more})


BOTH = page("chatcmpl-1", "chatcmpl-2")

LISTS = [
    *(MADE, CHANGED, SECOND, CHANGED, page("chatcmpl-2", "chatcmpl-1", "chatcmpl-0"), BOTH),
    *(page("chatcmpl-1", has_more=True), page("chatcmpl-2")),
]


def instead(script: list[Answer], place: int, answer: Answer) -> list[Answer]:
    """The script with another answer at a place."""
    return [*script[:place], answer, *script[place + 1 :]]


EXCHANGES: dict[str, Shown] = {
    **shown(
        stored.a_completion_is_stored,
        LIFE,
        {
            "chat:stored:retrieved": instead(LIFE, 1, FOUND.patched("id", to="chatcmpl-2")),
            "chat:stored:metadata": instead(LIFE, 1, FOUND.without("metadata")),
            "chat:stored:updated": instead(LIFE, 2, FOUND),
            "chat:stored:messages": instead(LIFE, 3, MESSAGES.without("data", 0, "id")),
            "chat:stored:deleted-body": instead(LIFE, 4, says({})),
            "chat:stored:deleted": instead(LIFE, 5, FOUND),
        },
    ),
    **spoiled(stored.a_stream_is_stored, [STREAM, FOUND], [STREAM, GONE]),
    **shown(
        stored.stored_completions_are_listed,
        LISTS,
        {
            "chat:stored:filtered": instead(LISTS, 5, page("chatcmpl-2", "chatcmpl-1", "chatcmpl-0")),
            "chat:stored:listed": instead(LISTS, 5, page("chatcmpl-2", "chatcmpl-1")),
            "chat:stored:paged": instead(LISTS, 7, page("chatcmpl-1")),
        },
    ),
    **spoiled(stored.an_unknown_completion_is_not_found, [MADE, GONE], [MADE, FOUND]),
    **spoiled(stored.an_unstored_completion_is_not_found, [MADE, GONE], [MADE, FOUND]),
}
