"""What a connection remembers of its unstored responses, so that they can be followed (specification section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.errors import AntiphonError
from antiphon.gateway import StoredItem
from antiphon.sharing.memory import Account

Lane = str | None
"""A lane's name; None is the one that has none."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    response_id: str
    items: Sequence[StoredItem]
    size: int


class Recall:
    """The newest response of each lane, with everything that stands before the next one.

    Only what no store has: the rest is found there, by every replica and after a reconnect. The bytes of the items are
    the account's; where it has no room for them, the oldest go.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._newest: dict[Lane, _Remembered] = {}

    def find(self, response_id: str | None) -> Sequence[StoredItem] | None:
        """Return what a response leaves to the next one, whichever lane it was made in; None where it is not here."""
        return next((one.items for one in self._newest.values() if one.response_id == response_id), None)

    def advance(self, lane: Lane, response_id: str, items: Sequence[StoredItem] | None) -> None:
        """Take the newest response of a lane; `items` is None for one that the store has."""
        self._forget(lane)
        if items is None:
            return
        size = sum(len(item.body) + len(item.sealed or "") for item in items)
        while not self._has_room(size):
            if not self._newest:
                return
            self._forget(next(iter(self._newest)))
        self._newest[lane] = _Remembered(response_id, items, size)

    def fail(self, lane: Lane, parent_id: str | None) -> None:
        """A response of this lane that was to follow that one failed: its parent goes, unless it is another lane's."""
        newest = self._newest.get(lane)
        if newest is not None and newest.response_id == parent_id:
            self._forget(lane)

    def _has_room(self, size: int) -> bool:
        """Take the bytes from the account, and return whether it had them."""
        try:
            self._account.take(size)
        except AntiphonError:
            return False
        return True

    def _forget(self, lane: Lane) -> None:
        known = self._newest.pop(lane, None)
        if known is not None:
            self._account.release(known.size)
