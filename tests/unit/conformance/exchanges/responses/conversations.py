"""Conversations."""

from typing import Any

from antiphon_verify.areas.responses import conversations
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

CREATED = says({"id": "conv_1", "object": "conversation", "created_at": 1763000000, "metadata": {"a": "1"}})

CHANGED = CREATED.patched("metadata", to={"b": "2"})

DELETED = says({"id": "conv_1", "object": "conversation.deleted", "deleted": True})

GONE = error("Conversation with id 'conv_1' not found.", 404)

REFUSED = error("Mutually exclusive parameters.", 400, "mutually_exclusive_parameters")

LIFE = [CREATED, CREATED, CHANGED, DELETED, GONE, GONE]


def item(text: str, role: str = "user") -> dict[str, Any]:
    return {"id": f"msg_{text[:3]}", "type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


ONE, TWO, THREE = map(item, ("One.", "Two.", "Three."))


def page(*items: dict[str, Any], has_more: bool = False) -> Answer:
    return says(
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
    *(page(ONE, TWO, has_more=True), page(THREE), says(TWO), CREATED),
]


def instead(script: list[Answer], place: int, answer: Answer) -> list[Answer]:
    """The script with another answer at a place."""
    return [*script[:place], answer, *script[place + 1 :]]


TALK = page(item("Say."), item("Hello.", "assistant"))

FIRST = says(RESPONSE | {"conversation": {"id": "conv_1"}})

SECOND = FIRST.patched("usage", "input_tokens", to=40).patched("output", 0, "content", 0, "text", to="Zanzibar.")

HELD = [CREATED, FIRST, TALK, SECOND, FIRST]

STREAM = streams(STREAMS["answer"])

EXCHANGES: dict[str, Shown] = {
    **shown(
        conversations.a_conversation_lives,
        LIFE,
        {
            "responses:conversations:created": instead(LIFE, 0, CREATED.without("created_at")),
            "responses:conversations:id-prefix": instead(LIFE, 0, CREATED.patched("id", to="1")),
            "responses:conversations:metadata": instead(LIFE, 0, CREATED.without("metadata")),
            "responses:conversations:retrieved": instead(LIFE, 1, GONE),
            "responses:conversations:updated": instead(LIFE, 2, CREATED),
            "responses:conversations:updated-replaces": instead(LIFE, 2, CREATED.patched("metadata", "b", to="2")),
            "responses:conversations:deleted-body": instead(LIFE, 3, says({})),
            "responses:conversations:deleted": instead(LIFE, 4, CREATED),
            "responses:conversations:deleted-twice": instead(LIFE, 5, DELETED),
        },
    ),
    **spoiled(conversations.an_unknown_conversation_is_not_found, [CREATED, GONE], [CREATED, CREATED]),
    **shown(
        conversations.items_come_and_go,
        ITEMS,
        {
            "responses:conversations:first-items": instead(ITEMS, 1, says({"data": []})),
            "responses:conversations:items-added": instead(ITEMS, 2, says({"data": []})),
            "responses:conversations:items-listed": instead(ITEMS, 3, page(ONE, TWO, THREE)),
            "responses:conversations:items-ascending": instead(ITEMS, 4, page(THREE, TWO, has_more=True)),
            "responses:conversations:items-paged": instead(ITEMS, 5, page(ONE, TWO)),
            "responses:conversations:item-retrieved": instead(ITEMS, 6, GONE),
            "responses:conversations:item-deleted": instead(ITEMS, 7, DELETED),
        },
    ),
    **spoiled(conversations.many_items_are_refused, [error("Too many items.")], [CREATED]),
    **shown(
        conversations.a_conversation_is_held,
        HELD,
        {
            "responses:conversations:used": instead(HELD, 1, GONE),
            "responses:conversations:echoed": instead(HELD, 1, says(RESPONSE)),
            "responses:conversations:appended": instead(HELD, 2, page(item("Say."))),
            "responses:conversations:used-object": instead(HELD, 3, GONE),
            "responses:conversations:recalled": instead(HELD, 3, FIRST),
            "responses:conversations:counted": instead(HELD, 3, FIRST),
        },
    ),
    **spoiled(conversations.a_conversation_is_streamed_in, [CREATED, STREAM, TALK], [CREATED, STREAM, page(ONE)]),
    **spoiled(
        conversations.an_unstored_response_is_in_a_conversation, [CREATED, FIRST, TALK], [CREATED, FIRST, page(ONE)]
    ),
    **spoiled(conversations.a_response_has_one_past, [CREATED, FIRST, REFUSED], [CREATED, FIRST, SECOND]),
    **spoiled(
        conversations.an_item_of_the_conversation_is_sent_again,
        [CREATED, FIRST, error("Duplicate item found with id msg_1.", 400, None, "input")],
        [CREATED, FIRST, SECOND],
    ),
    **spoiled(conversations.an_unknown_conversation_is_refused, [CREATED, GONE], [CREATED, FIRST]),
}
