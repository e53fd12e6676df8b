"""Containers of code: names for files that outlive kernels. The files in them are in
`container_files.py`.

`Containers` needs a store and the files of `/v1/files`, but no sandbox: files can be managed on
servers that run no code.
"""

from collections.abc import Sequence

import msgspec

from antiphon.history.bounds import Bounds
from antiphon.ids import Clock, NewId, new_id, now
from antiphon.objects.container_objects import (
    ContainerLimits,
    container_expired,
    container_full,
    container_not_found,
    container_object,
    too_many_containers,
    unknown_after,
)
from antiphon.objects.files import Files
from antiphon.objects.pages import JsonObject, page_of
from antiphon.protocol.containers import (
    IDLE_MINUTES,
    MEMORY,
    MOST_BYTES,
    MOST_FILES,
    ContainersQuery,
    CreateContainer,
    MemoryLimit,
    path_in_container,
)
from antiphon.protocol.validation import refusals
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers
from antiphon.storage.records.containers import (
    ContainerQuery,
    ContainerQuota,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.tenants import StoredReply
from antiphon.storage.store import Store

SMALLEST: MemoryLimit = "1g"
"""The default memory limit of a container."""

DISABLED = '{"type":"disabled"}'
"""The only network policy that containers support."""


class Containers:
    """The containers of all tenants.

    Every method raises `StoreError`. Each use of a container postpones its expiry.
    """

    def __init__(
        self,
        store: Store,
        files: Files,
        limits: ContainerLimits | None = None,
        make_id: NewId = new_id,
        clock: Clock = now,
    ) -> None:
        self._store = store
        self._files = files
        self._new_id = make_id
        self._now = clock
        self.limits = limits or ContainerLimits()

    async def create(self, request: CreateContainer, identity: RequestIdentity) -> JsonObject:
        """Create a container with copies of files for the ticket's tenant; it is the reply for the
        ticket's key.

        It has the id of the ticket, if the ticket has one. Raises `ClientError`: 400 for a memory
        limit above the operator's maximum or files that do not fit, 404 for an unknown file, 429 if
        the tenant has too many containers.
        """
        memory = request.memory_limit or SMALLEST
        self._check_memory(memory)
        used = int(self._now())
        container = StoredContainer(
            identity.response_id or self._new_id("cntr"),
            identity.tenant,
            request.name,
            used,
            used,
            request.expires_after.minutes if request.expires_after else IDLE_MINUTES,
            memory,
            DISABLED if request.network_policy else "",
        )
        files = await self._copies(container, request.file_ids or ())
        reply = reply_of(identity, container_object(container))
        quota = self.limits.quota
        if not await self._store.write(containers.put, container, files, quota, reply=reply):
            raise too_many_containers(quota)
        return container_object(container)

    async def _copies(
        self, container: StoredContainer, file_ids: Sequence[str]
    ) -> Sequence[StoredContainerFile]:
        """Return copies of files, which are not yet stored.

        Raises `ClientError` if they do not fit.
        """
        files = [
            self.copy_of(
                container, await self._files.load(container.tenant, file_id, f"file_ids[{place}]")
            )
            for place, file_id in enumerate(dict.fromkeys(file_ids))
        ]
        quota = self.limits.quota
        size = sum(file.size for file in files)
        if len(files) > quota.files or size > quota.size:
            raise container_full(quota)
        await self._files.check_storage(container.tenant, max(size, 1))
        return files

    def _check_memory(self, wanted: MemoryLimit) -> None:
        if MEMORY[wanted] > self.limits.memory:
            admitted = [name for name, size in MEMORY.items() if size <= self.limits.memory]
            raise refusals.unsupported_value("memory_limit", wanted, admitted)

    async def list(self, tenant: str, query: ContainersQuery) -> JsonObject:
        """Return a page of the containers.

        Raises `ClientError` (400) if `after` is not in the list.
        """
        wanted = ContainerQuery(query.limit, query.after, query.order == "desc", query.name)
        page = await self._store.read(containers.page, tenant, wanted)
        if page.unknown:
            raise unknown_after(query.after, "container")
        return page_of([container_object(one) for one in page.data], has_more=page.has_more)

    async def retrieve(self, tenant: str, container_id: str) -> JsonObject:
        """Return a container. Raises as `load`."""
        return container_object(await self.load(tenant, container_id))

    async def delete(self, tenant: str, container_id: str) -> JsonObject:
        """Delete a container with its files, even during a call; return the confirmation.

        Raises `ClientError` (404) if it is unknown.
        """
        if not await self._store.write(containers.delete, tenant, container_id):
            raise container_not_found()
        await self._files.sweep_now()
        return {"id": container_id, "object": "container.deleted", "deleted": True}

    async def load(self, tenant: str, container_id: str) -> StoredContainer:
        """Return a container, even an expired one, and record its use.

        Raises `ClientError` (404) if it is unknown.
        """
        found = await find_container(self._store, tenant, container_id, is_used=True)
        if found is None:
            raise container_not_found()
        return found

    async def running(self, tenant: str, container_id: str) -> StoredContainer:
        """Return an unexpired container and record its use.

        Raises `ClientError`: 404 if unknown, 400 if expired.
        """
        found = await self.load(tenant, container_id)
        if found.status == "expired":
            raise container_expired()
        return found

    def copy_of(self, container: StoredContainer, file: StoredFile) -> StoredContainerFile:
        """Return a copy of a file for a container, which is not yet stored.

        Both have the same content.
        """
        return self.new_file(
            container, path_in_container(file.id, file.filename), file.size, file.blob
        )

    def new_file(
        self, container: StoredContainer, path: str, size: int, blob: str, file_id: str = ""
    ) -> StoredContainerFile:
        """Return a file of a client for a container, which is not yet stored."""
        values = file_id or self._new_id("cfile"), container.tenant, container.id, path, size, blob
        return StoredContainerFile(*values, "user", int(self._now()))


def limits_of(bounds: Bounds) -> ContainerLimits:
    """Return the limits of containers within these bounds."""
    quota = ContainerQuota(bounds.containers, MOST_FILES, MOST_BYTES)
    return ContainerLimits(quota, MEMORY[bounds.container_memory])


def reply_of(identity: RequestIdentity, displayed: JsonObject) -> StoredReply | None:
    """Return an object as the reply to store for the ticket's key; None if it has none."""
    return (
        StoredReply(identity.tenant, identity.key, False, msgspec.json.encode(displayed))
        if identity.key
        else None
    )
