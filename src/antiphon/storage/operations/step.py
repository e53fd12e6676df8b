"""The form of an operation: a generator that yields statements, receives their rows, and returns
its result.

An operation runs in one transaction, which is rolled back if it raises. It can be run again from
the start.

What callers of a store use is a `Read` or a `Write`: `await store.read(files.load, tenant,
file_id)`. Its first argument is the tenant of the rows, or a record with it; None stands for all
tenants. Databases with row security show it no other rows.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec import Struct

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
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
    """One statement that can return many rows.

    `take` is called with each slice of them; nothing is sent back.
    """

    query: str
    values: tuple[Any, ...]
    take: Callable[[Rows], None]


class Composed(Struct, frozen=True):
    """The complete text of one statement, assembled from fixed parts, with its parameters.

    Its rows are sent back.
    """

    text: str
    values: tuple[Any, ...]


class QueryWhere(Struct, frozen=True):
    """One statement by name, with a condition, assembled from fixed parts, as its `{where}`.

    Its rows are sent back.

    `values` are the parameters of the statement, followed by those of the condition.
    """

    query: str
    where: str
    values: tuple[Any, ...]


class Now(Struct, frozen=True):
    """Asks for the store's time: whole seconds are sent back, or a float if it is `exact`."""

    exact: bool = False


NOW = Now()
EXACT_NOW = Now(exact=True)


class Shift(Struct, frozen=True):
    """Asks for what is added to a time of this process's clock to have the store's time: whole
    seconds.
    """


SHIFT = Shift()


class Changed(Struct, frozen=True):
    """Names what the operation changes: who waits for it is notified after the commit.

    Nothing is sent back.
    """

    names: Sequence[str]


class ReadSize(Struct, frozen=True):
    """How many rows, and bytes of them, the following statements will read.

    A large read runs where it does not block others. The operation then starts again from the
    beginning, so it must announce its size before it reads. Nothing is sent back.
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
    """An operation announced a large read: run it elsewhere, from the start.

    This is not a failure of the store.
    """


Statement = Query | QueryMany | QueryInSlices | QueryWhere | Composed
Step = Statement | ReadSize | Now | Shift | Changed
Operation = Generator[Step, Any, R]


class _Named(Generic[P, R_co]):
    """An operation for callers of a store. `name` is that of the metrics and of the log."""

    __slots__ = ("begin", "is_of_all", "name")

    def __init__(self, begin: Callable[P, Operation[R_co]], name: str, *, is_of_all: bool) -> None:
        self.begin = begin
        self.name = name
        self.is_of_all = is_of_all

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Operation[R_co]:
        """Begin it as a part of another operation."""
        return self.begin(*args, **kwargs)


class Read(_Named[P, R_co]):
    """An operation that only reads."""

    __slots__ = ()


class Write(_Named[P, R_co]):
    """An operation that writes.

    One that `frees` space, or revokes a key, must succeed on a full disk.
    """

    __slots__ = ("frees",)

    def __init__(
        self, begin: Callable[P, Operation[R_co]], name: str, *, is_of_all: bool, frees: bool
    ) -> None:
        super().__init__(begin, name, is_of_all=is_of_all)
        self.frees = frees


def reads(
    name: str, *, is_of_all: bool = False
) -> Callable[[Callable[P, Operation[R]]], Read[P, R]]:
    """Make a function a `Read`.

    One that `is_of_all` tenants has no tenant as its first argument.
    """
    return lambda begin: Read(begin, name, is_of_all=is_of_all)


def writes(
    name: str, *, is_of_all: bool = False, frees: bool = False
) -> Callable[[Callable[P, Operation[R]]], Write[P, R]]:
    """Make a function a `Write`.

    One that `is_of_all` tenants has no tenant as its first argument.
    """
    return lambda begin: Write(begin, name, is_of_all=is_of_all, frees=frees)


def query_rows(query: str, *values: Any) -> Operation[Rows]:
    """Run one statement and return its rows."""
    rows: Rows = yield Query(query, values)
    return rows


def query_where(query: str, where: str, *values: Any) -> Operation[Rows]:
    """Run one statement with a condition and return its rows."""
    rows: Rows = yield QueryWhere(query, where, values)
    return rows


def query_composed(text: str, values: tuple[Any, ...]) -> Operation[Rows]:
    """Run one assembled statement and return its rows."""
    rows: Rows = yield Composed(text, values)
    return rows


def first(query: str, *values: Any) -> Operation[Row | None]:
    """Run one statement and return its first row, or None."""
    rows: Rows = yield Query(query, values)
    return rows[0] if rows else None


def announce_read(items: int, size: int = 0) -> Operation[None]:
    """Announce how much the following statements will read; see `ReadSize`."""
    yield ReadSize(items, size)


def query_in_slices(
    query: str, values: tuple[Any, ...], take: Callable[[Rows], None]
) -> Operation[None]:
    """Run one statement and process its rows, a slice at a time."""
    yield QueryInSlices(query, values, take)


def query_many(query: str, rows: Sequence[tuple[Any, ...]]) -> Operation[None]:
    """Run one statement for each row; nothing if there are no rows."""
    if rows:
        yield QueryMany(query, rows)
