"""Deletes expired data every minute, unless the clock is wrong or the purge is unusually large."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from antiphon.errors import log
from antiphon.jobs.failovers import FailoverWatch
from antiphon.periodic import Periodic
from antiphon.status.upkeep import Upkeep
from antiphon.storage.operations import expiry, files
from antiphon.storage.records.responses import PurgeSize
from antiphon.storage.store import Store
from antiphon.storage.upkeep import RETENTION, expire_containers, purge

POLL_INTERVAL = 2.0
"""Seconds between two checks of the clock; other servers wait for this one to write its time."""

PURGE_EVERY = 60.0
"""Seconds between two purges."""

MOST_SKEW = 60.0
"""Seconds by which this process's clock can differ from the store's."""

PATIENCE = 6.0
"""Seconds that a command waits for the clocks of running servers."""

CHECK = "Check the clock and `retention_days`, then run `antiphon purge --yes`."


BLOBS_AT_ONCE = 100
"""Blobs without a file that are claimed at once."""

MOST_BLOBS = 1000
"""Blobs that one purge deletes: a bucket needs a request for each."""

MOST_CONTAINERS = 1000
"""Expired containers that one purge empties."""

DeleteBlobs = Callable[[Sequence[str]], Awaitable[None]]
"""Deletes the content of the claimed blobs, and removes the blobs."""


async def sweep(store: Store, delete_blobs: DeleteBlobs) -> int:
    """Delete the content that no file refers to; return how many blobs. Raises `StoreError`."""
    removed = 0
    while removed < MOST_BLOBS and (stale := await store.write(files.claim_stale, BLOBS_AT_ONCE)):
        await delete_blobs(stale)
        removed += len(stale)
    return removed


class Cleaner(Periodic):
    """Purges one store, from `start` to `close`, and reports to `upkeep` the reason if
    it cannot purge.
    """

    def __init__(
        self,
        store: Store,
        fraction: float,
        upkeep: Upkeep,
        retention: int = RETENTION,
        delete_blobs: DeleteBlobs | None = None,
    ) -> None:
        super().__init__(POLL_INTERVAL, "Cannot delete expired data")
        self._store = store
        self._fraction = fraction
        self._upkeep = upkeep
        self._failovers = FailoverWatch(store, upkeep)
        self._retention = retention
        self._purged: float | None = None
        self._delete_blobs = delete_blobs

    async def poll_once(self) -> None:
        """Check the disk, the database and the clock once, and purge if a purge is due. Raises
        `StoreError`.
        """
        await self._failovers.check()
        self._upkeep.is_disk_full = not await self._store.has_room()
        skew = await self._store.clock_skew()
        if skew is None:
            return
        self._report_skew(skew)
        if abs(skew) > MOST_SKEW or (
            self._purged is not None and time.monotonic() - self._purged < PURGE_EVERY
        ):
            return
        self._purged = time.monotonic()
        size = await self._store.write(expiry.purge_size, self._fraction)
        self._report_size(size)
        if not size.is_too_large:
            await purge(self._store, self._retention)
        await expire_containers(self._store, MOST_CONTAINERS)
        if self._delete_blobs is not None:
            await sweep(self._store, self._delete_blobs)

    def _report_skew(self, skew: float) -> None:
        was_off, is_off = (abs(one) > MOST_SKEW for one in (self._upkeep.clock_skew, skew))
        self._upkeep.clock_skew = skew
        if is_off and not was_off:
            log.error(
                "%s It does not delete expired data until the clock is correct.", differs(skew)
            )
        elif was_off and not is_off:
            log.warning("This server's clock agrees with the store's again.")

    def _report_size(self, size: PurgeSize) -> None:
        retained = size.expired if size.is_too_large else 0
        if retained and not self._upkeep.purge_held:
            log.error("%s Expired data is not deleted. %s", too_large(size, self._fraction), CHECK)
        self._upkeep.purge_held = retained


def differs(skew: float) -> str:
    """Return a sentence about a clock that differs from the store's."""
    return (
        f"This server's clock is {abs(skew):.0f} s "
        f"{'ahead of' if skew > 0 else 'behind'} the store's."
    )


def too_large(size: PurgeSize, fraction: float) -> str:
    """Return a sentence about a purge that would delete too much."""
    return (
        f"At least {size.expired:,} of about {size.total:,} stored responses have expired, "
        f"more than the {fraction:.0%} that one purge can delete (setting purge_fraction)."
    )


async def objection(store: Store, fraction: float) -> str | None:
    """Return why a purge by an operator should not run: a wrong clock, or too much
    to delete; else None.
    """
    skew = await store.clock_skew()
    until = time.monotonic() + PATIENCE
    while skew is None and time.monotonic() < until:
        await asyncio.sleep(POLL_INTERVAL / 4)
        skew = await store.clock_skew()
    if skew is not None and abs(skew) > MOST_SKEW:
        return differs(skew)
    size = await store.write(expiry.purge_size, fraction)
    return too_large(size, fraction) if size.is_too_large else None
