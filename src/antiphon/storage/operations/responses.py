"""Responses and items: rows to values and back, the walk up a chain, what is kept when a response ends."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

from antiphon.storage.operations.step import Operation, Row, Rows, ask, ask_many, first
from antiphon.storage.records import ChainExtent, PurgeSize, Reply, StoredItem, StoredResponse


def save(response: StoredResponse, append: bool, reply: Reply | None) -> Operation[bool]:
    """Keep a response that has ended; see `Store.save`."""
    position = yield from held_position(response)
    if position is None or not (yield from answer(reply, response.id)):
        return False
    yield from leave_conversation(response, position, append)
    if response.is_stored:
        yield from ask("forget", response.id)
        yield from insert(response)
    return True


def insert(response: StoredResponse) -> Operation[int]:
    """Put a response in with its items; return its row's number."""
    (row,) = yield from ask("put_response", *response_row(response))
    yield from ask_many("put_item", list(item_rows(row[0], response)))
    return int(row[0])


def held_position(response: StoredResponse) -> Operation[int | None]:
    """Return the end of the conversation that a response holds, 0 where it has none; None where it lost hold of it."""
    if response.conversation_id is None:
        return 0
    row = yield from first("lock_conversation", response.conversation_id, response.tenant)
    return row[0] if row is not None and row[1] == response.id else None


def leave_conversation(response: StoredResponse, position: int, append: bool) -> Operation[None]:
    """Let go of a response's conversation, its items put at the end, `position`, where that is asked."""
    if response.conversation_id is None:
        return
    if append:
        yield from append_items(response.conversation_id, position, [*response.input, *response.output])
    yield from ask("let_go", response.conversation_id, response.id)


def append_items(conversation_id: str, position: int, items: Sequence[StoredItem]) -> Operation[None]:
    """Put items at a conversation's end, which is at `position`. Nobody else changes it meanwhile."""
    rows = [
        (conversation_id, position + i, item.id, sealed_column(item.sealed), item.body) for i, item in enumerate(items)
    ]
    yield from ask_many("put_conversation_item", rows)
    yield from ask("move_end", conversation_id, position + len(items))


def answer(reply: Reply | None, response_id: str) -> Operation[bool]:
    """Keep what answered a request with a key; False where the key is not reserved for that response any more."""
    if reply is None:
        return True
    return bool((yield from ask("put_reply", reply.tenant, reply.key, response_id, int(reply.is_stream), reply.body)))


def load(tenant: str, response_id: str, now: int) -> Operation[StoredResponse | None]:
    """Get a response with its items."""
    return response_of((yield from ask("load", response_id, tenant, now)))


def delete(tenant: str, response_id: str, now: int) -> Operation[bool]:
    """Take a response out; True where it was there."""
    return bool((yield from ask("delete", response_id, tenant, now)))


def history(tenant: str, response_id: str, now: int) -> Operation[list[StoredItem] | None]:
    """Walk a chain to its head; None where that is not found."""
    found = linked(response_id, (yield from ask("history", response_id, tenant, now)))
    if found is None:
        return None
    items, conversation_id, conversation_end = found
    if conversation_id is not None:
        before = yield from ask("conversation_before", conversation_id, tenant, conversation_end)
        items = [*map(item_of, before), *items]
    return items


Measured = dict[tuple[str, str], tuple[ChainExtent, float]]
"""Chains that are known to be whole, by tenant and response, each with the time at which the first of it expires."""


def measure_chain(
    tenant: str, response_id: str, now: int, most: int, known: Measured | None = None
) -> Operation[ChainExtent]:
    """Count the responses of a chain; what is `known` of it, or of the one before, spares the walk up."""
    known = {} if known is None else known
    extent, until = known.get((tenant, response_id), (None, 0.0))
    if extent is not None and until > now and extent.length <= most:
        return extent
    link = (yield from first("link", response_id, tenant, now)) if known else None
    above, until = known.get((tenant, link[0]) if link else ("", ""), (None, 0.0))
    if link is not None and above is not None and until > now and above.length < most:
        extent, until = ChainExtent(above.length + 1, above.is_in_conversation), min(until, _end(link[1]))
        known[tenant, response_id] = extent, until
        return extent
    (row,) = yield from ask("measure_chain", response_id, tenant, now, most)
    length, in_conversation, until, with_parent = row
    extent = ChainExtent(length, bool(in_conversation))
    if length == with_parent + 1:
        known[tenant, response_id] = extent, _end(until)
    return extent


