"""What a connection remembers of its unstored responses, so that they can be followed (specification section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.gateway import StoredItem

MAX_REMEMBERED = 256 * 1024 * 1024
"""Bytes of items that one connection can have remembered; what is over it goes, the oldest first."""

Lane = str | None
"""A lane's name; None is the one that has none."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    response_id: str
    items: Sequence[StoredItem]
    size: int


class Recall:
    """The newest response of each lane, with everything that stands before the next one.

    Only what no store has: the rest is found there, by every replica and after a reconnect.
    """

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._newest: dict[Lane, _Remembered] = {}

    def find(self, response_id: str | None) -> Sequence[StoredItem] | None:
        """Return what a response leaves to the next one, whichever lane it was made in; None where it is not here."""
        return next((one.items for one in self._newest.values() if one.response_id == response_id), None)

    def advance(self, lane: Lane, response_id: str, items: Sequence[StoredItem] | None) -> None:
        """Take the newest response of a lane; `items` is None for one that the store has."""
        self._newest.pop(lane, None)
        if items is None:
            return
        size = sum(len(item.body) + len(item.sealed or "") for item in items)
        self._newest[lane] = _Remembered(response_id, items, size)
        while sum(one.size for one in self._newest.values()) > self._limit:
            del self._newest[next(iter(self._newest))]

    def fail(self, lane: Lane, parent_id: str | None) -> None:
        """A response of this lane that was to follow that one failed: its parent goes, unless it is another lane's."""
        newest = self._newest.get(lane)
        if newest is not None and newest.response_id == parent_id:
            del self._newest[lane]
