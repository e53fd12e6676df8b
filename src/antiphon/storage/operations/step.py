"""The form of an operation: a generator that yields statements, receives their rows, and returns its result.

An operation runs in one transaction, which is rolled back if it raises. It can be run again from the start.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

R = TypeVar("R")
Row = Sequence[Any]


class Query(Struct, frozen=True):
    """One statement by name, with its parameters. Its rows are sent back."""

    query: str
    values: tuple[Any, ...]


class QueryMany(Struct, frozen=True):
    """One statement for each of many rows of parameters. Nothing is sent back."""

    query: str
    rows: Sequence[tuple[Any, ...]]


Rows = Sequence[Row]


class QueryInSlices(Struct, frozen=True):
    """One statement that can return many rows. `take` is called with each slice of them; nothing is sent back."""

    query: str
    values: tuple[Any, ...]
    take: Callable[[Rows], None]


class Composed(Struct, frozen=True):
    """The complete text of one statement, assembled from fixed parts, with its parameters. Its rows are sent back."""

    text: str
    values: tuple[Any, ...]


class QueryWhere(Struct, frozen=True):
    """One statement by name, with a condition, assembled from fixed parts, as its `{where}`. Its rows are sent back.

    `values` are the parameters of the statement, followed by those of the condition.
    """

    query: str
    where: str
    values: tuple[Any, ...]


class ReadSize(Struct, frozen=True):
    """How many rows, and bytes of them, the following statements will read.

    A large read runs where it does not block others. The operation then starts again from the beginning, so it must
    announce its size before it reads. Nothing is sent back.
    """

    items: int
    size: int

    @property
    def is_large(self) -> bool:
        """Whether the read takes so long that it must not run on the event loop in one step."""
        return self.items > FEW_ITEMS or self.size > FEW_BYTES


FEW_ITEMS = 1000
"""Number of items that are read in one or two milliseconds."""

UNKNOWN_ITEMS = FEW_ITEMS + 1
"""What a read announces if the number of its rows is only known after it: a large read."""

FEW_BYTES = 512 * 1024
"""Number of bytes that are read in less than a millisecond."""

SLICE = 250
"""Rows in a slice of a large result. They are converted to values in less than a millisecond."""


class LargeReadError(Exception):
    """An operation announced a large read: run it elsewhere, from the start. This is not a failure of the store."""


Step = Query | QueryMany | QueryInSlices | QueryWhere | Composed | ReadSize
Operation = Generator[Step, Rows, R]


def ask(query: str, *values: Any) -> Operation[Rows]:
    """Run one statement and return its rows."""
    return (yield Query(query, values))


def ask_where(query: str, where: str, *values: Any) -> Operation[Rows]:
    """Run one statement with a condition and return its rows."""
    return (yield QueryWhere(query, where, values))


def first(query: str, *values: Any) -> Operation[Row | None]:
    """Run one statement and return its first row, or None."""
    rows = yield Query(query, values)
    return rows[0] if rows else None


def announce_read(items: int, size: int = 0) -> Operation[None]:
    """Announce how much the following statements will read; see `ReadSize`."""
    yield ReadSize(items, size)


def ask_in_slices(query: str, values: tuple[Any, ...], take: Callable[[Rows], None]) -> Operation[None]:
    """Run one statement and process its rows, a slice at a time."""
    yield QueryInSlices(query, values, take)


def ask_many(query: str, rows: Sequence[tuple[Any, ...]]) -> Operation[None]:
    """Run one statement for each row; nothing if there are no rows."""
    if rows:
        yield QueryMany(query, rows)
