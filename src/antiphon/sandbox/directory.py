"""The files in a machine's data directory, read and written from outside through an open directory.

The code in the machine can change anything at any time: create links, devices or pipes, replace or
truncate a file while it is read. So no path is opened, and no link is followed. All functions
block: call them in a thread.
"""

import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from antiphon.sandbox.contract import FoundFile, SandboxError

INSPECTED = 10_000
"""Entries of a directory that are examined."""
LONGEST_NAME = 255
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DataDirectory:
    """One machine's data directory.

    It stays readable after the end of the machine, until `close`.
    """

    def __init__(self, directory: int, user: int) -> None:
        self._directory = directory
        self._user = user
        self._lock = threading.Lock()
        """The directory is not closed while a thread reads it."""

    def files(self, most: int) -> list[FoundFile]:
        """Return the regular files, at most this many, by name."""
        with self._lock, os.scandir(self._directory) as entries:
            found = [file for entry in islice(entries, INSPECTED) for file in _found(entry)]
        return sorted(found, key=lambda file: file.name)[:most]

    def open(self, name: str) -> int:
        """Open a regular file for reading. Raises `SandboxError`."""
        checked(name)
        try:
            with self._lock:
                file = os.open(name, READ, dir_fd=self._directory)
        except OSError as error:
            raise SandboxError(f"The file {name!r} cannot be read: {error.strerror}.") from error
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise SandboxError(f"The file {name!r} cannot be read: it is not a regular file.")
        return file

    def create(self) -> tuple[int, str]:
        """Create a file under an unpredictable name, and open it for writing."""
        name = f".{secrets.token_hex(16)}"
        with self._lock:
            file = os.open(name, CREATE, 0o644, dir_fd=self._directory)
        if self._user:
            os.fchown(file, self._user, self._user)
        return file, name

    def rename(self, temporary: str, name: str) -> None:
        """Name a created file; a file or a link with that name is replaced."""
        with self._lock:
            os.rename(temporary, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def remove(self, name: str) -> None:
        """Delete a file, if it exists."""
        with self._lock, suppress(OSError):
            os.unlink(name, dir_fd=self._directory)

    def close(self) -> None:
        """Close the directory, which deletes its files if the machine has ended."""
        with self._lock:
            if self._directory >= 0:
                os.close(self._directory)
            self._directory = -1


def checked(name: str) -> str:
    """Return the name of a file. Raises `ValueError` unless it is one path component."""
    if (
        name in {"", ".", ".."}
        or "/" in name
        or "\0" in name
        or len(os.fsencode(name)) > LONGEST_NAME
    ):
        raise ValueError(
            f"{name!r} is not the name of a file: it must be one path component of at "
            "most 255 bytes."
        )
    return name


def _found(entry: "os.DirEntry[str]") -> Iterator[FoundFile]:
    try:
        entry.name.encode()
        facts = entry.stat(follow_symlinks=False)
    except (OSError, UnicodeEncodeError):  # deleted meanwhile; invalid UTF-8
        return
    if stat.S_ISREG(facts.st_mode):
        # The code can set every timestamp except that of the last inode change.
        yield FoundFile(
            entry.name, facts.st_size, f"{facts.st_ino}-{facts.st_ctime_ns}-{facts.st_size}"
        )
