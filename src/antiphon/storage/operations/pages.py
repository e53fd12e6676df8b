"""Pages of long lists: a response's complete input, a conversation's items, and a chat completion's
messages.

Only the returned rows are read. A list is a sequence of segments, each with the items of one
response, conversation or completion by position. A pager reads from the segments, which come in the
requested order, until its page is complete.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from antiphon.storage.operations.responses import item_of
from antiphon.storage.operations.step import (
    FEW_BYTES,
    FEW_ITEMS,
    NOW,
    Operation,
    Row,
    announce_read,
    first,
    query_rows,
    reads,
)
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredItem

BEFORE_ALL = -1
BEHIND_ALL = 2**31 - 1
"""A position that is greater than that of any item: a response cannot have more items, and a
conversation in practice will not.
"""

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
"""The index of a message in its id."""

BLOCK = 100
"""Responses of a chain that one statement reads on the way up, at first."""


class ResponseHead(NamedTuple):
    """A response without its items."""

    seq: int
    previous_response_id: str | None
    conversation_id: str | None
    conversation_end: int | None
    item_bytes: int


@dataclass(slots=True)
class _Segment:
    """Items of `table` that belong to `key`, between two positions, both excluded.

    `size` is at least their bytes.

    `after` and `before` are the positions of the items in the query's bounds, if this segment has
    them.
    """

    table: str
    key: int | str
    size: int
    after: int | None = None
    before: int | None = None
    low: int = BEFORE_ALL
    high: int = BEHIND_ALL


@dataclass(slots=True)
class _Pager:
    """Reads one page of a list, segment by segment."""

    query: PageQuery
    items: list[StoredItem] = field(default_factory=list)
    has_more: bool = False
    _size: int = 0
    _waits_for_after: bool = False
    _waits_for_before: bool = False
    _is_past_before: bool = False

    def __post_init__(self) -> None:
        self._waits_for_after = self.query.after is not None
        self._waits_for_before = self.query.before is not None

    def is_done(self) -> bool:
        """Whether no further segment matters: the page is complete, and both bounds were found in
        the list.
        """
        has_all = self.has_more or self._is_past_before
        return has_all and not self._waits_for_after and not self._waits_for_before

    def page(self) -> Page[StoredItem]:
        """Return the page after the last segment, or once no further segment matters."""
        if self._waits_for_after or self._waits_for_before:
            return Page(unknown="after" if self._waits_for_after else "before")
        return Page(self.items, self.has_more)

    def see(self, segment: _Segment) -> Operation[None]:
        """Add the items of the next segment that belong to the page."""
        if self._waits_for_after and segment.after is not None:
            self._waits_for_after = False
            if self.query.descending:
                segment.high = min(segment.high, segment.after)
            else:
                segment.low = segment.after
        elif self._waits_for_after:
            if segment.before is not None:  # `before` comes ahead of `after`, so the page is empty
                self._waits_for_before = False
                self._is_past_before = True
            return
        was_past = self._is_past_before
        if self._waits_for_before and segment.before is not None:
            self._waits_for_before = False
            self._is_past_before = True
            if self.query.descending:
                segment.low = segment.before
            else:
                segment.high = min(segment.high, segment.before)
        if not (was_past or self.has_more):
            yield from self._read(segment)

    def _read(self, segment: _Segment) -> Operation[None]:
        name = f"{segment.table}_{'down' if self.query.descending else 'up'}"
        wanted = self.query.limit - len(self.items)
        place = segment.key, segment.low, segment.high
        if self._size + segment.size <= FEW_BYTES:
            rows = yield from query_rows(name, *place, wanted + 1)
            self.has_more = len(rows) > wanted
            self.items += map(item_of, rows[:wanted])
            self._size += segment.size
            return
        sizes = [row[0] for row in (yield from query_rows(f"{name}_sizes", *place, wanted + 1))]
        count = 0
        while count < min(len(sizes), wanted) and (
            not (self.items or count) or self._size + sizes[count] <= self.query.most_bytes
        ):
            self._size += sizes[count]
            count += 1
        self.has_more = count < len(sizes)
        if count:
            yield from announce_read(count, self._size)
            self.items += map(item_of, (yield from query_rows(name, *place, count)))


@reads("input_page")
def head(tenant: str, response_id: str) -> Operation[ResponseHead | None]:
    """Return a response without its items."""
    row = yield from first("page_head", response_id, tenant, (yield NOW))
    return ResponseHead(*row) if row else None


@reads("input_page")
def input_page(
    tenant: str, head: ResponseHead, query: PageQuery, length: int
) -> Operation[Page[StoredItem]]:
    """Return one page of a response's complete input.

    `length` is that of its chain, or 0 if the chain has no head.
    """
    now: int = yield NOW
    pager = _Pager(query)
    own = yield from _own(head, query)
    if query.descending:
        yield from pager.see(own)
        conversation = head.conversation_id, head.conversation_end
        if length and head.previous_response_id is not None:
            conversation = yield from _see_chain(pager, tenant, head.previous_response_id, now)
        if not pager.is_done():
            yield from _see_conversation(pager, tenant, *conversation)
        return pager.page()
    rows: list[Row] = []
    if length and head.previous_response_id is not None:
        yield from announce_read(length)
        rows = list((yield from _walk(tenant, head.previous_response_id, now, query, length)))
    conversation = (
        (rows[-1][2], rows[-1][3]) if rows else (head.conversation_id, head.conversation_end)
    )
    yield from _see_conversation(pager, tenant, *conversation)
    for row in reversed(rows):
        if pager.is_done():
            break
        yield from pager.see(_of_response(row))
    if not pager.is_done():
        yield from pager.see(own)
    return pager.page()


@reads("conversation_page")
def conversation_page(
    tenant: str, conversation_id: str, query: PageQuery
) -> Operation[Page[StoredItem] | None]:
    """Return one page of the items, or None if the conversation is unknown.

    Reads little more than it returns.
    """
    segment = yield from _conversation(tenant, conversation_id, BEHIND_ALL, query)
    if segment is None:
        return None
    pager = _Pager(query)
    yield from pager.see(segment)
    return pager.page()


@reads("completion_messages")
def completion_messages(
    tenant: str, completion_id: str, query: PageQuery
) -> Operation[Page[StoredItem] | None]:
    """Return one page of a completion's messages, or None if the completion is unknown.

    The id of a message is the completion's id, `-`, and the message's index in the request.
    """
    now: int = yield NOW
    row = yield from first("completion_place", completion_id, tenant, now)
    if row is None:
        return None
    segment = _Segment("completion_message", row[0], row[1])
    segment.after = yield from _message_place(row[0], completion_id, query.after)
    segment.before = yield from _message_place(row[0], completion_id, query.before)
    pager = _Pager(query)
    yield from pager.see(segment)
    return pager.page()


def _message_place(seq: int, completion_id: str, message_id: str | None) -> Operation[int | None]:
    """Return the position of the message with this id, or None if the id is not valid."""
    index = (message_id or "").removeprefix(f"{completion_id}-")
    if not _INDEX.fullmatch(index):
        return None
    row = yield from first("completion_message_place", seq, int(index))
    return row[0] if row else None


def _see_chain(
    pager: _Pager, tenant: str, response_id: str, now: int
) -> Operation[tuple[str | None, int | None]]:
    """Walk up a chain as far as needed; return the conversation of its head, if the walk reaches
    it.
    """
    at: str | None = response_id
    block = BLOCK
    seen = 0
    row: Row = (None,) * 4
    while at is not None and not pager.is_done():
        rows = yield from _walk(tenant, at, now, pager.query, block)
        seen += len(rows)
        for row in rows:
            if pager.is_done():
                break
            yield from pager.see(_of_response(row))
        at = rows[-1][1] if rows else None
        if at is not None and not pager.is_done():
            yield from announce_read(seen)
        block = FEW_ITEMS
    return (row[2], row[3]) if not pager.is_done() else (None, None)


def _walk(
    tenant: str, response_id: str, now: int, query: PageQuery, most: int
) -> Operation[list[Row]]:
    sign = -1 if query.descending else 1
    rows = yield from query_rows(
        "walk_up", response_id, tenant, now, most, sign, query.after, query.before
    )
    return list(rows)


def _of_response(row: Row) -> _Segment:
    seq, _, _, _, size, after, before = row
    return _Segment("items", seq, size, after, before)


def _own(head: ResponseHead, query: PageQuery) -> Operation[_Segment]:
    """Add the response's own input. Its output comes after the input."""
    if head.item_bytes > FEW_BYTES:  # SQLite reads a whole row to compare its key
        yield from announce_read(1, head.item_bytes)
    last = yield from first("last_input", head.seq)
    sign = -1 if query.descending else 1
    segment = _Segment("items", head.seq, head.item_bytes, high=last[0] + 1 if last else 0)
    if query.after is not None:
        segment.after = (yield from query_rows("place_in", head.seq, query.after, sign))[0][0]
    if query.before is not None:
        segment.before = (yield from query_rows("place_in", head.seq, query.before, sign))[0][0]
    return segment


def _see_conversation(
    pager: _Pager, tenant: str, conversation_id: str | None, end: int | None
) -> Operation[None]:
    if conversation_id is None or end is None:
        return
    segment = yield from _conversation(tenant, conversation_id, end, pager.query)
    if segment is not None:
        yield from pager.see(segment)


def _conversation(
    tenant: str, conversation_id: str, end: int, query: PageQuery
) -> Operation[_Segment | None]:
    """Return a conversation's items before a position, or None if the conversation is unknown."""
    row = yield from first("load_conversation", conversation_id, tenant)
    if row is None:
        return None
    segment = _Segment("conversation", conversation_id, row[6], high=end)
    segment.after = yield from _place(conversation_id, query.after, end)
    segment.before = yield from _place(conversation_id, query.before, end)
    return segment


def _place(conversation_id: str, item_id: str | None, end: int) -> Operation[int | None]:
    if item_id is None:
        return None
    row = yield from first("position_of", conversation_id, item_id)
    return row[0] if row and row[0] < end else None
