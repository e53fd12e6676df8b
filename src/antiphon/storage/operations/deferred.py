"""Deferred jobs that wait, in pages."""

from msgspec.structs import replace

from antiphon.storage.operations.step import (
    SHIFT,
    Operation,
    announce_read,
    first,
    query_rows,
    reads,
)
from antiphon.storage.records.jobs import DeferredJob
from antiphon.storage.records.pages import Page


@reads("deferred_page")
def page(tenant: str | None, limit: int, after: str = "") -> Operation[Page[DeferredJob]]:
    """Return deferred jobs of one tenant, or of all, that no worker runs: up to `limit`, oldest
    first.

    `after` is the id of a response, of which the job may have ended. Times are those of this
    process's clock.
    """
    own = int(tenant is not None), tenant or ""
    place = 0
    if after:
        row = yield from first("response_place", after, *own)
        if row is None:
            return Page(unknown="after")
        place = row[0]
    yield from announce_read(limit)
    shift: int = yield SHIFT
    rows = yield from query_rows("deferred_page", place, *own, limit + 1)
    found = [DeferredJob(*row) for row in rows[:limit]]
    data = [replace(one, begin_by=one.begin_by - shift) for one in found]
    return Page(tuple(data), len(rows) > limit)
