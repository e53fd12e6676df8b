"""Responses and items: converting rows to values and back, walking up a chain, and ending a
response.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any

from msgspec.structs import replace

from antiphon.storage.operations import facts, item_blobs
from antiphon.storage.operations.step import (
    FEW_BYTES,
    FEW_ITEMS,
    NOW,
    SHIFT,
    Changed,
    Operation,
    Row,
    Rows,
    announce_read,
    first,
    query_in_slices,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.responses import ChainExtent, LargeItem, StoredItem, StoredResponse
from antiphon.storage.records.tenants import StoredReply


@writes("save")
def save(
    response: StoredResponse, *, append: bool = False, reply: StoredReply | None = None
) -> Operation[bool]:
    """Store or replace a response that has ended; see `Store.save`."""
    yield Changed([response.id])
    return (yield from save_dated(dated(response, (yield SHIFT)), append, reply))


def dated(response: StoredResponse, shift: int) -> StoredResponse:
    """Return a response with its expiry time converted from this process's clock to the store's
    clock.
    """
    if not shift or response.expires_at is None:
        return response
    return replace(response, expires_at=response.expires_at + shift)


def save_dated(
    response: StoredResponse, append: bool, reply: StoredReply | None
) -> Operation[bool]:
    """Store a response with a time of the store's clock."""
    position = yield from locked_position(response)
    has_lost_lock = position is None and response.conversation_id is not None
    if has_lost_lock or not (yield from answer(reply, response.id)):
        return False
    yield from leave_conversation(response, position, append)
    if response.is_stored:
        yield from query_rows("forget", response.id)
        yield from insert(response)
    yield from facts.put(response.facts)
    return True


def insert(response: StoredResponse) -> Operation[int]:
    """Insert a response with its items; return its row number."""
    (row,) = yield from query_rows("put_response", *response_row(response))
    yield from query_many("put_item", list(item_rows(row[0], response)))
    for item in (*response.input, *response.output):
        if item.blob is not None:
            yield from item_blobs.use_by_response(row[0], response.tenant, item)
    return int(row[0])


def locked_position(response: StoredResponse) -> Operation[int | None]:
    """Return the end of the response's conversation, or None if it has none, or lost the lock."""
    if response.conversation_id is None:
        return None
    row = yield from first("lock_conversation", response.conversation_id, response.tenant)
    return row[0] if row is not None and row[1] == response.id else None


def leave_conversation(
    response: StoredResponse, position: int | None, append: bool
) -> Operation[None]:
    """Unlock a response's conversation, and with `append` first append the items at its end,
    `position`.

    Does nothing without a position: it has no conversation, or lost the lock.
    """
    if response.conversation_id is None or position is None:
        return
    if append:
        items = [*response.input, *response.output]
        yield from append_items(response.conversation_id, position, items, response.tenant)
    yield from query_rows("let_go", response.conversation_id, response.id)


def append_items(
    conversation_id: str, position: int, items: Sequence[StoredItem], tenant: str
) -> Operation[None]:
    """Append items to a conversation at its end, `position`.

    No other operation changes it concurrently.
    """
    rows = [
        (conversation_id, position + i, item.id, sealed_column(item.sealed), item.body)
        for i, item in enumerate(items)
    ]
    yield from query_many("put_conversation_item", rows)
    for item in items:
        if item.blob is not None:
            yield from item_blobs.use_by_conversation(conversation_id, tenant, item)
    yield from query_rows("move_end", conversation_id, position + len(items), *extent_of(items))


def answer(reply: StoredReply | None, response_id: str) -> Operation[bool]:
    """Store the reply for an idempotency key; return False if the key is no longer reserved for
    that response.
    """
    if reply is None:
        return True
    return bool(
        (
            yield from query_rows(
                "put_reply", reply.tenant, reply.key, response_id, int(reply.is_stream), reply.body
            )
        )
    )


@reads("load")
def load(tenant: str, response_id: str, *, few: bool = False) -> Operation[StoredResponse | None]:
    """Return the response with its input and output in order, or None if it is unknown.

    With `few`, a response with many or large items is returned without them, flagged as partial. A
    large body is omitted too.
    """
    return (yield from load_at(tenant, response_id, (yield NOW), few))


def load_at(tenant: str, response_id: str, now: int, few: bool) -> Operation[StoredResponse | None]:
    """Return a response as `load` does, if it has not expired at this time."""
    rows = yield from query_rows(
        "load", response_id, tenant, now, FEW_ITEMS, FEW_BYTES, FEW_BYTES if few else ANY_SIZE
    )
    if not rows:
        return None
    sides: Sides = [], []
    *_, seq, items, size = rows[0]
    if items <= FEW_ITEMS and size <= FEW_BYTES:
        if rows[0][11] is not None:
            _sort(sides, [row[11:15] for row in rows])
    elif few:
        return replace(response_of(rows[0], sides), is_partial=True)
    else:
        yield from announce_read(items, size)
        yield from query_in_slices("load_items", (seq,), lambda part: _sort(sides, part))
    return response_of(rows[0], sides)


ANY_SIZE = 2**31 - 1
"""A number of bytes that no column exceeds."""

Sides = tuple[list[StoredItem], list[StoredItem]]
"""The items of a response's input and of its output."""


def _sort(sides: Sides, rows: Rows) -> None:
    for is_output, *item in rows:
        sides[is_output].append(item_of(item))


@writes("delete", frees=True)
def delete(tenant: str, response_id: str) -> Operation[bool]:
    """Delete the response, its items and events; return False if it is unknown.

    Responses that continue it keep its id as their parent.
    """
    now: int = yield NOW
    if not (yield from query_rows("delete", response_id, tenant, now)):
        return False
    yield from facts.forget_words(tenant, response_id)
    return True


