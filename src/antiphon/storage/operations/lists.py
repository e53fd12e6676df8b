"""Parts of lists that are in the order of their rows' numbers, between the places of ids that a client has."""

from collections.abc import Mapping
from typing import Any, Protocol

from antiphon.storage.operations.step import Operation, Rows, ask

BEFORE_ALL = 0
BEHIND_ALL = 2**62
"""Numbers that no row has."""


class PartQuery(Protocol):
    """How much of a list is wanted, in which order."""

    @property
    def limit(self) -> int:
        """Rows at most."""
        ...

    @property
    def descending(self) -> bool:
        """Newest first."""
        ...


def part(
    name: str, key: tuple[Any, ...], more: tuple[Any, ...], query: PartQuery, places: Mapping[str, int]
) -> Operation[tuple[Rows, bool]]:
    """Read a part of a list between the places of `after` and `before`; return it and whether there is more.

    The statements `{name}_up` and `{name}_down` have the parameters `key`, the numbers between which the part lies, the
    number of rows, and `more`. With `before` alone it is the part directly in front of that id, read backwards.
    """
    is_backwards = "before" in places and "after" not in places
    low, high = BEFORE_ALL, BEHIND_ALL
    for bound, place in places.items():
        if (bound == "after") is query.descending:
            high = place
        else:
            low = place
    direction = "down" if query.descending is not is_backwards else "up"
    rows = yield from ask(f"{name}_{direction}", *key, low, high, query.limit + 1, *more)
    found = list(rows[: query.limit])
    return found[::-1] if is_backwards else found, len(rows) > query.limit
