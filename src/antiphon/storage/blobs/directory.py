"""Blobs as files in a directory, which can be a mounted volume that all replicas share."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from io import FileIO
from pathlib import Path
from typing import ParamSpec, TypeVar

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.blobs.turns import in_parts, turn_of
from antiphon.storage.records.files import BLOB_PART

_UNFINISHED = ".part"

P = ParamSpec("P")
T = TypeVar("T")


class DirectoryBlobs:
    """See `BlobStorage`. A blob's file receives its final name only when it is completely on
    disk.
    """

    retained = 3 * BLOB_PART

    def __init__(self, folder: Path, turns: FairScheduler) -> None:
        self._folder = folder
        self._turns = turns

    def new_name(self) -> str:
        """See `BlobStorage.new_name`."""
        return new_id("dir")

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """See `BlobStorage.write`."""
        path = self._path(blob)
        unfinished = path.with_name(path.name + _UNFINISHED)
        with await _on_disk(_create, unfinished) as file:
            async for part, is_last in in_parts(content, BLOB_PART):
                async with turn_of(self._turns, tenant):
                    await _on_disk(write_part, file, part, is_last)
        await _on_disk(_publish, unfinished, path)

    async def read(
        self, blob: str, start: int, end: int, tenant: str
    ) -> AsyncGenerator[bytes, None]:
        """See `BlobStorage.read`."""
        with await _on_disk(_open, self._path(blob)) as file:
            while start < end:
                async with turn_of(self._turns, tenant):
                    part = await _on_disk(
                        os.pread, file.fileno(), min(BLOB_PART, end - start), start
                    )
                if not part:
                    raise StoreError(
                        "The file's content is incomplete: its file in the directory was changed."
                    )
                start += len(part)
                yield part

    async def delete(self, blob: str) -> None:
        """See `BlobStorage.delete`."""
        path = self._path(blob)
        await _on_disk(_unlink, path, path.with_name(path.name + _UNFINISHED))

    async def close(self) -> None:
        """See `BlobStorage.close`."""

    def _path(self, blob: str) -> Path:
        """Return the path of a blob's file. 256 subfolders keep each folder small."""
        return self._folder / blob[-2:] / blob


def _create(path: Path) -> FileIO:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return FileIO(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600))


def _open(path: Path) -> FileIO:
    return FileIO(path)


def write_part(file: FileIO, part: bytes, is_last: bool) -> None:
    """Write a part of a blob, in a thread; the last one is then flushed to the disk."""
    view = memoryview(part)
    while view:
        view = view[file.write(view) :]
    if is_last:
        os.fsync(file.fileno())


def _publish(unfinished: Path, path: Path) -> None:
    unfinished.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _unlink(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


async def _on_disk(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run this in a thread. Raises `StoreError` if the disk fails.

    A cancelled caller still waits for the thread: the thread uses a file descriptor that the caller
    closes, and the number of a closed descriptor can be reused for another file.
    """
    work = asyncio.ensure_future(asyncio.to_thread(act, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
    except OSError as error:
        text = f"The directory of file_storage failed: {os.strerror(error.errno or 0).lower()}."
        raise StoreError(text) from error
