"""How acts are performed over a connection, inside whatever transaction is open there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

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
    Rows,
    Step,
)
from antiphon.storage.sql import queries_of
from antiphon.storage.sql_store import MakeAct

QUERIES = queries_of("postgres")


@dataclass(slots=True)
class Attempt:
    """One try to perform an act."""

    is_decided: bool = False
    """The commit was sent: if its answer is lost, it is unknown whether it was done."""


async def use(connection: Any, act: Callable[[Any, Attempt], Awaitable[Any]], attempt: Attempt) -> Any:
    """Perform an act over a connection, which is closed where it can no longer be used."""
    try:
        return await act(connection, attempt)
    except (asyncpg.InternalClientError, asyncpg.ReadOnlySQLTransactionError, OSError):
        # Killed in the middle of something, or connected to a standby: it must not be reused.
        connection.terminate()
        raise


def performing(make: MakeAct[R], *, is_patient: bool = True) -> Callable[[Any], Awaitable[R]]:
    """Return what performs an act over a connection.

    It raises `LargeReadError` where the act would read much, unless it `is_patient`.
    """
    return lambda connection: _perform(connection, make(), is_patient)


async def _perform(connection: Any, act: Operation[R], is_patient: bool) -> R:
    rows: Rows = ()
    try:
        step = next(act)
        while True:
            rows = await _ask(connection, step, is_patient)
            step = act.send(rows)
    except StopIteration as done:
        result: R = done.value
        return result


async def _ask(connection: Any, step: Step, is_patient: bool) -> Rows:
    rows: Rows = ()
    if isinstance(step, Query):
        rows = await connection.fetch(QUERIES[step.query], *step.values)
    elif isinstance(step, Composed):
        rows = await connection.fetch(step.text, *step.values)
    elif isinstance(step, QueryWhere):
        rows = await connection.fetch(QUERIES[step.query].replace("{where}", step.where), *step.values)
    elif isinstance(step, QueryMany):
        await connection.executemany(QUERIES[step.query], step.rows)
    elif isinstance(step, QueryInSlices):
        await _take(await connection.fetch(QUERIES[step.query], *step.values), step.take)
    elif step.is_large and not is_patient:
        raise LargeReadError
    return rows


async def _take(rows: Rows, take: Callable[[Rows], None]) -> None:
    """Have rows become values, a part at a time. They came the same way: as the driver receives them, it reads them."""
    for start in range(0, len(rows), SLICE):
        if start:
            await asyncio.sleep(0)
        take(rows[start : start + SLICE])
