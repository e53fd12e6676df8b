"""Notices that another database server took over, and whether it lacks what this process saw."""

from antiphon.errors import log
from antiphon.status.upkeep import Upkeep
from antiphon.storage.store import Store, StorePosition

COMPLETE = "The store's database failed over to another server. That has all that this server saw."
OLDER = (
    "The store's database failed over to another server, which lacks the last %s bytes of the log. "
    "Responses that were acknowledged just before are lost. Only synchronous replication prevents "
    "this."
)


class FailoverWatch:
    """Compares each position of the store's log with the one before, and reports to `upkeep`.

    Commits after the last check are not seen: a server that lacks only those seems complete.
    """

    def __init__(self, store: Store, upkeep: Upkeep) -> None:
        self._store = store
        self._upkeep = upkeep
        self._last: StorePosition | None = None

    async def check(self) -> None:
        """Check once. Raises `StoreError`."""
        position = await self._store.position()
        last, self._last = self._last, position or self._last
        if position is None or last is None or position.timeline == last.timeline:
            return
        lost = last.place - position.place
        if lost > 0:
            self._upkeep.older_failovers += 1
            log.error(OLDER, f"{lost:,}")
        else:
            self._upkeep.complete_failovers += 1
            log.warning(COMPLETE)
