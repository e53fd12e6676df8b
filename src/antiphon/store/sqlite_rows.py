"""The statements of the SQLite store: each an act on a connection, inside whatever transaction is open there.

An act takes several arguments and returns as many results, because saves go in together: a statement lets go of
Python's lock once for each row that it steps over, and a busy event loop takes its time to give it back. So 64
responses with their items are two statements of many rows, not some hundreds of one.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count
from typing import Any, TypeVar

from antiphon.store.base import StoredItem, StoredResponse
from antiphon.store.sql import QUERIES

A = TypeVar("A")
R = TypeVar("R")
Act = Callable[[sqlite3.Connection, Sequence[A]], Sequence[R]]
Row = tuple[Any, ...]

_ROWS_AT_ONCE = 128  # times 6 columns stays below 999, the fewest parameters that any build of SQLite takes
_EXPIRED_AT_ONCE = 500


def save(connection: sqlite3.Connection, responses: Sequence[StoredResponse]) -> Sequence[None]:
    """Put the responses in; where one comes twice, the later stands."""
    newest = {response.id: response for response in responses}.values()
    first = connection.execute(QUERIES["next_seq"]).fetchone()[0]
    placed = list(zip(count(first), newest, strict=False))
    _insert(connection, "put_responses", [_response_row(seq, response) for seq, response in placed])
    _insert(connection, "put_items", list(chain.from_iterable(_item_rows(seq, response) for seq, response in placed)))
    return [None] * len(responses)


def load(connection: sqlite3.Connection, ids: Sequence[str]) -> Sequence[StoredResponse | None]:
    """Get each response with its items, or None."""
    return [_response(key, connection.execute(QUERIES["load"], (key,)).fetchall()) for key in ids]


def delete(connection: sqlite3.Connection, ids: Sequence[str]) -> Sequence[bool]:
    """Take each response out; True where it was there."""
    return [connection.execute(QUERIES["delete"], (key,)).rowcount > 0 for key in ids]


def history(connection: sqlite3.Connection, ids: Sequence[str]) -> Sequence[list[StoredItem] | None]:
    """Walk each chain to its head; None where that is not found."""
    return [_linked(key, connection.execute(QUERIES["history"], (key,))) for key in ids]


def find_item(connection: sqlite3.Connection, ids: Sequence[str]) -> Sequence[StoredItem | None]:
    """Get the newest item of each id, or None."""
    rows = (connection.execute(QUERIES["find_item"], (key,)).fetchone() for key in ids)
    return [StoredItem(*row) if row else None for row in rows]


def expire(connection: sqlite3.Connection, befores: Sequence[int]) -> Sequence[tuple[int, bool]]:
    """Take out a bounded number of the oldest responses; return how many, and whether there may be more."""
    counts = [connection.execute(QUERIES["expire"], (before, _EXPIRED_AT_ONCE)).rowcount for before in befores]
    return [(gone, gone == _EXPIRED_AT_ONCE) for gone in counts]


def _response_row(seq: int, response: StoredResponse) -> Row:
    return seq, response.id, response.previous_response_id, response.created_at, response.status, response.body


def _item_rows(seq: int, response: StoredResponse) -> Iterator[Row]:
    position = count()
    for is_output, items in ((0, response.input), (1, response.output)):
        for item in items:
            yield seq, next(position), is_output, item.id, item.sealed, item.body


def _insert(connection: sqlite3.Connection, query: str, rows: Sequence[Row]) -> None:
    start = 0
    while start < len(rows):
        # A power of two: the statements of all sizes stay prepared.
        size = min(_ROWS_AT_ONCE, 1 << (len(rows) - start).bit_length() - 1)
        values = list(chain.from_iterable(rows[start : start + size]))
        connection.execute(_of_many_rows(query, size), values)
        start += size


@cache
def _of_many_rows(query: str, size: int) -> str:
    into, _, row = QUERIES[query].rpartition("VALUES")
    return f"{into}VALUES {', '.join([row] * size)}"


def _response(id: str, rows: Sequence[Row]) -> StoredResponse | None:
    if not rows:
        return None
    created_at, status, parent, body = rows[0][:4]
    sides: tuple[list[StoredItem], list[StoredItem]] = [], []
    for *_, is_output, item_id, item_body, sealed in rows:
        if item_id is not None:
            sides[is_output].append(StoredItem(item_id, item_body, sealed))
    return StoredResponse(
        id=id,
        created_at=created_at,
        status=status,
        previous_response_id=parent,
        body=body,
        input=tuple(sides[0]),
        output=tuple(sides[1]),
    )


def _linked(id: str, rows: Iterable[Row]) -> list[StoredItem] | None:
    turns: dict[str, tuple[str | None, list[StoredItem]]] = {}
    for response_id, parent, item_id, body, sealed in rows:
        _, items = turns.setdefault(response_id, (parent, []))
        if item_id is not None:
            items.append(StoredItem(item_id, body, sealed))
    way_up: list[list[StoredItem]] = []
    at: str | None = id
    while at is not None:
        # Taken out, so a cycle comes to a hole of its own making.
        turn = turns.pop(at, None)
        if turn is None:
            return None
        at, items = turn
        way_up.append(items)
    return list(chain.from_iterable(reversed(way_up)))
