"""Copies the database file while servers use it, and restores copies.

A copy is one file without a write-ahead log. It appears under its name only when it is complete,
verified and on disk.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from antiphon.errors import ConfigError
from antiphon.storage.schema import EARLIER, newer
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite.file import is_earlier, is_ours, version

BUSY_TIMEOUT = 5.0
"""Seconds to wait for another program that holds a short lock on the file."""

READS, WRITES = "ro", "rw"
"""How a database is opened, in SQLite's words."""

_ALONGSIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates next to a database."""


def back_up(store: Path, to: Path) -> int:
    """Copy a store to a new file; return the size of the copy in bytes.

    Servers continue to read and write.

    The copy is a consistent snapshot of everything that was stored before the copy began. Raises
    `ConfigError` if the store does not exist, the target file exists, or the copy fails or is
    damaged.
    """
    if to.exists():
        raise ConfigError(
            f"backup: {to} exists. Choose another file: a backup never overwrites a file."
        )
    _check_exists(store, "store")
    with _part_of(to) as part:
        _copy(store, part)
        _check(part, store)
        _publish(part, to)
        return to.stat().st_size


def restore(backup: Path, store: Path, *, replaces: bool) -> Path | None:
    """Replace a store with a backup; return the new path of the old store, if there was one.

    Raises `ConfigError`, and changes nothing, if the backup is damaged, belongs to another program
    or to a newer Antiphon, if a server uses the store, or if the store exists and `replaces` is
    false.
    """
    _check_exists(backup, "backup")
    _check(backup, backup)
    if store.exists() and not replaces:
        raise ConfigError(
            f"store: {store} exists. Use --replace to replace it; the old file is kept next to it."
        )
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _part_of(store) as part:
        _copy(backup, part)
        _check(part, backup)
        with _alone(store):
            stored = _rename_old(store)
            _publish(part, store)
        return stored


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """Provide an empty temporary file next to `path`.

    It is removed at the end unless it was published.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.touch(mode=0o600, exist_ok=False)
        yield part
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error
    except sqlite3.Error as error:
        raise ConfigError(f"{path} cannot be written: {error}.") from error
    finally:
        for one in (part, *_alongside(part)):
            one.unlink(missing_ok=True)


def _publish(part: Path, path: Path) -> None:
    """Rename a file to its final name atomically, once it is completely on disk."""
    _synchronise(part)
    part.replace(path)
    _synchronise(path.parent)


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    """Lock other programs out of a store while it is replaced.

    Raises `ConfigError` if a server uses the store.
    """
    if not store.exists():
        if left := [one for one in _alongside(store) if one.exists()]:
            raise ConfigError(
                f"store: {left[0]} belongs to another database. Move it away, then restore again."
            )
        yield
        return
    with closing(_connect(store, WRITES)) as connection:
        try:
            # Succeeds only without any other connection, and checkpoints the log into the file.
            is_alone = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            # A damaged store, which can be the reason for the restore, is kept as it is.
            is_alone = error.sqlite_errorcode & 0xFF not in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            )
        if not is_alone:
            raise ConfigError(
                f"store: {store} is in use. Stop every server and command that uses it first."
            )
        yield


def _rename_old(store: Path) -> Path | None:
    """Give the old file a second name, so that the store exists at all times; return the name, or
    None.
    """
    if not store.exists():
        return None
    stored = store.with_name(
        f"{store.name}.replaced-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    )
    stored.hardlink_to(store)
    for one in _alongside(store):  # files of a damaged store
        with suppress(FileNotFoundError):
            one.rename(stored.with_name(stored.name + one.name.removeprefix(store.name)))
    return stored


def _copy(source: Path, target: Path) -> None:
    """Copy all pages in one step.

    A copy in several steps would restart with each write of a server.
    """
    with closing(_connect(source, READS)) as old, closing(_connect(target, WRITES)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")


def _check(path: Path, displayed: Path) -> None:
    """Raise `ConfigError` unless the file is an intact Antiphon database, not newer than this
    program.
    """
    try:
        with closing(_connect(path, READS)) as connection:
            number = version(connection)
            newest = len(migrations("sqlite"))
            if is_earlier(connection):
                raise ConfigError(f"{displayed} {EARLIER}.")
            if not (number and is_ours(connection)):
                raise ConfigError(f"{displayed} is not an Antiphon database.")
            if number > newest:
                raise ConfigError(f"{displayed} {newer(number, newest)}.")
            found: str = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise ConfigError(f"{displayed} cannot be read: {error}.") from error
    if found != "ok":
        raise ConfigError(f"{displayed} is damaged: {found.splitlines()[-1]}.")


def _check_exists(path: Path, what: str) -> None:
    if not path.is_file():
        raise ConfigError(f"{what}: the file {path} does not exist.")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    url = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(url, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None)


def _alongside(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in _ALONGSIDE]


def _synchronise(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
