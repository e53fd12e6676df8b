"""Copies the files of a container into its machine before a call, and back after the call."""

import shlex
from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from antiphon.errors import log
from antiphon.ids import Clock, NewId
from antiphon.protocol.containers import LONGEST_COMPONENT, path_in_container
from antiphon.protocol.sources import CreatedFile
from antiphon.protocol.untrusted import visible
from antiphon.sandbox.contract import DATA, FoundFile, SandboxError
from antiphon.storage.operations import containers as stored_containers
from antiphon.storage.records.containers import ContainerQuery, ContainerQuota, StoredContainerFile
from antiphon.storage.store import Store
from antiphon.tools.code.content import BlobContent, TooLargeError, WrittenBlob
from antiphon.tools.code.holds import HOLD_SECONDS, LostHoldError
from antiphon.tools.code.kernels import ContainerKernel, Copy

REMOVE_SECONDS = 10.0

FULL = "the container has no room for it. Delete files in /mnt/data that are no longer needed."
CHANGING = "a process of the container deleted or replaced it while it was read."
NO_ROOM = (
    "The new files were not kept: the container has no room for them. "
    "Delete files that are no longer needed."
)


@dataclass(slots=True)
class Outcome:
    """The changes that a call made to the files of its container."""

    created: list[CreatedFile] = field(default_factory=list)
    """New and changed files, figures first."""
    left_out: list[str] = field(default_factory=list)
    """Sentences about files that could not be stored."""


@dataclass(slots=True)
class _Room:
    """How many more files, and bytes, fit into the container."""

    files: int
    size: int


class MachineFiles:
    """Copies files between the store and machines."""

    def __init__(
        self,
        containers: Store,
        content: BlobContent,
        quota: ContainerQuota,
        new_id: NewId,
        clock: Clock,
    ) -> None:
        self._containers = containers
        self._content = content
        self._quota = quota
        self._new_id = new_id
        self._now = clock

    async def stored(self, tenant: str, container_id: str) -> list[StoredContainerFile]:
        """Return all files of a container. Raises `StoreError`."""
        found: list[StoredContainerFile] = []
        after: str | None = None
        while True:
            query = ContainerQuery(self._quota.files, after, descending=False)
            page = await self._containers.read(
                stored_containers.file_page, tenant, container_id, query
            )
            found += page.data
            if not (page.has_more and page.data):
                return found
            after = page.data[-1].id

    async def of_tool(
        self, tenant: str, container_id: str, file_ids: Iterable[str]
    ) -> list[StoredContainerFile]:
        """Return files of the tenant as files of a container, not stored yet; without deleted
        ones.
        """
        found = [await self._content.find(tenant, one) for one in file_ids]
        return [
            self.row(
                tenant,
                container_id,
                path_in_container(one.id, one.filename),
                WrittenBlob(one.blob, one.size),
                "user",
            )
            for one in found
            if one is not None
        ]

    async def copy_in(self, kernel: ContainerKernel, stored: Sequence[StoredContainerFile]) -> None:
        """Copy the container's stored files into the machine.

        Raises `SandboxError`, `StoreError`.
        """
        wanted = {name_of(file): file for file in stored}
        await _remove(kernel, [name for name in kernel.copies if name not in wanted])
        changed = [
            name for name, file in wanted.items() if _is_other(kernel.copies.get(name), file)
        ]
        for name in changed:
            file = wanted[name]
            try:
                await kernel.machine.put(
                    name, self._content.read(kernel.tenant, file.blob, file.size)
                )
            except ValueError:
                log.warning(
                    "Code cannot read the file %s of its container: "
                    "the file's name is not valid there.",
                    file.id,
                )
                continue
            kernel.copies[name] = Copy(file.id, file.blob, file.size, "")
        if changed:
            for found in await kernel.machine.files():
                if found.name in changed:
                    kernel.copies[found.name].version = found.version

    async def copy_out(
        self, kernel: ContainerKernel, holder: str, figures: Sequence[bytes]
    ) -> Outcome:
        """Store what a call changed, and its figures.

        Raises `LostHoldError`, `SandboxError`, `StoreError`.
        """
        found = await kernel.machine.files()
        if kernel.machine.is_alive and len(found) < self._quota.files:
            await self._forget(kernel, {one.name for one in found})
        writing = _Writing(self, kernel, self._room(kernel))
        try:
            for image in figures:
                await writing.add_figure(image)
            for one in found:
                if _has_changed(kernel.copies.get(one.name), one):
                    await writing.add(one)
            await self._store(kernel, holder, writing)
        except BaseException:
            await self._drop(writing)
            raise
        return writing.outcome

    def _room(self, kernel: ContainerKernel) -> _Room:
        used = sum(copy.size for copy in kernel.copies.values())
        return _Room(self._quota.files - len(kernel.copies), self._quota.size - used)

    async def _forget(self, kernel: ContainerKernel, found: Collection[str]) -> None:
        """Delete the files that the code has deleted."""
        removed = [name for name in kernel.copies if name not in found]
        if removed:
            file_ids = [kernel.copies.pop(name).file_id for name in removed]
            await self._containers.write(
                stored_containers.delete_files, kernel.tenant, kernel.container_id, file_ids
            )

    async def write(
        self, kernel: ContainerKernel, path: str, content: AsyncIterable[bytes], most: int
    ) -> StoredContainerFile:
        """Write the content of a file; return its row.

        Raises `TooLargeError`, and the errors of the content.
        """
        written = await self._content.write(kernel.tenant, content, most)
        return self.row(kernel.tenant, kernel.container_id, path, written, "assistant")

    def row(
        self,
        tenant: str,
        container_id: str,
        path: str,
        content: WrittenBlob,
        source: Literal["user", "assistant"],
    ) -> StoredContainerFile:
        """Return the row of a file. The path of a figure has the id of its file."""
        file_id = self._new_id("cfile")
        path = path or f"{DATA}/{file_id}.png"
        return StoredContainerFile(
            file_id,
            tenant,
            container_id,
            path,
            content.size,
            content.blob,
            source,
            int(self._now()),
        )

    async def _store(self, kernel: ContainerKernel, holder: str, writing: "_Writing") -> None:
        """Store the rows of the written files, and record the files of the machine as they are
        stored now.
        """
        if not writing.rows:
            return
        stored = await self._containers.write(
            stored_containers.put_files,
            kernel.tenant,
            kernel.container_id,
            writing.rows,
            self._quota,
            holder,
        )
        if stored is None:
            if not await self._containers.write(
                stored_containers.renew_hold,
                kernel.tenant,
                kernel.container_id,
                holder,
                HOLD_SECONDS,
            ):
                raise LostHoldError
            await self._drop(writing)
            writing.outcome.left_out.append(NO_ROOM)
            return
        for file in stored:
            name = name_of(file)
            version = writing.versions.get(file.path)
            if version is not None:
                kernel.copies[name] = Copy(file.id, file.blob, file.size, version)
            writing.outcome.created.append(
                CreatedFile(kernel.container_id, file.id, file.path, name, version is None)
            )

    async def _drop(self, writing: "_Writing") -> None:
        for row in writing.rows:
            await self._content.drop(row.tenant, row.blob)
        writing.rows.clear()


