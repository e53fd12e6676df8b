"""How acts are performed on an SQLite connection, inside whatever transaction is open there.

The writer hands over several of a kind at once, because plain saves go in together: a statement releases Python's
lock once for each row that it steps over, and a busy event loop takes its time to give it back. So 64 responses with
their items are two statements of many rows, not some hundreds of one.
"""

import re
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, count
from typing import Any, TypeVar

from antiphon.storage.operations.facts import facts_of, facts_row
from antiphon.storage.operations.figures import late_sums
from antiphon.storage.operations.responses import item_rows, response_row
from antiphon.storage.operations.step import (
    SLICE,
    Composed,
    LargeReadError,
    Operation,
    Query,
    QueryInSlices,
    QueryMany,
    QueryWhere,
    R,
    ReadSize,
    Rows,
)
from antiphon.storage.records import Facts, StoredResponse
from antiphon.storage.records.facts import SUMMED
from antiphon.storage.sql import queries_of
from antiphon.storage.sql_store import MakeAct

A = TypeVar("A")
Doing = Callable[[sqlite3.Connection, Sequence[A]], Sequence[R]]
"""Takes several arguments and returns as many results."""

_PARAMETERS_AT_ONCE = 999  # the fewest that any build of SQLite takes


def perform(connection: sqlite3.Connection, acts: Sequence[MakeAct[Any]]) -> Sequence[Any]:
    """Perform one act after the other."""
    return [_perform(connection, make()) for make in acts]


def perform_alone(connection: sqlite3.Connection, make: MakeAct[R], *, is_patient: bool = False) -> R:
    """Perform an act that reads, on one state of the database.

    Raises `LargeReadError` where it would read much, unless `is_patient`.
    """
    with connection:
        connection.execute("BEGIN")
        return _perform(connection, make(), is_patient)


def data_version(connection: sqlite3.Connection, asked: Sequence[None]) -> Sequence[int]:
    """Return a number that changes when another connection has written."""
    return [connection.execute("PRAGMA data_version").fetchone()[0] for _ in asked]


def integrity(connection: sqlite3.Connection, asked: Sequence[None]) -> Sequence[str]:
    """Read every page and index; return `ok`, or the first thing that is wrong."""
    return [connection.execute("PRAGMA integrity_check(1)").fetchone()[0] for _ in asked]


def save(connection: sqlite3.Connection, responses: Sequence[StoredResponse]) -> Sequence[None]:
    """Put the responses in; where one comes twice, the later stands."""
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
    _insert(connection, statement("put_facts"), [facts_row(one) for one in facts])
    late = [one for one in facts if one.flags & SUMMED]
    for text, response_id in late_sums(late) if late else ():
        connection.execute(in_sqlite(text), (response_id,))


@cache
def statement(query: str) -> str:
    """Return a query in SQLite's words: parameters are `?1`, and no row is locked, since there is one writer."""
    return in_sqlite(queries_of("sqlite")[query].replace(" FOR UPDATE SKIP LOCKED", "").replace(" FOR UPDATE", ""))


def in_sqlite(text: str) -> str:
    """Return a statement with SQLite's form of parameters."""
    return re.sub(r"\$(\d+)", r"?\1", text)


def _perform(connection: sqlite3.Connection, act: Operation[R], is_patient: bool = True) -> R:
    rows: Rows = ()
    try:
        step = next(act)
        while True:
            if isinstance(step, Query):
                rows = connection.execute(statement(step.query), step.values).fetchall()
            elif isinstance(step, Composed):
                rows = connection.execute(in_sqlite(step.text), step.values).fetchall()
            elif isinstance(step, QueryWhere):
                text = in_sqlite(statement(step.query).replace("{where}", step.where))
                rows = connection.execute(text, step.values).fetchall()
            else:
                _perform_other(connection, step, is_patient)
                rows = ()
            step = act.send(rows)
    except StopIteration as done:
        result: R = done.value
        return result


def _perform_other(
    connection: sqlite3.Connection, step: QueryMany | QueryInSlices | ReadSize, is_patient: bool
) -> None:
    if isinstance(step, QueryMany):
        connection.executemany(statement(step.query), step.rows)
    elif isinstance(step, QueryInSlices):
        cursor = connection.execute(statement(step.query), step.values)
        while rows := cursor.fetchmany(SLICE):
            step.take(rows)
    elif step.is_large and not is_patient:
        raise LargeReadError


@cache
def _with_seq() -> str:
    """`put_response` with its row's number: new rows are numbered before they go in, many at once.

    Replacing a response drops its old items with it: the foreign key cascades.
    """
    text = statement("put_response").replace("INSERT INTO", "INSERT OR REPLACE INTO", 1).replace("(\n", "(seq,\n", 1)
    return text.partition("RETURNING")[0]


def _insert(connection: sqlite3.Connection, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
    start = 0
    while start < len(rows):
        most = _PARAMETERS_AT_ONCE // len(rows[0])
        # A power of two: the statements of all sizes stay prepared.
        size = 1 << min(most, len(rows) - start).bit_length() - 1
        connection.execute(
            _of_many_rows(query, size, len(rows[0])), list(chain.from_iterable(rows[start : start + size]))
        )
        start += size


@cache
def _of_many_rows(query: str, rows: int, columns: int) -> str:
    into, _, values = query.rpartition("VALUES")
    row = f"({', '.join('?' * columns)})"
    return f"{into}VALUES {', '.join([row] * rows)}{values.partition(')')[2]}"
