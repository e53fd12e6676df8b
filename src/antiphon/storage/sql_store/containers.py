"""Use and expiry of containers. The operations are loaded when a container is first used."""

from importlib import import_module
from types import ModuleType

from antiphon.storage.operations.step import first
from antiphon.storage.records.containers import (
    StoredContainer,
)
from antiphon.storage.sql_store.performer import Performer

EMPTIED_AT_ONCE = 10
"""Containers that one step empties, so that other writes can run between the steps."""


def _operations() -> ModuleType:
    return import_module("antiphon.storage.operations.containers")


class SqlContainers(Performer):
    """The methods of a store for containers."""

    async def load_container(self, tenant: str, container_id: str, *, is_used: bool = False) -> StoredContainer | None:
        """See `Store.load_container`. A use is written once a minute at most, or once per quarter of `idle_minutes`."""
        found: StoredContainer | None = await self._read(
            lambda: _operations().load(tenant, container_id, self.clock.now()), tenant
        )
        if is_used and found is not None and found.status == "running":
            idle = self.clock.now() - found.last_active_at
            if idle >= min(60, found.idle_minutes * 15):
                found = await self._write(lambda: _operations().use(tenant, container_id, self.clock.now()), tenant)
        return found

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
        return await self._read(lambda: first("has_expired_container", self.clock.now())) is not None

    async def _empty(self, most: int) -> int:
        return await self._free(lambda: _operations().empty_expired(self.clock.now(), most))
