"""The form of an act: a generator that yields statements, is sent their rows, and returns its result.

An act is performed in one transaction, which is undone where it raises. It may be performed again from its start.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

R = TypeVar("R")
Row = Sequence[Any]


class Ask(Struct, frozen=True):
    """One statement by its name, with its parameters; its rows are sent back."""

    query: str
    values: tuple[Any, ...]


class AskMany(Struct, frozen=True):
    """One statement for each of many rows of parameters; nothing is sent back."""

    query: str
    rows: Sequence[tuple[Any, ...]]


Rows = Sequence[Row]
Act = Generator[Ask | AskMany, Rows, R]


def ask(query: str, *values: Any) -> Act[Rows]:
    """Ask one statement and return its rows."""
    return (yield Ask(query, values))


def first(query: str, *values: Any) -> Act[Row | None]:
    """Ask one statement and return its first row, or None."""
    rows = yield Ask(query, values)
    return rows[0] if rows else None


def ask_many(query: str, rows: Sequence[tuple[Any, ...]]) -> Act[None]:
    """Ask one statement for each row; none for none."""
    if rows:
        yield AskMany(query, rows)
