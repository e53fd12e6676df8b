"""Containers as the console lists them, with tenants and contents. Reading them does not count as
use.
"""

from typing import Any

from antiphon.objects.container_objects import container_not_found
from antiphon.objects.pages import page_of
from antiphon.protocol.console import ListContainersQuery
from antiphon.protocol.validation import refusals
from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers
from antiphon.storage.records.containers import ContainerQuery, StoredContainer, StoredContainerFile
from antiphon.storage.store import Store

AT_ONCE = 100
"""Maximum number of a container's files to read in one step."""


class ContainerReader:
    """Reads the containers of all tenants, without postponing their expiry."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, tenant: str | None, query: ListContainersQuery) -> dict[str, Any]:
        """Return a page of containers; without a `tenant`, of all tenants.

        Raises `ClientError` (400).
        """
        page = await self._store.read(
            containers.page, tenant, ContainerQuery(query.limit, query.after or None)
        )
        if page.unknown:
            raise refusals.invalid(
                "after", f"no container has the id '{refusals.quoted(query.after)}'."
            )
        displayed = [_counted(one, await self._files(one)) for one in page.data]
        return page_of(displayed, has_more=page.has_more)

    async def retrieve(self, tenant: str, container_id: str) -> dict[str, Any]:
        """Return a container with its files. Raises `ClientError` (404) if it is unknown."""
        found = await find_container(self._store, tenant, container_id)
        if found is None:
            raise container_not_found()
        files = await self._files(found)
        return _counted(found, files) | {"files": [_file_row(file) for file in files]}

    async def _files(self, container: StoredContainer) -> list[StoredContainerFile]:
        """Return the files of a container. An expired container has none."""
        files: list[StoredContainerFile] = []
        has_more = container.status == "running"
        while has_more:
            query = ContainerQuery(AT_ONCE, files[-1].id if files else None, descending=False)
            page = await self._store.read(
                containers.file_page, container.tenant, container.id, query
            )
            files += page.data
            has_more = page.has_more
        return files


def _counted(container: StoredContainer, files: list[StoredContainerFile]) -> dict[str, Any]:
    return {
        "id": container.id,
        "tenant": container.tenant or None,
        "name": container.name,
        "status": container.status,
        "created_at": container.created_at,
        "last_active_at": container.last_active_at,
        "memory_limit": container.memory_limit,
        "worker": container.worker,
        "calls": container.calls,
        "is_busy": container.is_busy,
        "files": len(files),
        "bytes": sum(file.size for file in files),
    }


def _file_row(file: StoredContainerFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "path": file.path,
        "bytes": file.size,
        "source": file.source,
        "created_at": file.created_at,
    }
