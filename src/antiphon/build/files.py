"""Builds the file storage of the settings; its dependencies are loaded by the first request for a
file.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.build.foundation import Foundation
from antiphon.config import Settings
from antiphon.errors import ConfigError
from antiphon.extras import require
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.records.files import FileQuota
from antiphon.storage.store import Store

if TYPE_CHECKING:
    from antiphon.objects.file_limits import FileLimits
    from antiphon.objects.files import Files
    from antiphon.storage.blobs.base import BlobStorage

BUCKET = "s3://"


def check_files(settings: Settings) -> None:
    """Raise `ConfigError` if the file storage cannot be used: the server then does not start."""
    if settings.file_storage.startswith(BUCKET):
        require("s3", f"file_storage {settings.file_storage}")


def open_files(base: Foundation) -> "Files":
    """Return the files of a process, with the limits and the storage of its settings."""
    from antiphon.objects.files import Files  # noqa: PLC0415 - the same
    from antiphon.storage.blobs.turns import part_turns  # noqa: PLC0415 - for requests with files alone

    turns = base.shared.add("file_parts", part_turns())
    blobs = blobs_of(base.store, base.settings, turns)
    return Files(base.store, blobs, limits_of(base.settings), base.now, base.offload)


async def sweep_files(store: Store, settings: Settings) -> int:
    """Delete content that no file uses any more, for a command; return how many blobs.

    Raises `StoreError`.
    """
    from antiphon.jobs.cleaner import sweep  # noqa: PLC0415 - for commands alone

    return await sweep(store, files_of(store, settings).delete_blobs)


def files_of(store: Store, settings: Settings) -> "Files":
    """Return the files of a store, for a command."""
    from antiphon.objects.files import Files  # noqa: PLC0415 - the same
    from antiphon.storage.blobs.turns import part_turns  # noqa: PLC0415 - for commands alone

    check_files(settings)
    return Files(store, blobs_of(store, settings, part_turns()), limits_of(settings))


def limits_of(settings: Settings) -> "FileLimits":
    """Return the limits of what a client can store."""
    from antiphon.objects.file_limits import FileLimits  # noqa: PLC0415 - for requests with files alone

    quota = FileQuota(settings.max_files, settings.max_file_bytes)
    return FileLimits(settings.max_file, settings.max_upload, quota, settings.max_stored_bytes)


def blobs_of(store: Store, settings: Settings, turns: FairScheduler) -> "BlobStorage":
    """Return the storage for the content of files."""
    from antiphon.storage.blobs.rows import StoreBlobs  # noqa: PLC0415 - the same

    rows = StoreBlobs(store, turns)
    place = settings.file_storage
    if not place:
        return rows
    from antiphon.storage.blobs.places import Places  # noqa: PLC0415 - where files are elsewhere

    if not place.startswith(BUCKET):
        from antiphon.storage.blobs.directory import DirectoryBlobs  # noqa: PLC0415 - the same

        return Places({"row": rows, "dir": DirectoryBlobs(_folder(place), turns)}, "dir")
    from antiphon.storage.blobs.bucket import BucketBlobs, open_bucket  # noqa: PLC0415 - it needs an extra

    name, _, prefix = place.removeprefix(BUCKET).partition("/")
    bucket = open_bucket(
        name, prefix.strip("/"), settings.file_storage_endpoint, settings.file_storage_region
    )
    return Places({"row": rows, "obj": BucketBlobs(bucket, turns)}, "obj")


def _folder(place: str) -> Path:
    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"file_storage: {place}: {error}") from error
