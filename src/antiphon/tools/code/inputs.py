"""Files and images in the user's messages, which are copied into the container before the first
call after them.
"""

import asyncio
import mimetypes
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, TypeGuard
from urllib.parse import unquote

from antiphon.protocol.containers import DATA, MOST_FILES, own_path_in_container, path_in_container
from antiphon.protocol.items.calls import ShellCall
from antiphon.protocol.items.content import InputFile, InputImage
from antiphon.protocol.items.hosted import CodeInterpreterCall
from antiphon.protocol.items.messages import InputItem, Message
from antiphon.protocol.validation.media import base64_of, data_of
from antiphon.storage.operations import containers as stored_containers
from antiphon.storage.records.containers import ContainerQuota, StoredContainer, StoredContainerFile
from antiphon.storage.records.files import StoredFile
from antiphon.storage.store import Store
from antiphon.tools.code.content import BlobContent, TooLargeError, UnfetchedError, WrittenBlob
from antiphon.tools.code.files import FULL, MachineFiles
from antiphon.tools.code.holds import HOLD_SECONDS, LostHoldError

Part = InputFile | InputImage

MOST_INPUT_BYTES = 50 * 1024 * 1024
"""Bytes of all files that one call fetches from URLs, as for the files that the model reads."""

SLICE = 1024 * 1024
UNKNOWN = "it does not exist any more."
UNREADABLE = "its data is not base64."
TOO_MANY = f"a container holds at most {MOST_FILES} files."


