"""Pages of lists that are ordered by row number, between the positions of given ids."""

from collections.abc import Mapping
from typing import Any, Protocol

from antiphon.storage.operations.step import Operation, Rows, query_rows

BEFORE_ALL = 0
BEHIND_ALL = 2**62
"""A number that is greater than that of any row."""


class PartQuery(Protocol):
    """The size and the order of a page."""

    @property
    def limit(self) -> int:
        """Maximum number of rows."""
        ...

    @property
    def descending(self) -> bool:
        """Whether the newest rows come first."""
        ...


def part(
    name: str,
    key: tuple[Any, ...],
    more: tuple[Any, ...],
    query: PartQuery,
    places: Mapping[str, int],
) -> Operation[tuple[Rows, bool]]:
    """Return the part of a list between `after` and `before`, and whether there is more.

    The statements `{name}_up` and `{name}_down` have the parameters `key`, the numbers that bound
    the part, the number of rows, and `more`. With only `before`, the part ends directly before that
    id, and is read backwards.
    """
    is_backwards = "before" in places and "after" not in places
    low = BEFORE_ALL
    high = BEHIND_ALL
    for bound, place in places.items():
        if (bound == "after") is query.descending:
            high = place
        else:
            low = place
    direction = "down" if query.descending is not is_backwards else "up"
    rows = yield from query_rows(f"{name}_{direction}", *key, low, high, query.limit + 1, *more)
    found = list(rows[: query.limit])
    return found[::-1] if is_backwards else found, len(rows) > query.limit
