"""Promises about counts of containers."""

from antiphon.storage.operations import container_counts, containers
from antiphon.storage.store import Store
from tests.store.containers import AMPLE, expired_container, new_container
from tests.store.making import T, hold


async def _are_counted(store: Store) -> None:
    """Containers of all tenants count while they run; an expired one and a deleted one do not."""
    before = await store.read(container_counts.running)
    created = [new_container(T), new_container(T + "2")]
    for one in (*created, expired_container(T)):
        await store.write(containers.put, one, (), AMPLE)
    found = await store.read(container_counts.running) - before
    hold(found == len(created), f"{found} more containers run instead of {len(created)}")
    for one in created:
        await store.write(containers.delete, one.tenant, one.id)
    hold(await store.read(container_counts.running) == before, "a deleted container is counted")
