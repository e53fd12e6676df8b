"""Containers of code: names for files that outlive kernels, and the files in them.

`Containers` needs a store and the files of `/v1/files`, but no sandbox: files can be managed on servers that run no
code.
"""

import os
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.ids import Clock, NewId, new_id, now
from antiphon.protocol.containers import (
    IDLE_MINUTES,
    MEMORY,
    ContainerFilesQuery,
    ContainersQuery,
    CreateContainer,
    MemoryLimit,
    path_in_container,
)
from antiphon.protocol.validation import refusals
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers
from antiphon.storage.operations import sizes as stored_sizes
from antiphon.storage.records.containers import (
    ContainerFilePage,
    ContainerPage,
    ContainerQuery,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.tenants import Reply
from antiphon.storage.store import Store
from antiphon.stored.container_objects import (
    ContainerLimits,
    container_expired,
    container_full,
    container_not_found,
    no_such_file,
    shown_container,
    shown_container_file,
    too_many_containers,
)
from antiphon.stored.file_limits import Room, over_storage, too_large
from antiphon.stored.files import Files, Written, not_found

FILES_AT_ONCE = 100
"""Maximum number of a container's files to read from the store in one step."""

SMALLEST: MemoryLimit = "1g"
"""The default memory limit of a container."""

DISABLED = '{"type":"disabled"}'
"""The only network policy that containers support."""


class Containers:
    """The containers of all tenants. Every method raises `StoreError`. Each use of a container postpones its expiry."""

    def __init__(
        self,
        store: Store,
        files: Files,
        limits: ContainerLimits | None = None,
        make_id: NewId = new_id,
        clock: Clock = now,
    ) -> None:
        self._store, self._files, self._new_id, self._now = store, files, make_id, clock
        self.limits = limits or ContainerLimits()

    async def create(self, request: CreateContainer, ticket: RequestIdentity) -> StoredContainer:
        """Create a container with copies of files for the ticket's tenant; it is the reply for the ticket's key.

        Raises `ClientError`: 400 for a memory limit above the operator's maximum or files that do not fit, 404 for an
        unknown file, 429 if the tenant has too many containers.
        """
        memory = request.memory_limit or SMALLEST
        self._check_memory(memory)
        used = int(self._now())
        container = StoredContainer(
            ticket.response_id or self._new_id("cntr"),
            ticket.tenant,
            request.name,
            used,
            used,
            request.expires_after.minutes if request.expires_after else IDLE_MINUTES,
            memory,
            DISABLED if request.network_policy else "",
        )
        return await self._put(container, request.file_ids or (), ticket)

    async def _put(
        self, container: StoredContainer, file_ids: Sequence[str], ticket: RequestIdentity
    ) -> StoredContainer:
        files = [
            self._copy_of(container, await self._find(container.tenant, file_id, f"file_ids[{place}]"))
            for place, file_id in enumerate(dict.fromkeys(file_ids))
        ]
        quota = self.limits.quota
        if len(files) > quota.files or sum(file.size for file in files) > quota.size:
            raise container_full(quota)
        await self._check_storage(container.tenant, sum(file.size for file in files))
        reply = _reply(ticket, shown_container(container))
        if not await self._store.write(containers.put, container, files, quota, reply=reply):
            raise too_many_containers(quota)
        return container

    async def load(self, tenant: str, container_id: str) -> StoredContainer:
        """Return a container, even an expired one, and record its use. Raises `ClientError` (404) if it is unknown."""
        found = await find_container(self._store, tenant, container_id, is_used=True)
        if found is None:
            raise container_not_found()
        return found

    async def running(self, tenant: str, container_id: str) -> StoredContainer:
        """Return an unexpired container and record its use. Raises `ClientError`: 404 if unknown, 400 if expired."""
        found = await self.load(tenant, container_id)
        if found.status == "expired":
            raise container_expired()
        return found

    async def page(self, tenant: str | None, query: ContainersQuery) -> ContainerPage:
        """Return a page of one or all tenants' containers. Raises `ClientError` (400) if `after` is not in the list."""
        wanted = ContainerQuery(query.limit, query.after, query.order == "desc", query.name)
        page = await self._store.read(containers.page, tenant, wanted)
        if page.is_unknown:
            raise _unknown_after(query.after, "container")
        return page

    async def delete(self, tenant: str, container_id: str) -> None:
        """Delete a container with its files, even during a call. Raises `ClientError` (404) if it is unknown."""
        if not await self._store.write(containers.delete, tenant, container_id):
            raise container_not_found()
        await self._files.sweep_now()

    async def room(self, container: StoredContainer) -> Room:
        """Return the maximum size of a new file. Raises `ClientError` if there is no room."""
        quota, tenant = self.limits.quota, container.tenant
        sizes = [file.size async for file in self.files_of(container)]
        left, error = quota.size - sum(sizes), container_full(quota)
        if len(sizes) >= quota.files or left <= 0:
            raise error
        await self._check_storage(tenant)
        if most := self._files.limits.stored_bytes:
            stored = await self._store.read(stored_sizes.stored_bytes, tenant)
            if most - stored < left:
                left, error = most - stored, over_storage(stored, most)
        largest = self._files.limits.file
        return Room(largest, too_large(largest, "file"), container.id, left, error)

    async def add(
        self, container: StoredContainer, filename: str, written: Written, ticket: RequestIdentity
    ) -> StoredContainerFile:
        """Create a file of a container from written content, and store it as the reply for the ticket's key.

        Raises `ClientError`: 400 if the container has no room or has expired, 404 if it was deleted. The caller must
        then `drop` the content.
        """
        path = path_in_container(os.urandom(16).hex(), filename)
        file = self._new_file(container, path, written.size, written.blob, ticket.response_id)
        return await self._put_file(container, file, _reply(ticket, shown_container_file(file)))

    async def copy(self, container: StoredContainer, file_id: str) -> StoredContainerFile:
        """Copy a file of the tenant into a container. Copying it again returns the same file. Copies share the content.

        Raises `ClientError`: 404 for an unknown file, 400 as `add`.
        """
        file = self._copy_of(container, await self._find(container.tenant, file_id, "file_id"))
        await self._check_storage(container.tenant, file.size)
        return await self._put_file(container, file)

    async def _put_file(
        self, container: StoredContainer, file: StoredContainerFile, reply: Reply | None = None
    ) -> StoredContainerFile:
        kept = await self._store.write(
            containers.put_files, container.tenant, container.id, [file], self.limits.quota, reply=reply
        )
        if kept is None:
            await self.running(container.tenant, container.id)
            raise container_full(self.limits.quota)
        return kept[0]

    async def file(self, tenant: str, container_id: str, file_id: str) -> StoredContainerFile:
        """Return a file of an unexpired container and record its use. Raises `ClientError`: 404, 400 as `running`."""
        await self.running(tenant, container_id)
        found = await self._store.read(containers.load_file, tenant, container_id, file_id)
        if found is None:
            raise no_such_file(container_id, file_id)
        return found

    async def file_page(self, tenant: str, container_id: str, query: ContainerFilesQuery) -> ContainerFilePage:
        """Return a page of an unexpired container's files. Raises `ClientError`: as `running`, 400 as `page`."""
        await self.running(tenant, container_id)
        wanted = ContainerQuery(query.limit, query.after, query.order == "desc")
        page = await self._store.read(containers.file_page, tenant, container_id, wanted)
        if page.is_unknown:
            raise _unknown_after(query.after, "container file")
        return page

    async def files_of(self, container: StoredContainer) -> AsyncGenerator[StoredContainerFile, None]:
        """Yield all files of a container, oldest first."""
        page, after = ContainerFilePage(has_more=True), None
        while page.has_more:
            query = ContainerQuery(FILES_AT_ONCE, after, descending=False)
            page = await self._store.read(containers.file_page, container.tenant, container.id, query)
            for file in page.files:
                yield file
                after = file.id

    def read(self, file: StoredContainerFile, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        return self._files.read_blob(file.tenant, file.blob, start, file.size if end is None else min(end, file.size))

    async def delete_file(self, tenant: str, container_id: str, file_id: str) -> None:
        """Delete a file of a container. Raises `ClientError`: 404, 400 as `running`."""
        await self.running(tenant, container_id)
        if not await self._store.write(containers.delete_files, tenant, container_id, [file_id]):
            raise no_such_file(container_id, file_id)
        await self._files.sweep_now()

    async def _find(self, tenant: str, file_id: str, path: str) -> StoredFile:
        found = await self._files.find(tenant, file_id)
        if found is None:
            raise not_found(file_id, path)
        return found

    async def _check_storage(self, tenant: str, size: int = 0) -> None:
        """Raise `ClientError` (429) if the tenant's storage limit does not allow `size` more bytes."""
        if most := self._files.limits.stored_bytes:
            stored = await self._store.read(stored_sizes.stored_bytes, tenant)
            if stored + max(size, 1) > most:
                raise over_storage(stored, most)

    def _check_memory(self, wanted: MemoryLimit) -> None:
        if MEMORY[wanted] > self.limits.memory:
            admitted = [name for name, size in MEMORY.items() if size <= self.limits.memory]
            raise refusals.value_not_served("memory_limit", wanted, admitted)

    def _copy_of(self, container: StoredContainer, file: StoredFile) -> StoredContainerFile:
        return self._new_file(container, path_in_container(file.id, file.filename), file.size, file.blob)

    def _new_file(
        self, container: StoredContainer, path: str, size: int, blob: str, file_id: str = ""
    ) -> StoredContainerFile:
        values = file_id or self._new_id("cfile"), container.tenant, container.id, path, size, blob
        return StoredContainerFile(*values, "user", int(self._now()))


def _reply(ticket: RequestIdentity, shown: dict[str, Any]) -> Reply | None:
    return Reply(ticket.tenant, ticket.key, False, msgspec.json.encode(shown)) if ticket.key else None


def _unknown_after(after: str | None, what: str) -> ClientError:
    return ClientError(f"Invalid 'after': no {what} with id '{after}'.", code="invalid_value", param="after")
