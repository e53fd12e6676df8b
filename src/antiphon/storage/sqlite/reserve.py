"""A file that reserves space on the store's disk, so that deletions still work once the disk is
full.

A full disk refuses a deletion like any other write, since SQLite first adds it to the log. The
first deletion, change of an API key or purge that fails for it releases the reserve: its file
stays, empty. All processes that use the store then refuse other writes, which would only use the
space up, until the disk has enough space for the reserve again.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path

from antiphon.errors import log

SIZE = 16 * 1024 * 1024
"""Bytes of the reserve: the log of thousands of deletions."""

ROOM = 4 * 1024 * 1024
"""Bytes that must be free besides the reserve before it is taken from the disk."""

_PIECE = 1024 * 1024
_WITHOUT_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """The reserve of one store; none for a store in memory, which has no path, or before the first
    `save`.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def release(self) -> bool:
        """Give the space back to the disk; return False if there was nothing to release."""
        if self._path is None or not self._size():
            return False
        try:
            os.truncate(self._path, 0)
        except OSError:
            return False
        log.error(
            "The store's disk is full. Deletions, changes of API keys and purges use the reserve; "
            "see `status`."
        )
        return True

    def save(self) -> bool:
        """Reserve the space, if that is not done; return False if the disk has no room for it.

        Also True if the reserve cannot be a file here, for a reason other than space.
        """
        if self._path is None or self._size() == SIZE:
            return True
        try:
            found = os.statvfs(self._path.parent)
            if found.f_bavail * found.f_frsize < SIZE + ROOM:
                return False
            _fill(self._path)
        except OSError as error:
            if error.errno in _WITHOUT_SPACE:  # a quota, or another program was faster
                return False
            log.debug("Cannot reserve space for deletions: %s", error)
        return True

    def refill(self) -> bool:
        """Return whether writes may continue: the reserve was not released, or the disk has room
        for it again.
        """
        if self._path is None:
            return True
        try:  # before each transaction, so without further calls
            if os.stat(self._path).st_size:  # noqa: PTH116 - as above
                return True
        except OSError:
            return True
        if not self.save():
            return False
        log.warning("The store's disk has room again.")
        return True

    def _size(self) -> int | None:
        with suppress(OSError):
            return None if self._path is None else self._path.stat().st_size
        return None


def reserve_next_to(path: Path) -> Path:
    """Return the path of the reserve that belongs to a store's file."""
    return path.with_name(f"{path.name}-reserve")


def _fill(path: Path) -> None:
    """Create the file under another name first: a part of a reserve must not look like one that was
    released.
    """
    unfinished = path.with_name(f"{path.name}.part-{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if not _allocate(descriptor):
            for _ in range(0, SIZE, _PIECE):
                os.write(descriptor, bytes(_PIECE))
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _allocate(descriptor: int) -> bool:
    """Return whether the file system reserved the blocks; not all can."""
    try:
        os.posix_fallocate(descriptor, 0, SIZE)
    except (AttributeError, OSError):
        return False
    return True
