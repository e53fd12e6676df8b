"""Runs operations on an SQLite connection, within its open transaction.

The writer passes several operations of a kind together, so that plain saves can be combined.
Python's SQLite module releases the GIL once for each row that it steps over, and a busy event loop
is slow to return it. So 64 responses with their items are stored by two statements with many rows,
instead of hundreds with one row. Fewer are stored together if they are large, because other tenants
wait for them.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count
from typing import Any, TypeVar

from antiphon.storage.act import Act
from antiphon.storage.operations.facts import facts_of, facts_row
from antiphon.storage.operations.figures import late_sums
from antiphon.storage.operations.responses import fitting, item_rows, response_row
from antiphon.storage.operations.step import (
    NOW,
    SLICE,
    Changed,
    Composed,
    LargeReadError,
    Now,
    Query,
    QueryInSlices,
    QueryMany,
    QueryWhere,
    R,
    ReadSize,
    Shift,
)
from antiphon.storage.records.facts import SUMMED, Facts
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sql import queries_of
from antiphon.storage.sqlite.marks import bound, marked

A = TypeVar("A")
Doing = Callable[[sqlite3.Connection, Sequence[A]], Iterable[Sequence[R]]]
"""Runs with several arguments and gives one result for each, in order.

It gives them in parts. Each is what ran together when that part was taken, so that the writer can
end a transaction in between.
"""

SAVES_AT_ONCE, ITEMS_AT_ONCE, BYTES_AT_ONCE = 64, 2_500, 1024 * 1024
"""Most responses, items and bytes of items that are stored together: a transaction can end after
them. A response that exceeds them is stored alone.
"""

_PARAMETERS_AT_ONCE = 999  # the lowest limit of any build of SQLite


def perform(connection: sqlite3.Connection, acts: Sequence[Act[Any]]) -> Iterator[Sequence[Any]]:
    """Run operations one after the other, each when its result is taken."""
    return ([run(connection, act)] for act in acts)


def perform_alone(connection: sqlite3.Connection, act: Act[R], *, is_patient: bool = False) -> R:
    """Run an operation that reads, on a consistent snapshot of the database.

    Raises `LargeReadError` if it would be a large read, unless `is_patient`.
    """
    with connection:
        connection.execute("BEGIN")
        return run(connection, act, is_patient)


def data_version(
    connection: sqlite3.Connection, requested: Sequence[None]
) -> Iterable[Sequence[int]]:
    """Return a number that changes whenever another connection has written."""
    return ([connection.execute("PRAGMA data_version").fetchone()[0]] for _ in requested)


def integrity(connection: sqlite3.Connection, requested: Sequence[None]) -> Iterable[Sequence[str]]:
    """Check every page and index; return `ok`, or the first problem."""
    return ([connection.execute("PRAGMA integrity_check(1)").fetchone()[0]] for _ in requested)


def save(
    connection: sqlite3.Connection, responses: Sequence[StoredResponse]
) -> Iterator[Sequence[None]]:
    """Store the responses. If an id occurs twice, the later response replaces the earlier one."""
    while len(responses) > 1:
        first = responses[:SAVES_AT_ONCE]
        together = max(1, fitting(first, ITEMS_AT_ONCE, BYTES_AT_ONCE))
        yield _save(connection, responses[:together])
        responses = responses[together:]
    if responses:
        yield _save(connection, responses)


def _save(connection: sqlite3.Connection, responses: Sequence[StoredResponse]) -> Sequence[None]:
    newest = {response.id: response for response in responses}.values()
    first = connection.execute("SELECT coalesce(max(seq), 0) + 1 FROM responses").fetchone()[0]
    placed = list(zip(count(first), newest, strict=False))
    _insert(connection, _with_seq(), [(seq, *response_row(response)) for seq, response in placed])
    items = list(chain.from_iterable(item_rows(seq, response) for seq, response in placed))
    _insert(connection, statement("put_item"), items)
    if noted := facts_of(responses):
        _put_facts(connection, noted)
    return [None] * len(responses)


def _put_facts(connection: sqlite3.Connection, facts: Sequence[Facts]) -> None:
    late = [one for one in facts if one.flags & SUMMED and not _is_ended(connection, one)]
    _insert(connection, statement("put_facts"), [facts_row(one) for one in facts])
    for text, response_id in late_sums(late) if late else ():
        connection.execute(*bound(text, (response_id,)))


def _is_ended(connection: sqlite3.Connection, facts: Facts) -> bool:
    return connection.execute(*bound(statement("ended_facts"), (facts.id,))).fetchone() is not None


@cache
def statement(query: str) -> str:
    """Return a query in SQLite's dialect: rows are not locked, because there is one writer."""
    return (
        queries_of("sqlite")[query]
        .replace(" FOR UPDATE SKIP LOCKED", "")
        .replace(" FOR UPDATE", "")
    )


def run(connection: sqlite3.Connection, act: Act[R], is_patient: bool = True) -> R:
    """Run an operation in the transaction that is open; see `perform_alone`."""
    operation = act.operation(*act.args, **act.kwargs)
    if act.changed:
        act.changed = []
    try:
        step = next(operation)
        while True:
            if isinstance(step, Query):
                text, sort = marked(statement(step.query))
            elif isinstance(step, Composed):
                text, sort = marked(step.text)
            elif isinstance(step, QueryWhere):
                text, sort = marked(statement(step.query).replace("{where}", step.where))
            elif step is NOW:
                step = operation.send(act.clock.now())
                continue
            elif isinstance(step, Now | Shift | Changed):
                step = operation.send(act.answer(step))
                continue
            else:
                _perform_other(connection, step, is_patient)
                step = operation.send(())
                continue
            rows = connection.execute(text, sort(step.values) if sort else step.values).fetchall()
            step = operation.send(rows)
    except StopIteration as done:
        result: R = done.value
        return result


def _perform_other(
    connection: sqlite3.Connection, step: QueryMany | QueryInSlices | ReadSize, is_patient: bool
) -> None:
    if isinstance(step, QueryMany):
        text, sort = marked(statement(step.query))
        connection.executemany(text, map(sort, step.rows) if sort else step.rows)
    elif isinstance(step, QueryInSlices):
        cursor = connection.execute(*bound(statement(step.query), step.values))
        while rows := cursor.fetchmany(SLICE):
            step.take(rows)
    elif step.is_large and not is_patient:
        raise LargeReadError


@cache
def _with_seq() -> str:
    """Return `put_response` with explicit row numbers: many new rows can be numbered before they
    are inserted.

    Replacing a response deletes its old items, because the foreign key cascades.
    """
    _, _, columns = statement("put_response").partition("INSERT INTO responses (")
    return f"INSERT OR REPLACE INTO responses (seq, {columns.removesuffix('RETURNING seq')}"


def _insert(connection: sqlite3.Connection, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
    start = 0
    while start < len(rows):
        most = _PARAMETERS_AT_ONCE // len(rows[0])
        # A power of two, so that the statements of all sizes stay in the cache
        # of prepared statements.
        size = 1 << min(most, len(rows) - start).bit_length() - 1
        connection.execute(
            _of_many_rows(query, size, len(rows[0])),
            list(chain.from_iterable(rows[start : start + size])),
        )
        start += size


@cache
def _of_many_rows(query: str, rows: int, columns: int) -> str:
    into, _, values = query.rpartition("VALUES")
    row = f"({', '.join('?' * columns)})"
    return f"{into}VALUES {', '.join([row] * rows)}{values.partition(')')[2]}"
