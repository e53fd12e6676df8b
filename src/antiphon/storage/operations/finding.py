"""Finds what an id names: an object, or the responses with an item or a call.

Items have an index of their ids. The id of a call is in the body of an item, and no index knows it:
only the newest responses that called tools are searched.
"""

from collections.abc import Sequence

from msgspec.json import encode

from antiphon.query.ids import CALL_PREFIXES, created_ms, kind_of, prefix_of
from antiphon.storage.operations.facts_where import Statement
from antiphon.storage.operations.step import (
    NOW,
    UNKNOWN_ITEMS,
    Operation,
    Row,
    Rows,
    announce_read,
    query_composed,
    reads,
)
from antiphon.storage.records.found import FoundObject, FoundObjects

MOST_FOUND = 20
"""Responses that an id leads to: clients can send an item again and again."""

MOST_ROWS = 200
"""Rows of items with one id that are read: the oldest."""

AT_ONCE, MOST_CALLING = 100, 2_000
"""Responses that called tools, and that are searched for a call: in one step, and in all."""

LONGEST_CALL = 64 * 1024
"""Bytes of the largest item that is searched for the id of a call."""

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of items after which a search for a call stops: it is exceeded by at most the items of
`AT_ONCE` responses.
"""

SKEW = 60_000
"""Milliseconds by which the clocks of two servers can differ."""

TABLES = {
    "conversation": ("conversations", "true"),
    "file": ("files", "(expires_at IS NULL OR expires_at > {now})"),
    "vector_store": ("vector_stores", "true"),
    "container": ("containers", "true"),
}
"""The table of a kind of objects, and which of its rows lists show. A response is found by its
details, since it can be one that runs.
"""


@reads("find")
def find(tenant: str | None, id_: str) -> Operation[FoundObjects]:
    """Return what this id names, of one tenant or of all tenants."""
    kind = kind_of(id_)
    if kind != "item":
        table, condition = TABLES[kind]
        statement = Statement(tenant)
        statement.where(f"id = {statement.add(id_)}")
        if "{now}" in condition:
            condition = condition.format(now=statement.add((yield NOW)))
        statement.where(condition)
        rows = yield from _select(statement, f"id, tenant FROM {table}")
        return FoundObjects([FoundObject(kind, found, owner) for found, owner in rows])
    in_responses = yield from responses_of_item(tenant, id_)
    in_conversations = yield from _conversations(tenant, id_)
    return FoundObjects([*in_responses.found, *in_conversations], in_responses.searched_since)


@reads("responses_of_item")
def responses_of_item(tenant: str | None, item_id: str) -> Operation[FoundObjects]:
    """Return the responses that produced an item or made a call: the oldest for an item, and the
    newest for a call.

    For an item that no response produced, return the oldest responses that received it.
    """
    statement = Statement(None)
    statement.where(f"items.id = {statement.add(item_id)} AND responses.is_stored = 1")
    if tenant is not None:
        statement.where(f"responses.tenant = {statement.add(tenant)}")
    now = statement.add((yield NOW))
    statement.where(f"(responses.expires_at IS NULL OR responses.expires_at > {now})")
    rows = yield from _select(
        statement,
        "responses.id, responses.tenant, items.is_output FROM items "
        "JOIN responses ON responses.seq = items.response",
        f"ORDER BY items.response, items.position LIMIT {MOST_ROWS}",
    )
    if rows:
        produced = [row for row in rows if row[2]] or rows
        owners = dict.fromkeys((row[0], row[1]) for row in produced)
        return FoundObjects(
            [
                FoundObject("response", id_, owner, item_id)
                for id_, owner in list(owners)[:MOST_FOUND]
            ]
        )
    if prefix_of(item_id) in CALL_PREFIXES or created_ms(item_id) is None:
        return (yield from _responses_of_call(tenant, item_id))
    return FoundObjects()


def _conversations(tenant: str | None, item_id: str) -> Operation[list[FoundObject]]:
    """Return the conversations that have an item."""
    statement = Statement(None)
    statement.where(f"conversation_items.id = {statement.add(item_id)}")
    if tenant is not None:
        statement.where(f"conversations.tenant = {statement.add(tenant)}")
    rows = yield from _select(
        statement,
        "conversations.id, conversations.tenant FROM conversation_items "
        "JOIN conversations ON conversations.id = conversation_items.conversation",
        f"LIMIT {MOST_FOUND}",
    )
    return [FoundObject("conversation", found, owner, item_id) for found, owner in rows]


def _responses_of_call(tenant: str | None, call_id: str) -> Operation[FoundObjects]:
    """Return the newest responses that made a call with this id."""
    yield from announce_read(UNKNOWN_ITEMS)
    wanted = b'"call_id":' + encode(call_id)
    created = created_ms(call_id)
    place: tuple[int, int] = (2**62 if created is None else created + SKEW, 0)
    size = 0
    for _ in range(MOST_CALLING // AT_ONCE):
        rows = yield from _calling(tenant, place)
        if found := _with_call(rows, wanted):
            return FoundObjects(found)
        if len({row[0] for row in rows}) < AT_ONCE:
            return FoundObjects()
        place = (rows[-1][2], rows[-1][3])
        size += sum(len(row[5]) for row in rows if row[5] is not None)
        if size > MOST_BYTES:
            break
    return FoundObjects(searched_since=place[0])


def _calling(tenant: str | None, place: tuple[int, int]) -> Operation[Rows]:
    """Return the next responses before this place that called tools, with the items of their
    output.
    """
    recent = Statement(tenant)
    recent.where("(flags & 32) = 0 AND tools <> ''")
    recent.where(f"(began, seq) < ({recent.add(place[0])}, {recent.add(place[1])})")
    return (
        yield from query_composed(
            f"""SELECT recent.id, recent.tenant, recent.began, recent.seq, items.id,
            CASE WHEN length(items.body) <= {LONGEST_CALL} THEN items.body END
            FROM (
                SELECT id, tenant, began, seq FROM facts WHERE {recent.condition}
                ORDER BY began DESC, seq DESC LIMIT {AT_ONCE}
            ) AS recent
            LEFT JOIN responses ON responses.id = recent.id AND responses.tenant = recent.tenant
            LEFT JOIN items ON items.response = responses.seq AND items.is_output = 1
            ORDER BY recent.began DESC, recent.seq DESC""",  # noqa: S608 - fixed parts
            tuple(recent.values),
        )
    )


def _with_call(rows: Sequence[Row], wanted: bytes) -> list[FoundObject]:
    return [
        FoundObject("response", response_id, tenant, item_id)
        for response_id, tenant, _, _, item_id, body in rows
        if body is not None and wanted in bytes(body)
    ][:MOST_FOUND]


def _select(statement: Statement, text: str, behind: str = "") -> Operation[Rows]:
    return (
        yield from query_composed(
            f"SELECT {text} WHERE {statement.condition} {behind}",
            tuple(statement.values),
        )
    )
