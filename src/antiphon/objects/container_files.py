"""The files in containers of code: sent by clients, copied from `/v1/files`, or written by code."""

import os
from collections.abc import AsyncGenerator

from antiphon.objects.container_objects import (
    container_file_object,
    container_full,
    no_such_file,
    unknown_after,
)
from antiphon.objects.containers import Containers, reply_of
from antiphon.objects.file_limits import ContentRoom, too_large, within_storage
from antiphon.objects.files import Files, Written
from antiphon.objects.pages import JsonObject, page_of
from antiphon.protocol.containers import ContainerFilesQuery, path_in_container
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import containers, sizes
from antiphon.storage.records.containers import ContainerQuery, StoredContainer, StoredContainerFile
from antiphon.storage.records.pages import Page
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store

FILES_AT_ONCE = 100
"""Maximum number of a container's files to read from the store in one step."""


class ContainerFiles:
    """The files in containers of all tenants.

    Every method raises `StoreError`, and counts as use of the container.
    """

    def __init__(self, store: Store, all_containers: Containers, files: Files) -> None:
        self._store = store
        self._containers = all_containers
        self._files = files
        self._quota = all_containers.limits.quota

    async def add(
        self, container: StoredContainer, filename: str, written: Written, identity: RequestIdentity
    ) -> JsonObject:
        """Create a file from written content, and store it as the reply for the ticket's key;
        return it.

        It has the id of the ticket, if the ticket has one. Raises `ClientError`: 400 if the
        container has no room or has expired, 404 if it was deleted. The caller must then `drop` the
        content.
        """
        path = path_in_container(os.urandom(16).hex(), filename)
        file = self._containers.new_file(
            container, path, written.size, written.blob, identity.response_id
        )
        return await self._put(container, file, reply_of(identity, container_file_object(file)))

    async def copy(self, container: StoredContainer, file_id: str) -> JsonObject:
        """Copy a file of the tenant into a container.

        Copying it again returns the same file. Copies share the content.

        Raises `ClientError`: 404 for an unknown file, 400 as `add`.
        """
        file = self._containers.copy_of(
            container, await self._files.load(container.tenant, file_id, "file_id")
        )
        await self._files.check_storage(container.tenant, max(file.size, 1))
        return await self._put(container, file)

    async def _put(
        self,
        container: StoredContainer,
        file: StoredContainerFile,
        reply: StoredReply | None = None,
    ) -> JsonObject:
        stored = await self._store.write(
            containers.put_files, container.tenant, container.id, [file], self._quota, reply=reply
        )
        if stored is None:
            await self._containers.running(container.tenant, container.id)
            raise container_full(self._quota)
        return container_file_object(stored[0])

    async def list(self, tenant: str, container_id: str, query: ContainerFilesQuery) -> JsonObject:
        """Return a page of an unexpired container's files.

        Raises `ClientError`: as `Containers.running`, 400 if `after` is not in the list.
        """
        await self._containers.running(tenant, container_id)
        wanted = ContainerQuery(query.limit, query.after, query.order == "desc")
        page = await self._store.read(containers.file_page, tenant, container_id, wanted)
        if page.unknown:
            raise unknown_after(query.after, "container file")
        return page_of([container_file_object(one) for one in page.data], has_more=page.has_more)

    async def retrieve(self, tenant: str, container_id: str, file_id: str) -> JsonObject:
        """Return a file of an unexpired container. Raises as `load`."""
        return container_file_object(await self.load(tenant, container_id, file_id))

    async def delete(self, tenant: str, container_id: str, file_id: str) -> JsonObject:
        """Delete a file of an unexpired container; return the confirmation. Raises as `load`."""
        await self._containers.running(tenant, container_id)
        if not await self._store.write(containers.delete_files, tenant, container_id, [file_id]):
            raise no_such_file(container_id, file_id)
        await self._files.sweep_now()
        return {"id": file_id, "object": "container.file.deleted", "deleted": True}

    async def load(self, tenant: str, container_id: str, file_id: str) -> StoredContainerFile:
        """Return a file of an unexpired container.

        Raises `ClientError`: 404 if the file is unknown, and as `Containers.running`.
        """
        await self._containers.running(tenant, container_id)
        found = await self._store.read(containers.load_file, tenant, container_id, file_id)
        if found is None:
            raise no_such_file(container_id, file_id)
        return found

    def read(self, file: StoredContainerFile, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        return self._files.read_blob(file.tenant, file.blob, start, min(end, file.size))

    async def room(self, container: StoredContainer) -> ContentRoom:
        """Return the maximum size of a new file. Raises `ClientError` if there is no room."""
        quota = self._quota
        tenant = container.tenant
        file_sizes = [file.size async for file in self._all(container)]
        left = quota.size - sum(file_sizes)
        error = container_full(quota)
        if len(file_sizes) >= quota.files or left <= 0:
            raise error
        limits = self._files.limits
        stored = await self._store.read(sizes.stored_bytes, tenant) if limits.stored_bytes else 0
        left, error = within_storage(limits, stored, left, error)
        return ContentRoom(limits.file, too_large(limits.file, "file"), container.id, left, error)

    async def _all(self, container: StoredContainer) -> AsyncGenerator[StoredContainerFile, None]:
        """Yield all files of a container, oldest first."""
        page: Page[StoredContainerFile] = Page(has_more=True)
        after = None
        while page.has_more:
            query = ContainerQuery(FILES_AT_ONCE, after, descending=False)
            page = await self._store.read(
                containers.file_page, container.tenant, container.id, query
            )
            for file in page.data:
                yield file
                after = file.id
