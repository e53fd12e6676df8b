"""Containers and blobs in dictionaries: for the runtime's own tests, where no database is
needed.
"""

import itertools
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from antiphon.storage.records.containers import (
    ContainerQuery,
    ContainerQuota,
    FoundContainer,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.pages import Page
from antiphon.tools.code.content import FetchedContent, TooLargeError, UnfetchedError, WrittenBlob
from tests.support.changed_stores import Methods


class MemoryContainers(Methods):
    """The operations on containers. A container expires where a test says so."""

    def __init__(self) -> None:
        self.containers: dict[str, StoredContainer] = {}
        self.rows: dict[str, dict[str, StoredContainerFile]] = {}
        self.holders: dict[str, str] = {}
        self.quota_is_used = False

    async def put_container(
        self,
        container: StoredContainer,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
    ) -> bool:
        if self.quota_is_used or len(self.containers) >= quota.containers:
            return False
        if container.id not in self.containers:
            self.containers[container.id] = container
            self.rows[container.id] = {file.path: file for file in files}
        return True

    async def load_container(self, tenant: str, container_id: str) -> FoundContainer | None:
        found = self.containers.get(container_id)
        return (
            FoundContainer(found, is_use_due=False)
            if found is not None and found.tenant == tenant
            else None
        )

    async def delete_container(self, tenant: str, container_id: str) -> bool:
        self.rows.pop(container_id, None)
        self.holders.pop(container_id, None)
        return self.containers.pop(container_id, None) is not None

    async def container_page(
        self, tenant: str | None, query: ContainerQuery
    ) -> Page[StoredContainer]:
        return Page(tuple(self.containers.values()))

    async def hold_container(
        self, tenant: str, container_id: str, holder: str, worker: str, seconds: float
    ) -> StoredContainer | None:
        resolved = await self.load_container(tenant, container_id)
        if resolved is None or resolved.container.status == "expired":
            return None
        found = resolved.container
        if self.holders.get(container_id, holder) != holder:
            return replace(found, is_busy=True)
        self.holders[container_id] = holder
        self.containers[container_id] = replace(found, calls=found.calls + 1, worker=worker)
        return found

    async def renew_hold(self, tenant: str, container_id: str, holder: str, seconds: float) -> bool:
        return (
            self.holders.get(container_id) == holder
            and self.containers[container_id].status == "running"
        )

    async def end_hold(self, tenant: str, container_id: str, holder: str) -> None:
        if self.holders.get(container_id) == holder:
            del self.holders[container_id]

    async def put_container_files(
        self,
        tenant: str,
        container_id: str,
        files: Sequence[StoredContainerFile],
        quota: ContainerQuota,
        holder: str = "",
    ) -> Sequence[StoredContainerFile] | None:
        known = self.rows.get(container_id)
        if known is None or (holder and self.holders.get(container_id) != holder):
            return None
        stored = [
            replace(one, id=known[one.path].id) if one.path in known else one for one in files
        ]
        known |= {one.path: one for one in stored}
        return stored

    async def load_container_file(
        self, tenant: str, container_id: str, file_id: str
    ) -> StoredContainerFile | None:
        return next(
            (one for one in self.rows.get(container_id, {}).values() if one.id == file_id), None
        )

    async def delete_container_files(
        self, tenant: str, container_id: str, file_ids: Sequence[str]
    ) -> int:
        known = self.rows[container_id]
        removed = [path for path, one in known.items() if one.id in file_ids]
        for path in removed:
            del known[path]
        return len(removed)

    async def container_file_page(
        self, tenant: str, container_id: str, query: ContainerQuery
    ) -> Page[StoredContainerFile]:
        return Page(tuple(self.rows.get(container_id, {}).values()))

    def paths(self, container_id: str) -> list[str]:
        """The paths of a container's files."""
        return sorted(self.rows[container_id])


class MemoryContent:
    """See `Content`."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], StoredFile] = {}
        self.blobs: dict[str, bytes] = {}
        self.dropped: list[str] = []
        self.pages: dict[str, FetchedContent] = {}
        """What is at URLs."""
        self._numbers = itertools.count(1)

    def upload(self, tenant: str, file_id: str, filename: str, content: bytes) -> None:
        """Store a file of the tenant."""
        self.blobs[f"row:{file_id}"] = content
        self.files[tenant, file_id] = StoredFile(
            file_id, tenant, filename, "user_data", len(content), b"", f"row:{file_id}", 1, None
        )

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        return self.files.get((tenant, file_id))

    async def read(self, tenant: str, blob: str, size: int) -> AsyncGenerator[bytes, None]:
        yield self.blobs[blob][:size]

    async def write(self, tenant: str, content: AsyncIterable[bytes], most: int) -> WrittenBlob:
        data = b"".join([piece async for piece in content])
        if len(data) > most:
            raise TooLargeError
        blob = f"row:{next(self._numbers)}"
        self.blobs[blob] = data
        return WrittenBlob(blob, len(data))

    async def drop(self, tenant: str, blob: str) -> None:
        self.dropped.append(blob)
        del self.blobs[blob]

    @asynccontextmanager
    async def fetched(
        self, tenant: str, url: str, most: int
    ) -> AsyncGenerator[FetchedContent, None]:
        found = self.pages.get(url)
        if found is None or len(found.content) > most:
            raise UnfetchedError("it could not be fetched.")
        yield found
