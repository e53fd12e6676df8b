"""Adds the responses of past minutes to the sums from which statistics are read."""

from antiphon.periodic import Periodic
from antiphon.storage.operations import figures
from antiphon.storage.store import Store

POLL_INTERVAL = 20.0
"""Seconds between two runs."""


class Summing(Periodic):
    """Sums the responses of one store, from `start` to `close`.

    Every server does it; each response is summed once.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(POLL_INTERVAL, "Cannot sum up responses")
        self._store = store

    async def poll_once(self) -> None:
        """Add all responses that are ready. Raises `StoreError`."""
        while await self._store.write(figures.sum_up):
            pass
