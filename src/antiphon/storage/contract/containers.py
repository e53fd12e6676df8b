"""The store contract for containers: names for files that outlive kernels, restarts and replicas.

Only one call at a time can hold a container. It acquires the hold with `hold_container`, renews it while it runs, and
releases it with `end_hold`. The hold of a lost worker expires. The worker that runs a kernel learns from the hold
whether its kernel is up to date.
"""

from typing import Protocol

from antiphon.storage.records.containers import (
    StoredContainer,
)


class Containers(Protocol):
    """Containers and their files. Each method raises `StoreError`.

    Rows of an expired container stay readable for the retention time. Its files are deleted, and their blobs are stale.
    """

    async def load_container(self, tenant: str, container_id: str, *, is_used: bool = False) -> StoredContainer | None:
        """Return the container, even if it has expired, or None. `is_used` counts as use if it has not expired."""
        ...

    async def expire_containers(self, limit: int) -> int:
        """Delete the files of expired containers and mark these containers; return their number."""
        ...
