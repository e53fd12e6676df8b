"""`/v1/containers`, as the gateway offers it; loaded by the first request for a container."""

from collections.abc import AsyncGenerator, AsyncIterable

from antiphon.gateway.made import JsonObject
from antiphon.protocol.containers import (
    MEMORY,
    MOST_BYTES,
    MOST_FILES,
    ContainerFilesQuery,
    ContainersQuery,
    CreateContainer,
)
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.records.containers import ContainerQuota, StoredContainer, StoredContainerFile
from antiphon.stored.container_objects import ContainerLimits, shown_container, shown_container_file
from antiphon.stored.containers import Containers as StoredContainers
from antiphon.stored.file_limits import Room
from antiphon.stored.files import Written
from antiphon.stored.parts import ObjectParts
from antiphon.stored.vector_store_files import page_of

__all__ = ["Containers", "StoredContainer", "Written"]


class Containers:
    """`/v1/containers` as methods."""

    def __init__(self, parts: ObjectParts) -> None:
        files, bounds = parts.files.get(), parts.bounds
        quota = ContainerQuota(bounds.containers, MOST_FILES, MOST_BYTES)
        limits = ContainerLimits(quota, MEMORY[bounds.container_memory])
        self._files = files
        self._containers = StoredContainers(parts.store, files, limits, parts.new_id, parts.now)

    @property
    def held(self) -> int:
        """Bytes of memory needed to receive one file."""
        return self._files.held

    async def create(self, request: CreateContainer, ticket: RequestIdentity) -> JsonObject:
        """Create a container under the id of the ticket, if it has one."""
        return shown_container(await self._containers.create(request, ticket))

    async def list(self, tenant: str, query: ContainersQuery) -> JsonObject:
        """Return a page of the containers."""
        page = await self._containers.page(tenant, query)
        return page_of([shown_container(one) for one in page.containers], has_more=page.has_more)

    async def retrieve(self, tenant: str, container_id: str) -> JsonObject:
        """Return a container."""
        return shown_container(await self._containers.load(tenant, container_id))

    async def delete(self, tenant: str, container_id: str) -> JsonObject:
        """Delete a container with its files."""
        await self._containers.delete(tenant, container_id)
        return {"id": container_id, "object": "container.deleted", "deleted": True}

    async def running(self, tenant: str, container_id: str) -> StoredContainer:
        """Return a running container. Raises `ClientError`: 404 if it is unknown, 400 if it has expired."""
        return await self._containers.running(tenant, container_id)

    async def room(self, container: StoredContainer) -> Room:
        """Return the maximum size of a file that the client sends now. Raises `ClientError` if there is no room."""
        return await self._containers.room(container)

    async def write(self, container: StoredContainer, content: AsyncIterable[bytes], room: Room) -> Written:
        """Write content as it arrives; it becomes a file by `add`, or is deleted by `drop`."""
        return await self._files.write(container.tenant, content, room)

    async def drop(self, container: StoredContainer, written: Written) -> None:
        """Delete the written content, unless a file refers to it."""
        await self._files.drop(container.tenant, written.blob)

    async def add(
        self, container: StoredContainer, filename: str, written: Written, ticket: RequestIdentity
    ) -> JsonObject:
        """Create a file from the written content, under the id of the ticket, if it has one."""
        return shown_container_file(await self._containers.add(container, filename, written, ticket))

    async def copy(self, container: StoredContainer, file_id: str) -> JsonObject:
        """Copy a file of `/v1/files` into a container."""
        return shown_container_file(await self._containers.copy(container, file_id))

    async def list_files(self, tenant: str, container_id: str, query: ContainerFilesQuery) -> JsonObject:
        """Return a page of the files of a container."""
        page = await self._containers.file_page(tenant, container_id, query)
        return page_of([shown_container_file(one) for one in page.files], has_more=page.has_more)

    async def retrieve_file(self, tenant: str, container_id: str, file_id: str) -> JsonObject:
        """Return a file of a container."""
        return shown_container_file(await self._containers.file(tenant, container_id, file_id))

    async def find_file(self, tenant: str, container_id: str, file_id: str) -> StoredContainerFile:
        """Return a file with its internal fields. Raises `ClientError` as `retrieve_file`."""
        return await self._containers.file(tenant, container_id, file_id)

    def read(self, file: StoredContainerFile, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Return a part of the content."""
        return self._containers.read(file, start, end)

    async def delete_file(self, tenant: str, container_id: str, file_id: str) -> JsonObject:
        """Delete a file of a container."""
        await self._containers.delete_file(tenant, container_id, file_id)
        return {"id": file_id, "object": "container.file.deleted", "deleted": True}
