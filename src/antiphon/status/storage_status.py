"""The storage use of tenants, for `/status`: a store that does not answer must not hide the rest of
the status.
"""

import asyncio

from antiphon.errors import StoreError
from antiphon.history.bounds import Bounds
from antiphon.status.agent_status import AgentsStatus, agents_of
from antiphon.status.status import StorageStatus, TenantStorage
from antiphon.storage.operations import container_counts, leases, sizes
from antiphon.storage.store import Store

LARGEST = 10
"""Tenants that are listed."""

PATIENCE = 2.0
"""Timeout of the store in seconds: `antiphon status` waits longer."""


async def storage_status(store: Store, bounds: Bounds) -> StorageStatus | None:
    """Return the storage use of tenants; None if the store fails, or does not answer in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            use = await store.read(sizes.storage_use, LARGEST)
    except (StoreError, TimeoutError):
        return None
    return StorageStatus(
        stored_bytes=use.stored_bytes,
        tenants=use.tenants,
        max_stored_bytes=bounds.stored_bytes or None,
        largest=[
            TenantStorage(tenant=one.tenant, stored_bytes=one.stored_bytes) for one in use.largest
        ],
    )


async def running_containers(store: Store) -> int | None:
    """Return how many containers have not expired; None if the store fails, or does not answer in
    time.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            return await store.read(container_counts.running)
    except (StoreError, TimeoutError):
        return None


async def agents_status(store: Store) -> AgentsStatus | None:
    """Return the agents; None without agents, or if the store does not answer in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            load = await store.read(leases.agent_load)
    except (StoreError, TimeoutError):
        return None
    return agents_of(load)
