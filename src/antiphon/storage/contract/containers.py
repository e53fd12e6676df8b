"""The store contract for containers: names for files that outlive kernels, restarts and replicas.

Only one call at a time can hold a container. It acquires the hold with `hold_container`, renews it while it runs, and
releases it with `end_hold`. The hold of a lost worker expires. The worker that runs a kernel learns from the hold
whether its kernel is up to date.
"""

from collections.abc import Sequence
from typing import Protocol

from antiphon.storage.records.containers import (
    ContainerFilePage,
    ContainerPage,
    ContainerQuery,
    ContainerQuota,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.tenants import Reply


class Containers(Protocol):
    """Containers and their files. Each method raises `StoreError`.

    Rows of an expired container stay readable for the retention time. Its files are deleted, and their blobs are stale.
    """

    async def put_container(
        self,
        container: StoredContainer,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
        *,
        reply: Reply | None = None,
    ) -> bool:
        """Store a new container with files. Each blob must be written already, or belong to a file of the tenant.

        Return False if the container exceeds the tenant's quota. If a container with this id exists, it is unchanged
        and the result is True. `reply` is stored for the `Idempotency-Key` that was reserved under the container's id.
        """
        ...

    async def load_container(self, tenant: str, container_id: str, *, is_used: bool = False) -> StoredContainer | None:
        """Return the container, even if it has expired, or None. `is_used` counts as use if it has not expired."""
        ...

    async def delete_container(self, tenant: str, container_id: str) -> bool:
        """Delete the container and its files; return False if it is unknown."""
        ...

    async def container_page(self, tenant: str | None, query: ContainerQuery) -> ContainerPage:
        """Return one page of the tenant's containers, or of all tenants' containers if `tenant` is None."""
        ...

    async def hold_container(
        self, tenant: str, container_id: str, holder: str, worker: str, seconds: float
    ) -> StoredContainer | None:
        """Hold an unexpired container for `seconds`; return its previous state, or None if it is unknown or expired.

        If another call holds it, the returned container `is_busy` and nothing changes: try again later. Otherwise,
        `worker` is stored as the worker of its kernel, and `calls` is incremented.
        """
        ...

    async def renew_hold(self, tenant: str, container_id: str, holder: str, seconds: float) -> bool:
        """Extend the hold to `seconds` from now. False means that the hold or the container is lost: stop the call."""
        ...

    async def end_hold(self, tenant: str, container_id: str, holder: str) -> None:
        """Release the hold, so that the next call can start."""
        ...

    async def put_container_files(
        self,
        container_id: str,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
        holder: str = "",
        *,
        reply: Reply | None = None,
    ) -> Sequence[StoredContainerFile] | None:
        """Store files, after their blobs are written. A file replaces the one at its path and keeps its id.

        Return the files as they are stored. Return None if the container is unknown or expired, if the files exceed the
        quota, or if `holder` is set and does not hold the container. A hold that timed out stays valid until another
        holder acquires the container. `reply` is stored for the `Idempotency-Key` that was reserved under the id of the
        first file.
        """
        ...

    async def load_container_file(self, tenant: str, container_id: str, file_id: str) -> StoredContainerFile | None:
        """Return a file of an unexpired container, or None."""
        ...

    async def delete_container_files(self, tenant: str, container_id: str, file_ids: Sequence[str]) -> int:
        """Delete these files and make their blobs stale; return the number of deleted files."""
        ...

    async def container_file_page(self, tenant: str, container_id: str, query: ContainerQuery) -> ContainerFilePage:
        """Return one page of the container's files."""
        ...

    async def expire_containers(self, limit: int) -> int:
        """Delete the files of expired containers and mark these containers; return their number."""
        ...
