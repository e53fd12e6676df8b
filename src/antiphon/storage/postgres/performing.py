"""Runs operations over a connection, within its open transaction."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

from antiphon.storage.act import Act
from antiphon.storage.operations.step import (
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
    Rows,
    Shift,
    Statement,
)
from antiphon.storage.sql import queries_of

QUERIES = queries_of("postgres")


@dataclass(slots=True)
class Attempt:
    """One attempt to run an operation."""

    is_decided: bool = False
    """Whether the commit was sent: if its reply is lost, it is unknown whether the operation was
    committed.
    """


async def use(
    connection: Any, act: Callable[[Any, Attempt], Awaitable[Any]], attempt: Attempt
) -> Any:
    """Run an operation over a connection. The connection is closed if it can no longer be used."""
    try:
        return await act(connection, attempt)
    except (asyncpg.InternalClientError, asyncpg.ReadOnlySQLTransactionError, OSError):
        # Interrupted in the middle of something, or connected to a standby: it must not be reused.
        connection.terminate()
        raise


def performing(act: Act[R], *, is_patient: bool = True) -> Callable[[Any], Awaitable[R]]:
    """Return a function that runs an operation over a connection.

    It raises `LargeReadError` if the operation would be a large read, unless it `is_patient`.
    """
    return lambda connection: _perform(connection, act, is_patient)


async def _perform(connection: Any, act: Act[R], is_patient: bool) -> R:
    operation = act.operation(*act.args, **act.kwargs)
    act.changed = []
    try:
        step = next(operation)
        while True:
            if isinstance(step, Now | Shift | Changed):
                step = operation.send(act.answer(step))
            else:
                step = operation.send(await _request(connection, step, is_patient))
    except StopIteration as done:
        result: R = done.value
        return result


async def _request(connection: Any, step: Statement | ReadSize, is_patient: bool) -> Rows:
    rows: Rows = ()
    if isinstance(step, Query):
        rows = await connection.fetch(QUERIES[step.query], *step.values)
    elif isinstance(step, Composed):
        rows = await connection.fetch(step.text, *step.values)
    elif isinstance(step, QueryWhere):
        rows = await connection.fetch(
            QUERIES[step.query].replace("{where}", step.where), *step.values
        )
    elif isinstance(step, QueryMany):
        await connection.executemany(QUERIES[step.query], step.rows)
    elif isinstance(step, QueryInSlices):
        await _take(await connection.fetch(QUERIES[step.query], *step.values), step.take)
    elif step.is_large and not is_patient:
        raise LargeReadError
    return rows


async def _take(rows: Rows, take: Callable[[Rows], None]) -> None:
    """Convert rows to values, in slices that let the event loop run.

    The driver decodes rows in the same way.
    """
    for start in range(0, len(rows), SLICE):
        if start:
            await asyncio.sleep(0)
        take(rows[start : start + SLICE])
