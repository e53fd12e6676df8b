"""The unstored responses of a connection, so that the next request can continue them (specification
section 8).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.errors import AntiphonError
from antiphon.gateway import StoredItem
from antiphon.sharing.memory import Account

Lane = str | None
"""A lane's name; None for the unnamed lane."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    response_id: str
    items: Sequence[StoredItem]
    size: int


class Recall:
    """The newest response of each lane, with the context of the next one.

    Only unstored data: stored data is in the store, for every replica and after a reconnect. The
    bytes of the items are reserved in the account; if it is full, the oldest are dropped.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._newest: dict[Lane, _Remembered] = {}

    def find(self, response_id: str | None) -> Sequence[StoredItem] | None:
        """Return the context that a response leaves to the next one, from any lane; None if it is
        not here.
        """
        return next(
            (one.items for one in self._newest.values() if one.response_id == response_id), None
        )

    def advance(self, lane: Lane, response_id: str, items: Sequence[StoredItem] | None) -> None:
        """Remember the newest response of a lane; `items` is None for a stored one."""
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
        """A response of this lane that continued that one failed: forget its parent, unless another
        lane has it.
        """
        newest = self._newest.get(lane)
        if newest is not None and newest.response_id == parent_id:
            self._forget(lane)

    def _has_room(self, size: int) -> bool:
        """Reserve the bytes in the account, and return whether it had room."""
        try:
            self._account.take(size)
        except AntiphonError:
            return False
        return True

    def _forget(self, lane: Lane) -> None:
        known = self._newest.pop(lane, None)
        if known is not None:
            self._account.release(known.size)
