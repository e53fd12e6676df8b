"""The form of an act: a generator that yields statements, is sent their rows, and returns its result.

An act is performed in one transaction, which is undone where it raises. It may be performed again from its start.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

R = TypeVar("R")
Row = Sequence[Any]


class Query(Struct, frozen=True):
    """One statement by its name, with its parameters; its rows are sent back."""

    query: str
    values: tuple[Any, ...]


class QueryMany(Struct, frozen=True):
    """One statement for each of many rows of parameters; nothing is sent back."""

    query: str
    rows: Sequence[tuple[Any, ...]]


Rows = Sequence[Row]
Operation = Generator[Query | QueryMany, Rows, R]


def ask(query: str, *values: Any) -> Operation[Rows]:
    """Ask one statement and return its rows."""
    return (yield Query(query, values))


def first(query: str, *values: Any) -> Operation[Row | None]:
    """Ask one statement and return its first row, or None."""
    rows = yield Query(query, values)
    return rows[0] if rows else None


def ask_many(query: str, rows: Sequence[tuple[Any, ...]]) -> Operation[None]:
    """Ask one statement for each row; none for none."""
    if rows:
        yield QueryMany(query, rows)