class _Writing:
    """Writes the content of new files, as long as they fit into the container."""

    def __init__(self, files: MachineFiles, kernel: ContainerKernel, room: _Room) -> None:
        self._files = files
        self._kernel = kernel
        self._room = room
        self.rows: list[StoredContainerFile] = []
        """Files with written content."""
        self.versions: dict[str, str] = {}
        """The machine's data about them, by path; figures are not in a machine yet."""
        self.outcome = Outcome()

    async def add_figure(self, image: bytes) -> None:
        """Write a figure."""
        if self._room.files < 1 or self._room.size < len(image):
            self.outcome.left_out.append(f"A figure was not kept as a file: {FULL}")
            return
        row = await self._files.write(self._kernel, "", _one(image), len(image))
        self._add(row, None)

    async def add(self, found: FoundFile) -> None:
        """Write a file of the machine."""
        copy = self._kernel.copies.get(found.name)
        room = self._room.size + (copy.size if copy else 0)
        if found.size > room or (copy is None and self._room.files < 1):
            self._leave_out(found)
            return
        path = f"{DATA}/{found.name}"
        try:
            row = await self._files.write(
                self._kernel, path, self._kernel.machine.read(found.name, room + 1), room
            )
        except TooLargeError:
            self._leave_out(found)
            return
        except SandboxError:
            if not self._kernel.machine.is_alive:
                raise
            self._leave_out(found, CHANGING)
            return
        self.versions[path] = found.version
        self._add(row, copy)

    def _add(self, row: StoredContainerFile, replaced: Copy | None) -> None:
        self.rows.append(row)
        self._room.files -= replaced is None
        self._room.size -= row.size - (replaced.size if replaced else 0)

    def _leave_out(self, found: FoundFile, why: str = FULL) -> None:
        name = " ".join(visible(found.name).split())[:LONGEST_COMPONENT]
        self.outcome.left_out.append(f"The file {name} was not kept: {why}")


def name_of(file: StoredContainerFile) -> str:
    """Return the name of a file in its machine."""
    return file.path.removeprefix(f"{DATA}/")


async def _one(content: bytes) -> AsyncGenerator[bytes, None]:
    yield content


async def _remove(kernel: ContainerKernel, names: Sequence[str]) -> None:
    """Delete the files in the machine that clients have deleted."""
    if names:
        quoted = " ".join(shlex.quote(name) for name in names)
        await kernel.machine.run_command(f"rm -f -- {quoted}", REMOVE_SECONDS, 0)
        for name in names:
            del kernel.copies[name]


def _is_other(copy: Copy | None, file: StoredContainerFile) -> bool:
    return copy is None or copy.blob != file.blob


def _has_changed(copy: Copy | None, found: FoundFile) -> bool:
    return copy is None or copy.version != found.version
