"""Expired rows of all tenants: counted, and deleted a few at a time. `storage/upkeep.py` decides
which, and when.
"""

from antiphon.storage.operations.step import NOW, Operation, first, query_rows, reads, writes
from antiphon.storage.records.responses import PurgeSize

PURGED_FREELY = 1_000
"""Maximum number of responses that any purge can delete, however few are stored."""


@writes("purge", is_of_all=True, frees=True)
def purge(table: str, age: int, limit: int) -> Operation[int]:
    """Delete up to `limit` rows of a table that ended at least `age` seconds ago; return the number
    of deleted rows.
    """
    now: int = yield NOW
    return len((yield from query_rows(f"purge_{table}", now - age, limit)))


@reads("count_expired", is_of_all=True)
def count(table: str, age: int) -> Operation[int]:
    """Return the number of rows that `purge` would delete without a limit."""
    now: int = yield NOW
    (row,) = yield from query_rows(f"count_{table}", now - age)
    return int(row[0])


@writes("purge_size", is_of_all=True, frees=True)
def purge_size(fraction: float) -> Operation[PurgeSize]:
    """Return how much a purge would delete, and whether that exceeds this fraction of the stored
    objects.

    Responses and chat completions are counted.
    """
    now: int = yield NOW
    (row,) = yield from query_rows("purge_total")
    most = max(PURGED_FREELY, int(fraction * row[0]))
    (expired,) = yield from query_rows("purge_size", now, most + 1)
    return PurgeSize(expired[0], row[0], expired[0] > most)


@reads("has_expired_container", is_of_all=True)
def has_expired_container() -> Operation[bool]:
    """Return whether a container has expired that still has its files."""
    now: int = yield NOW
    return (yield from first("has_expired_container", now)) is not None
