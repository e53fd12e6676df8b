"""The storage that tenants use: sums that triggers in the database keep up to date."""

from antiphon.storage.operations.step import (
    UNKNOWN_ITEMS,
    Operation,
    announce_read,
    query_rows,
    reads,
)
from antiphon.storage.records.tenants import StorageUse, TenantSize


@reads("stored_bytes")
def stored_bytes(tenant: str) -> Operation[int]:
    """Return the number of bytes that a tenant has stored.

    Counted are responses, conversations, their items, event logs, jobs with their requests and
    records of running calls, and replies stored for an `Idempotency-Key`.

    The number is always exact, and read in constant time: each transaction that changes the data
    also updates it.
    """
    ((size,),) = yield from query_rows("stored_bytes", tenant)
    return int(size)


@reads("storage_use", is_of_all=True)
def storage_use(limit: int) -> Operation[StorageUse]:
    """Return the bytes that all tenants have stored, and the `limit` largest tenants (at least
    one).

    The numbers are exact and consistent. The time grows with the number of tenants.
    """
    yield from announce_read(UNKNOWN_ITEMS)
    rows = yield from query_rows("storage_use", limit)
    if not rows:
        return StorageUse([], 0, 0)
    _, _, tenants, total = rows[0]
    return StorageUse([TenantSize(tenant, size) for tenant, size, _, _ in rows], tenants, total)
