"""Container methods of the SQL stores. The operations are loaded when a container is first used."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from antiphon.storage.operations.step import first
from antiphon.storage.records.containers import (
    ContainerFilePage,
    ContainerPage,
    ContainerQuery,
    ContainerQuota,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.tenants import Reply
from antiphon.storage.sql_store.performer import Performer

EMPTIED_AT_ONCE = 10
"""Containers that one step empties, so that other writes can run between the steps."""


def _operations() -> ModuleType:
    return import_module("antiphon.storage.operations.containers")


class SqlContainers(Performer):
    """See `Containers`."""

    async def put_container(
        self,
        container: StoredContainer,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
        *,
        reply: Reply | None = None,
    ) -> bool:
        """See `Store.put_container`."""
        shift = self.clock.shift
        times = container.created_at + shift, container.last_active_at + shift
        dated = replace(container, created_at=times[0], last_active_at=times[1])
        return await self._write(lambda: _operations().put(dated, files, quota, reply, self._now()), container.tenant)

    async def load_container(self, tenant: str, container_id: str, *, is_used: bool = False) -> StoredContainer | None:
        """See `Store.load_container`. A use is written once a minute at most, or once per quarter of `idle_minutes`."""
        found: StoredContainer | None = await self._read(
            lambda: _operations().load(tenant, container_id, self._now()), tenant
        )
        if is_used and found is not None and found.status == "running":
            idle = self._now() - found.last_active_at
            if idle >= min(60, found.idle_minutes * 15):
                found = await self._write(lambda: _operations().use(tenant, container_id, self._now()), tenant)
        return found

    async def delete_container(self, tenant: str, container_id: str) -> bool:
        """See `Store.delete_container`."""
        return await self._free(lambda: _operations().delete(tenant, container_id), tenant)

    async def container_page(self, tenant: str | None, query: ContainerQuery) -> ContainerPage:
        """See `Store.container_page`."""
        return await self._read(lambda: _operations().page(tenant, query, self._now()), tenant)

    async def hold_container(
        self, tenant: str, container_id: str, holder: str, worker: str, seconds: float
    ) -> StoredContainer | None:
        """See `Store.hold_container`."""
        return await self._write(
            lambda: _operations().hold(tenant, container_id, holder, worker, seconds, self._now()), tenant
        )

    async def renew_hold(self, tenant: str, container_id: str, holder: str, seconds: float) -> bool:
        """See `Store.renew_hold`."""
        return await self._write(
            lambda: _operations().renew_hold(tenant, container_id, holder, seconds, self._now()), tenant
        )

    async def end_hold(self, tenant: str, container_id: str, holder: str) -> None:
        """See `Store.end_hold`."""
        await self._write(lambda: _operations().end_hold(tenant, container_id, holder, self._now()), tenant)

    async def put_container_files(
        self,
        container_id: str,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
        holder: str = "",
        *,
        reply: Reply | None = None,
    ) -> Sequence[StoredContainerFile] | None:
        """See `Store.put_container_files`."""
        if not files:
            return []
        tenant = files[0].tenant
        return await self._write(
            lambda: _operations().put_files(container_id, files, quota, holder, reply, self._now()), tenant
        )

    async def load_container_file(self, tenant: str, container_id: str, file_id: str) -> StoredContainerFile | None:
        """See `Store.load_container_file`."""
        return await self._read(lambda: _operations().load_file(tenant, container_id, file_id, self._now()), tenant)

    async def delete_container_files(self, tenant: str, container_id: str, file_ids: Sequence[str]) -> int:
        """See `Store.delete_container_files`."""
        return await self._free(lambda: _operations().delete_files(tenant, container_id, file_ids, self._now()), tenant)

    async def container_file_page(self, tenant: str, container_id: str, query: ContainerQuery) -> ContainerFilePage:
        """See `Store.container_file_page`."""
        return await self._read(lambda: _operations().file_page(tenant, container_id, query, self._now()), tenant)

    async def expire_containers(self, limit: int) -> int:
        """See `Store.expire_containers`. Writes nothing if no container has expired."""
        emptied = 0
        while emptied < limit and await self._has_expired():
            step = await self._empty(min(EMPTIED_AT_ONCE, limit - emptied))
            if not step:  # another process deletes them
                break
            emptied += step
        return emptied

    async def _has_expired(self) -> bool:
        return await self._read(lambda: first("has_expired_container", self._now())) is not None

    async def _empty(self, most: int) -> int:
        return await self._free(lambda: _operations().empty_expired(self._now(), most))