@dataclass(slots=True)
class Inputs:
    """The result of copying the files of a conversation before a call."""

    paths: list[str] = field(default_factory=list)
    """Where the files are."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """The name of each file that was not copied, and the reason."""
    rows: list[StoredContainerFile] = field(default_factory=list)
    """Files to store."""
    written: list[str] = field(default_factory=list)
    """Blobs that were written for them."""


class _NotCopiedError(Exception):
    """A file is not copied; the message is the reason."""


def new_parts(items: Sequence[InputItem], container_id: str) -> list[Part]:
    """Return the files in the user's messages after the newest call that was completed in the
    container, in order.

    Earlier ones were copied before that call: code may have deleted them since.
    """
    found: list[list[Part]] = []
    for item in reversed(items):
        if isinstance(item, Message):
            if item.role == "user" and isinstance(item.content, list):
                found.append([part for part in item.content if _is_file(part)])
        elif _ran_in(item, container_id):
            break
    return [part for parts in reversed(found) for part in parts]


def _ran_in(item: InputItem, container_id: str) -> bool:
    if isinstance(item, CodeInterpreterCall):
        return item.container_id == container_id and item.status == "completed"
    if isinstance(item, ShellCall) and item.environment:
        return item.environment.get("container_id") == container_id and item.status == "completed"
    return False


def _is_file(part: Any) -> TypeGuard[Part]:
    if isinstance(part, InputImage):
        return bool(part.file_id) or (part.image_url or "")[:5].lower() == "data:"
    return isinstance(part, InputFile)


class InputCopies:
    """Copies the files in messages into containers."""

    def __init__(
        self, containers: Store, files: MachineFiles, content: BlobContent, quota: ContainerQuota
    ) -> None:
        self._containers = containers
        self._files = files
        self._content = content
        self._quota = quota

    async def copy(
        self,
        container: StoredContainer,
        parts: Sequence[Part],
        stored: Sequence[StoredContainerFile],
        holder: str,
    ) -> Inputs:
        """Store these files in a container in addition to the `stored` ones, as long as they fit
        into it.

        Raises `LostHoldError`, `StoreError`.
        """
        placing = _Placing(self._files, self._content, container, stored, self._quota)
        inputs = placing.inputs
        try:
            for part in parts[:MOST_FILES]:
                await placing.add(part)
            await self._store(container, inputs, holder)
        except BaseException:
            await self._drop(container, inputs)
            raise
        inputs.left_out += [(_name_of(part), TOO_MANY) for part in parts[MOST_FILES:]]
        return inputs

    async def _store(self, container: StoredContainer, inputs: Inputs, holder: str) -> None:
        if not inputs.rows:
            return
        rows = await self._containers.write(
            stored_containers.put_files,
            container.tenant,
            container.id,
            inputs.rows,
            self._quota,
            holder,
        )
        if rows is not None:
            inputs.rows = [*rows]
            inputs.written = []
            return
        if not await self._containers.write(
            stored_containers.renew_hold, container.tenant, container.id, holder, HOLD_SECONDS
        ):
            raise LostHoldError
        await self._drop(container, inputs)
        left_out = {row.path for row in inputs.rows}
        inputs.left_out += [
            (path.removeprefix(f"{DATA}/"), FULL) for path in inputs.paths if path in left_out
        ]
        inputs.paths = [path for path in inputs.paths if path not in left_out]
        inputs.rows = []

    async def _drop(self, container: StoredContainer, inputs: Inputs) -> None:
        """Delete the written files that are not stored."""
        while inputs.written:
            await self._content.drop(container.tenant, inputs.written.pop())


class _Placing:
    """Finds a path and room for each file."""

    def __init__(
        self,
        files: MachineFiles,
        content: BlobContent,
        container: StoredContainer,
        stored: Sequence[StoredContainerFile],
        quota: ContainerQuota,
    ) -> None:
        self._files = files
        self._content = content
        self._tenant = container.tenant
        self._container_id = container.id
        self._known = {file.path: file for file in stored}
        self._room = quota.size - sum(file.size for file in stored)
        self._places = quota.files - len(stored)
        self._fetchable = MOST_INPUT_BYTES
        self.inputs = Inputs()

    async def add(self, part: Part) -> None:
        """Copy a file, or record why it is not copied."""
        try:
            path = await (self._share(part.file_id) if part.file_id else self._copy(part))
        except _NotCopiedError as error:
            self.inputs.left_out.append((_name_of(part), str(error)))
        else:
            if path not in self.inputs.paths:
                self.inputs.paths.append(path)

    async def _share(self, file_id: str) -> str:
        """Make the container refer to the blob of a file of the tenant."""
        known = next((path for path in self._known if f"/{file_id}-" in path), "")
        if known:
            return known
        found: StoredFile | None = await self._content.find(self._tenant, file_id)
        if found is None:
            raise _NotCopiedError(UNKNOWN)
        self._check_room(found.size)
        path = path_in_container(found.id, found.filename)
        self._save(path, WrittenBlob(found.blob, found.size))
        return path

    async def _copy(self, part: Part) -> str:
        """Write the content of a file that is in the request, or at a URL."""
        self._check_room(0)
        if isinstance(part, InputImage):
            return await self._copy_data(part.image_url or "", "image")
        if part.file_data:
            return await self._copy_data(part.file_data, part.filename or "file")
        if not part.file_url:
            raise _NotCopiedError(UNKNOWN)
        try:
            most = min(self._room, self._fetchable)
            async with self._content.fetched(self._tenant, part.file_url, most) as found:
                self._fetchable -= len(found.content)
                name = _named(part.filename or _name_in(part.file_url), found.media_type)
                return await self._place(name, _Bytes(found.content))
        except UnfetchedError as error:
            raise _NotCopiedError(str(error)) from error

    async def _copy_data(self, data: str, name: str) -> str:
        media_type, begin = data_of(data) if data[:5].lower() == "data:" else ("", 0)
        if media_type is None:
            raise _NotCopiedError(UNREADABLE)
        return await self._place(_named(name, media_type), _Base64(data, begin))

    async def _place(self, name: str, content: "_Bytes | _Base64") -> str:
        """Write a file under its name, with a digest in the name if another file has it."""
        path = own_path_in_container(name)
        if path in self._known:
            size, digest = await _measured(content.pieces())
            if await self._is_same(self._known[path], size, digest):
                return path
            path = own_path_in_container(name, digest[:8])
            if path in self._known:
                return path
        try:
            written = await self._content.write(self._tenant, content.pieces(), self._room)
        except TooLargeError as error:
            raise _NotCopiedError(FULL) from error
        self.inputs.written.append(written.blob)
        self._save(path, written)
        return path

    async def _is_same(self, known: StoredContainerFile, size: int, digest: str) -> bool:
        if known.size != size:
            return False
        return (await _measured(self._content.read(self._tenant, known.blob, known.size)))[
            1
        ] == digest

    def _check_room(self, size: int) -> None:
        if self._places < 1 or self._room < size:
            raise _NotCopiedError(FULL)

    def _save(self, path: str, content: WrittenBlob) -> None:
        row = self._files.row(self._tenant, self._container_id, path, content, "user")
        self._known[path] = row
        self._places -= 1
        self._room -= content.size
        self.inputs.rows.append(row)


@dataclass(frozen=True, slots=True)
class _Bytes:
    content: bytes

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        for at in range(0, len(self.content), SLICE):
            yield self.content[at : at + SLICE]
            await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class _Base64:
    data: str
    begin: int

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        decoded = base64_of(self.data, self.begin)
        try:
            while (piece := next(decoded, None)) is not None:
                yield piece
                await asyncio.sleep(0)
        except ValueError as error:
            raise _NotCopiedError(UNREADABLE) from error


async def _measured(pieces: AsyncIterable[bytes]) -> tuple[int, str]:
    size = 0
    digest = sha256()
    async for piece in pieces:
        size += len(piece)
        digest.update(piece)
    return size, digest.hexdigest()


def _name_in(url: str) -> str:
    return unquote(PurePosixPath(url.partition("?")[0]).name) or "file"


def _named(name: str, media_type: str) -> str:
    """Return a name with an extension, if the media type is known."""
    if PurePosixPath(name).suffix or media_type in ("", "application/octet-stream"):
        return name
    return name + (mimetypes.guess_extension(media_type) or "")


def _name_of(part: Part) -> str:
    if isinstance(part, InputImage):
        return part.file_id or "image"
    return part.filename or part.file_id or (_name_in(part.file_url) if part.file_url else "file")
