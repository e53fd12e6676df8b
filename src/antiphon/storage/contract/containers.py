"""The part of the contract that keeps containers: names for files that outlive kernels, restarts and replicas.

One call at a time holds a container: `hold_container`, renewed while the call runs, then `end_hold`. A hold
of a lost worker ends by its time. The worker of a kernel reads from the hold whether its kernel is up to date.
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

    Rows of an expired container stay readable for the retention time; its files are deleted, and their blobs are stale.
    """

    async def put_container(
        self,
        container: StoredContainer,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
        *,
        reply: Reply | None = None,
    ) -> bool:
        """Store a new container with files. Each blob was written before, or belongs to a file of the tenant.

        False where the tenant's quota does not admit it. A container with the same id stays as it is (True). `reply` is
        kept for the `Idempotency-Key` that was reserved under the container's id.
        """
        ...

    async def load_container(self, tenant: str, container_id: str, *, is_used: bool = False) -> StoredContainer | None:
        """Return the container, also an expired one, or None; `is_used` counts as use if it still runs."""
        ...

    async def delete_container(self, tenant: str, container_id: str) -> bool:
        """Delete the container and its files; False where it is unknown."""
        ...

    async def container_page(self, tenant: str | None, query: ContainerQuery) -> ContainerPage:
        """Return a part of the tenant's containers; without a tenant, of the containers of all tenants."""
        ...

    async def hold_container(
        self, tenant: str, container_id: str, holder: str, worker: str, seconds: float
    ) -> StoredContainer | None:
        """Hold a running container for `seconds`; return it as it was before, or None if unknown or expired.

        If another holder has it, the returned container `is_busy` and nothing changes: try again later. Otherwise
        `worker` is stored as the worker of its kernel and `calls` grows by one.
        """
        ...

    async def renew_hold(self, tenant: str, container_id: str, holder: str, seconds: float) -> bool:
        """Extend the hold to `seconds` from now; False if the hold or the container no longer exists: end the call."""
        ...

    async def end_hold(self, tenant: str, container_id: str, holder: str) -> None:
        """Let the next call begin."""
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
        """Store files after their blobs were written; a file replaces the one at its path, and keeps that one's id.

        Return the files as they are stored; None if the container is unknown or expired, if the quota does not admit
        them, or if `holder` is named and does not hold the container. A hold that timed out is held until another
        holder takes the container. `reply` is kept for the `Idempotency-Key` that was reserved under the id of the
        first file.
        """
        ...

    async def load_container_file(self, tenant: str, container_id: str, file_id: str) -> StoredContainerFile | None:
        """Return a file of a running container, or None."""
        ...

    async def delete_container_files(self, tenant: str, container_id: str, file_ids: Sequence[str]) -> int:
        """Delete these files and make their blobs stale; return how many there were."""
        ...

    async def container_file_page(self, tenant: str, container_id: str, query: ContainerQuery) -> ContainerFilePage:
        """Return a part of the container's files."""
        ...

    async def expire_containers(self, limit: int) -> int:
        """Drop the files of containers that have expired and mark the containers; return how many."""
        ...