@reads("history")
def history(
    tenant: str, response_id: str, extent: ChainExtent | None = None
) -> Operation[list[StoredItem] | None]:
    """Return all items of the chain that ends in this response, oldest first.

    The list has each ancestor's input and output, down to this response's own input and output. If
    the oldest response ran in a conversation, the items that the conversation had at that time come
    first. Return None if this response or any ancestor is unknown, or if the chain is a cycle. The
    time is linear in the length of the chain. `extent` is the result of `measure_chain`, if the
    caller has it.
    """
    now: int = yield NOW
    if extent is None:
        ((length, items, size),) = yield from query_rows("history_extent", response_id, tenant, now)
    else:
        length = extent.length
        items = extent.items
        size = extent.size
    yield from announce_read(max(length, items), size)
    turns: Turns = {}
    yield from query_in_slices(
        "history", (response_id, tenant, now), lambda part: gather_turns(turns, part)
    )
    found = linked(response_id, turns)
    if found is None:
        return None
    items_found, conversation_id, conversation_end = found
    if conversation_id is None:
        return items_found
    yield from _announce_conversation(conversation_id, tenant)
    before: list[StoredItem] = []
    values = (conversation_id, tenant, conversation_end)
    yield from query_in_slices(
        "conversation_before", values, lambda part: before.extend(map(item_of, part))
    )
    return [*before, *items_found]


def _announce_conversation(conversation_id: str, tenant: str) -> Operation[None]:
    row = yield from first("load_conversation", conversation_id, tenant)
    if row is not None:
        yield from announce_read(row[5], row[6])


@reads("find_item")
def find_item(tenant: str, item_id: str, *, few: bool = False) -> Operation[StoredItem | None]:
    """Return the stored item with this id, else a conversation's item with it, else None.

    Clients send items back with their ids, and can change them, so several responses can contain
    different items with one id. The oldest of those that are left is returned: the first in the
    response that was saved first.

    With `few`, a large item is returned as a `LargeItem`.
    """
    now: int = yield NOW
    for query, values in (
        ("find_item", (item_id, tenant, now)),
        ("find_conversation_item", (item_id, tenant)),
    ):
        row = yield from first(query, *values, FEW_BYTES)
        if row is None:
            continue
        size = row[3]
        if size > FEW_BYTES:
            if few:
                return LargeItem(item_id, b"", size=size)
            yield from announce_read(1, size)
            row = yield from first(query, *values, size)
        return item_of(row[:3]) if row else None
    return None


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
        *extent_of(response.input, response.output),
    )


def extent_of(*sides: Sequence[StoredItem]) -> tuple[int, int]:
    """Return the number of items, and the bytes of their bodies and sealed contents."""
    count = size = 0
    for items in sides:
        count += len(items)
        for item in items:
            size += len(item.body)
            if item.sealed:
                size += len(item.sealed.encode())
    return count, size


def fitting(responses: Sequence[StoredResponse], most_items: int, most_bytes: int) -> int:
    """Return how many of the first responses have together at most so many items and bytes of
    items.
    """
    items = size = 0
    for fits, response in enumerate(responses):
        for side in (response.input, response.output):
            items += len(side)
            for item in side:
                size += len(item.body)
        if items > most_items or size > most_bytes:
            return fits
    return len(responses)


def item_rows(seq: int, response: StoredResponse) -> Iterator[tuple[Any, ...]]:
    """Yield each item's columns in the order of `put_item`."""
    position = count()
    for is_output, items in ((0, response.input), (1, response.output)):
        for item in items:
            yield seq, next(position), is_output, item.id, sealed_column(item.sealed), item.body


def sealed_column(sealed: str | None) -> bytes | None:
    """Remove NULs, which a client may have sent but PostgreSQL's text does not accept."""
    return None if sealed is None else sealed.encode()


def item_of(row: Row) -> StoredItem:
    """Create an item from its id, body and sealed content."""
    item_id, body, sealed = row
    return StoredItem(item_id, body, sealed.decode() if isinstance(sealed, bytes) else sealed)


def response_of(row: Row, sides: Sides) -> StoredResponse:
    """Create a response from the first row of `load` and its items."""
    (
        key,
        created_at,
        status,
        parent,
        body,
        tenant,
        conversation,
        end,
        expires_at,
        is_stored,
        is_streamed,
    ) = row[:11]
    return StoredResponse(
        id=key,
        created_at=created_at,
        status=status,
        previous_response_id=parent,
        body=b"" if body is None else body,
        input=tuple(sides[0]),
        output=tuple(sides[1]),
        tenant=tenant,
        conversation_id=conversation,
        conversation_end=end,
        expires_at=expires_at,
        is_stored=bool(is_stored),
        is_streamed=bool(is_streamed),
    )


Turns = dict[str, tuple[Row, list[StoredItem]]]
"""The responses of a chain by id, each with its first row and its items."""


def gather_turns(turns: Turns, rows: Rows) -> None:
    """Add rows of `history`."""
    for row in rows:
        _, items = turns.setdefault(row[0], (row, []))
        if row[4] is not None:
            items.append(item_of(row[4:]))


def linked(id: str, turns: Turns) -> tuple[list[StoredItem], str | None, int | None] | None:
    """Link the turns of a chain; return all items and the head's conversation, or None if there is
    no head.
    """
    way_up: list[list[StoredItem]] = []
    at: str | None = id
    row: Row = ()
    while at is not None:
        # Each turn is removed, so that a cycle ends at a missing turn.
        turn = turns.pop(at, None)
        if turn is None:
            return None
        row, items = turn
        at = row[1]
        way_up.append(items)
    return list(chain.from_iterable(reversed(way_up))), row[2], row[3]
