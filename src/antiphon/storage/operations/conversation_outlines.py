"""What lists of conversations show besides the conversations: their first items, and the facts of
their responses.

Each page is two statements. They use indexes that exist for other purposes, so no write pays for
them: a response is found by the ids of its items, and the number of these items is bounded.
"""

from collections.abc import Sequence

from antiphon.storage.operations.step import (
    UNKNOWN_ITEMS,
    Operation,
    announce_read,
    query_composed,
    reads,
)
from antiphon.storage.records.responses import ConversationOutline

FIRST = 4
"""Number of first items of a conversation that are read for its first words."""

LONGEST = 64 * 1024
"""Maximum bytes of such an item; a longer one is not read."""

NEWEST = 100
"""Number of newest items of a conversation by which its responses are found."""


@reads("conversation_outlines")
def outlines(tenant: str | None, ids: Sequence[str]) -> Operation[dict[str, ConversationOutline]]:
    """Return the outlines of these conversations of one tenant, or of all tenants."""
    found = {one: ConversationOutline() for one in ids}
    if not ids:
        return found
    yield from announce_read(UNKNOWN_ITEMS)
    places = ", ".join(f"${number}" for number in range(1, len(ids) + 1))
    own, values = ("", tuple(ids)) if tenant is None else (_own(len(ids) + 1), (*ids, tenant))
    for conversation, body in (yield from query_composed(_items(places, own), values)):
        if body is not None:
            found[conversation].items.append(bytes(body))
    for conversation, model, served_model, cost, words in (
        yield from query_composed(_responses(places, own), values)
    ):
        outline = found[conversation]
        outline.responses += 1
        outline.model = served_model or model
        outline.words = outline.words or words
        if cost is not None:
            outline.cost = (outline.cost or 0) + cost
    return found


@reads("responses_of_items")
def responses_of_items(
    tenant: str, conversation_id: str, ids: Sequence[str]
) -> Operation[dict[str, str]]:
    """Return the ids of the stored responses that added these items to a conversation, by item."""
    if not ids:
        return {}
    places = ", ".join(f"${number}" for number in range(3, len(ids) + 3))
    text = f"""SELECT items.id, responses.id FROM items JOIN responses ON responses.seq = items.response
        WHERE responses.tenant = $1 AND responses.conversation_id = $2 AND items.id IN ({places})
        ORDER BY responses.seq DESC"""  # noqa: E501, S608 - fixed texts; all values are parameters
    rows = yield from query_composed(text, (tenant, conversation_id, *ids))
    return {row[0]: row[1] for row in rows}


@reads("conversation_owner")
def owner(tenant: str | None, conversation_id: str) -> Operation[str | None]:
    """Return the tenant of a conversation, or None if it is unknown or belongs to another tenant
    than the given one.
    """
    own, values = ("", ()) if tenant is None else (" AND tenant = $2", (tenant,))
    text = f"SELECT tenant FROM conversations WHERE id = $1{own}"  # noqa: S608 - fixed texts
    rows = yield from query_composed(text, (conversation_id, *values))
    return rows[0][0] if rows else None


def _own(number: int) -> str:
    return f" AND conversations.tenant = ${number}"


def _items(places: str, own: str) -> str:
    return f"""SELECT conversations.id,
            CASE WHEN length(conversation_items.body) <= {LONGEST} THEN conversation_items.body END
        FROM conversations
        JOIN conversation_items ON conversation_items.conversation = conversations.id
        WHERE conversations.id IN ({places}) AND conversation_items.position < {FIRST}{own}
        ORDER BY conversations.id, conversation_items.position"""  # noqa: S608 - fixed texts


def _responses(places: str, own: str) -> str:
    """Return the statement for the facts of the responses, the oldest first, each once."""
    return f"""SELECT id, model, served_model, cost, input FROM (
            SELECT DISTINCT conversations.id, facts.seq, facts.began, facts.model,
                facts.served_model, facts.cost, facts.input
            FROM conversations
            JOIN conversation_items ON conversation_items.conversation = conversations.id
                AND conversation_items.position >= conversations.next_position - {NEWEST}
            JOIN items ON items.id = conversation_items.id
            JOIN responses ON responses.seq = items.response
            JOIN facts ON facts.id = responses.id AND facts.tenant = conversations.tenant
                AND facts.conversation_id = conversations.id AND (facts.flags & 32) = 0
            WHERE conversations.id IN ({places}){own}
        ) AS found ORDER BY began, seq"""  # noqa: S608 - fixed texts
