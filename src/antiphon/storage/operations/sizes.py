"""The storage that tenants use: sums that triggers in the database keep up to date."""

from antiphon.storage.operations.step import UNKNOWN_ITEMS, Operation, announce_read, ask
from antiphon.storage.records import StorageUse, TenantSize


def stored_bytes(tenant: str) -> Operation[int]:
    """Return the bytes that a tenant has stored."""
    ((size,),) = yield from ask("stored_bytes", tenant)
    return int(size)


def storage_use(limit: int) -> Operation[StorageUse]:
    """Return the bytes that all tenants have stored, and the `limit` largest tenants."""
    # The number of tenants is unlimited, and all of them are added up, so this is a large read.
    yield from announce_read(UNKNOWN_ITEMS)
    rows = yield from ask("storage_use", limit)
    if not rows:
        return StorageUse([], 0, 0)
    _, _, tenants, total = rows[0]
    return StorageUse([TenantSize(tenant, size) for tenant, size, _, _ in rows], tenants, total)
