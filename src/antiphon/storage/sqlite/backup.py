"""Copies the database file while servers use it, and restores a copy.

A copy is one file without a write-ahead log. It appears under its name only when it is whole, checked and on disk.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from antiphon.errors import ConfigError
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite.file import APPLICATION_ID, version

BUSY_TIMEOUT = 5.0
"""Seconds that a copy waits for another program that locks the file for a moment."""

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database under the name of its file."""


def back_up(store: Path, to: Path) -> int:
    """Copy a store to a new file; return its bytes. Servers continue to read and write.

    The copy has everything that was stored before it began, as of one moment. Raises `ConfigError` where there is no
    store, the file exists, or the copy cannot be made or is damaged.
    """
    if to.exists():
        raise ConfigError(f"backup: {to} exists. Choose another file; a backup overwrites nothing.")
    _check_exists(store, "store")
    with _part_of(to) as part:
        _copy(store, part)
        _check(part, store)
        _publish(part, to)
        return to.stat().st_size


def restore(backup: Path, store: Path, *, replaces: bool) -> Path | None:
    """Replace a store with a backup; return the path where the old store is kept, or None.

    Raises `ConfigError`, having changed nothing, where the backup is damaged, another program's, or of a newer
    Antiphon; where a server uses the store; and where there is a store, unless it `replaces` that.
    """
    _check_exists(backup, "backup")
    _check(backup, backup)
    if store.exists() and not replaces:
        raise ConfigError(f"store: {store} exists. Use --replace to replace it; the old file is kept next to it.")
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _part_of(store) as part:
        _copy(backup, part)
        _check(part, backup)
        with _alone(store):
            kept = _keep_old(store)
            _publish(part, store)
        return kept


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """Provide an empty file next to `path`, which is removed at the end unless it was published."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.touch(mode=0o600, exist_ok=False)
        yield part
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error
    except sqlite3.Error as error:
        raise ConfigError(f"{path} cannot be written: {error}.") from error
    finally:
        for one in (part, *_beside(part)):
            one.unlink(missing_ok=True)


def _publish(part: Path, path: Path) -> None:
    """Give a file its name, in one step, once all of it is on disk."""
    _synchronise(part)
    part.replace(path)
    _synchronise(path.parent)


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    """Keep others out of a store while it is replaced. Raises `ConfigError` where a server uses it."""
    if not store.exists():
        if left := [one for one in _beside(store) if one.exists()]:
            raise ConfigError(f"store: {left[0]} is left of another database. Move it away, then restore again.")
        yield
        return
    with closing(_connect(store)) as connection:
        try:
            # It only works without any other connection, and brings the log into the file.
            is_alone = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            # A damaged one, which may be why a backup is restored, is kept as it is.
            is_alone = error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        if not is_alone:
            raise ConfigError(f"store: {store} is in use. Stop every server and command that uses it first.")
        yield


def _keep_old(store: Path) -> Path | None:
    """Give the old file a second name, so that a store exists at any time; return the name, or None."""
    if not store.exists():
        return None
    kept = store.with_name(f"{store.name}.replaced-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
    kept.hardlink_to(store)
    for one in _beside(store):  # of a damaged one
        with suppress(FileNotFoundError):
            one.rename(kept.with_name(kept.name + one.name.removeprefix(store.name)))
    return kept


def _copy(source: Path, target: Path) -> None:
    """Copy all pages in one step: a copy in many steps would start again with each write of a server."""
    with closing(_connect(source, reads_only=True)) as old, closing(_connect(target)) as new:
        old.backup(new, pages=-1)
        new.execute("PRAGMA journal_mode = DELETE")


def _check(path: Path, shown: Path) -> None:
    """Raise `ConfigError` unless a file is a whole database of ours, and no newer than this program."""
    try:
        with closing(_connect(path, reads_only=True)) as connection:
            number, newest = version(connection), len(migrations("sqlite"))
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise ConfigError(f"{shown} is not a database of Antiphon.")
            if number > newest:
                raise ConfigError(
                    f"{shown} has schema {number}, newer than this Antiphon's {newest}. Upgrade Antiphon."
                )
            found: str = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise ConfigError(f"{shown} cannot be read: {error}.") from error
    if found != "ok":
        raise ConfigError(f"{shown} is damaged: {found.splitlines()[-1]}.")


def _check_exists(path: Path, what: str) -> None:
    if not path.is_file():
        raise ConfigError(f"{what}: there is no file {path}.")


def _connect(path: Path, *, reads_only: bool = False) -> sqlite3.Connection:
    url = f"{path.absolute().as_uri()}?mode={'ro' if reads_only else 'rw'}"
    return sqlite3.connect(url, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None)


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in _BESIDE]


def _synchronise(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