def _end(expires_at: int | None) -> float:
    return float("inf") if expires_at is None else expires_at


def find_item(tenant: str, item_id: str, now: int) -> Operation[StoredItem | None]:
    """Get the newest item of that id, one of a conversation where no response has it."""
    row = yield from first("find_item", item_id, tenant, now)
    if row is None:
        row = yield from first("find_conversation_item", item_id, tenant)
    return item_of(row) if row else None


def purge(query: str, before: int, limit: int) -> Operation[int]:
    """Take out a bounded number of rows that are too old, or too many; return how many."""
    return len((yield from ask(query, before, limit)))


PURGED_FREELY = 1_000
"""Responses that one purge may delete, however few are stored."""


def purge_size(fraction: float, now: int) -> Operation[PurgeSize]:
    """Count what a purge would delete; see `Store.purge_size`."""
    (row,) = yield from ask("purge_total")
    most = max(PURGED_FREELY, int(fraction * row[0]))
    (expired,) = yield from ask("purge_size", now, most + 1)
    return PurgeSize(expired[0], row[0], expired[0] > most)


def count_old(query: str, before: int) -> Operation[int]:
    """Count the rows that are too old."""
    (row,) = yield from ask(query, before)
    return int(row[0])


TABLES = (
    *("responses", "items", "events", "jobs", "conversations", "conversation_items", "keys", "deliveries"),
    *("answers", "api_keys"),
)


def counts() -> Operation[Mapping[str, int]]:
    """Count the rows of each table."""
    (row,) = yield from ask("counts")
    return dict(zip(TABLES, row, strict=True))


def response_row(response: StoredResponse) -> tuple[Any, ...]:
    """Return a response's columns in the order of `put_response`."""
    return (
        response.id,
        response.previous_response_id,
        response.created_at,
        response.status,
        response.body,
        response.tenant,
        response.conversation_id,
        response.conversation_end,
        response.expires_at,
        int(response.is_stored),
        int(response.is_streamed),
    )


def item_rows(seq: int, response: StoredResponse) -> Iterator[tuple[Any, ...]]:
    """Give each item's columns in the order of `put_item`."""
    position = count()
    for is_output, items in ((0, response.input), (1, response.output)):
        for item in items:
            yield seq, next(position), is_output, item.id, sealed_column(item.sealed), item.body


def sealed_column(sealed: str | None) -> bytes | None:
    """A client may have put a NUL in it, which PostgreSQL's text does not take."""
    return None if sealed is None else sealed.encode()


def item_of(row: Row) -> StoredItem:
    """Make an item of its id, body and sealed."""
    item_id, body, sealed = row
    return StoredItem(item_id, body, sealed.decode() if isinstance(sealed, bytes) else sealed)


def response_of(rows: Rows) -> StoredResponse | None:
    """Make a response of the rows of `load`."""
    if not rows:
        return None
    key, created_at, status, parent, body, tenant, conversation, end, expires_at, is_stored, is_streamed = rows[0][:11]
    sides: tuple[list[StoredItem], list[StoredItem]] = [], []
    for row in rows:
        is_output, item_id, item_body, sealed = row[11:]
        if item_id is not None:
            sides[is_output].append(item_of((item_id, item_body, sealed)))
    return StoredResponse(
        id=key,
        created_at=created_at,
        status=status,
        previous_response_id=parent,
        body=body,
        input=tuple(sides[0]),
        output=tuple(sides[1]),
        tenant=tenant,
        conversation_id=conversation,
        conversation_end=end,
        expires_at=expires_at,
        is_stored=bool(is_stored),
        is_streamed=bool(is_streamed),
    )


def linked(id: str, rows: Rows) -> tuple[list[StoredItem], str | None, int | None] | None:
    """Link the rows of `history`: the chain's items, and the conversation of its head. None where there is no head."""
    turns: dict[str, tuple[Row, list[StoredItem]]] = {}
    for row in rows:
        _, items = turns.setdefault(row[0], (row, []))
        if row[4] is not None:
            items.append(item_of(row[4:]))
    way_up: list[list[StoredItem]] = []
    at: str | None = id
    row = ()
    while at is not None:
        # Taken out, so a cycle comes to a hole of its own making.
        turn = turns.pop(at, None)
        if turn is None:
            return None
        row, items = turn
        at = row[1]
        way_up.append(items)
    return list(chain.from_iterable(reversed(way_up))), row[2], row[3]
