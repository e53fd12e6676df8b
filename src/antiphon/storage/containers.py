"""Containers, and when their use is recorded: it postpones their expiry."""

from antiphon.storage.operations import containers
from antiphon.storage.records.containers import StoredContainer
from antiphon.storage.store import Store


async def find_container(
    store: Store, tenant: str, container_id: str, *, is_used: bool = False
) -> StoredContainer | None:
    """Return a container, even if it has expired, or None.

    `is_used` counts as use if it has not expired.

    A use is written once a minute at most, or once per quarter of `idle_minutes`. Raises
    `StoreError`.
    """
    found = await store.read(containers.load, tenant, container_id)
    if is_used and found is not None and found.is_use_due:
        return await store.write(containers.use, tenant, container_id)
    return found.container if found is not None else None
