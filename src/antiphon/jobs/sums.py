"""Adds the responses of past minutes to the sums from which figures are read."""

from antiphon.periodic import Periodic
from antiphon.storage.contract import Store

LOOK_EVERY = 20.0
"""Seconds between two looks."""


class Summing(Periodic):
    """Sums the responses of one store, from `start` to `close`. Every server does it; each response is summed once."""

    def __init__(self, store: Store) -> None:
        super().__init__(LOOK_EVERY, "Summing up responses waits")
        self._store = store

    async def look(self) -> None:
        """Sum what can be summed. Raises `StoreError`."""
        while await self._store.sum_up():
            pass
