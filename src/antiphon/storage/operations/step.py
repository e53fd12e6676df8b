"""The form of an act: a generator that yields statements, is sent their rows, and returns its result.

An act is performed in one transaction, which is undone where it raises. It may be performed again from its start.
"""

from collections.abc import Callable, Generator, Sequence
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


class QueryInSlices(Struct, frozen=True):
    """One statement with possibly many rows: `take` is called with a part of them at a time; nothing is sent back."""

    query: str
    values: tuple[Any, ...]
    take: Callable[[Rows], None]


class Composed(Struct, frozen=True):
    """One statement in full, put together from fixed parts, with its parameters; its rows are sent back."""

    text: str
    values: tuple[Any, ...]


class QueryWhere(Struct, frozen=True):
    """One statement by its name, with a condition built from fixed parts as its `{where}`; its rows are sent back.

    `values` are the parameters of the statement and then those of the condition, which counts on.
    """

    query: str
    where: str
    values: tuple[Any, ...]


class ReadSize(Struct, frozen=True):
    """How many rows, and bytes of them, the statements that follow will read.

    An act that reads much is performed where it does not block others.

    Then it starts again, so an act announces before it reads. Nothing is sent back.
    """

    items: int
    size: int = 0

    @property
    def is_large(self) -> bool:
        """Whether reading it takes so long that the event loop must not do it in one go."""
        return self.items > FEW_ITEMS or self.size > FEW_BYTES


FEW_ITEMS = 1000
"""Items that are read in a millisecond or two."""

FEW_BYTES = 512 * 1024
"""Bytes that are read in less than a millisecond."""

SLICE = 250
"""Rows in a part of a large result: they become values in less than a millisecond."""


class LargeReadError(Exception):
    """An act announced more than is read here: perform it elsewhere, from its start. It is no error of the store's."""


Step = Query | QueryMany | QueryInSlices | QueryWhere | Composed | ReadSize
Operation = Generator[Step, Rows, R]


def ask(query: str, *values: Any) -> Operation[Rows]:
    """Ask one statement and return its rows."""
    return (yield Query(query, values))


def ask_where(query: str, where: str, *values: Any) -> Operation[Rows]:
    """Ask one statement with a condition and return its rows."""
    return (yield QueryWhere(query, where, values))


def first(query: str, *values: Any) -> Operation[Row | None]:
    """Ask one statement and return its first row, or None."""
    rows = yield Query(query, values)
    return rows[0] if rows else None


def announce_read(items: int, size: int = 0) -> Operation[None]:
    """Say how much the statements that follow will read; see `ReadSize`."""
    yield ReadSize(items, size)


def ask_in_slices(query: str, values: tuple[Any, ...], take: Callable[[Rows], None]) -> Operation[None]:
    """Ask one statement and have its rows taken, a part at a time."""
    yield QueryInSlices(query, values, take)


def ask_many(query: str, rows: Sequence[tuple[Any, ...]]) -> Operation[None]:
    """Ask one statement for each row; none for none."""
    if rows:
        yield QueryMany(query, rows)
