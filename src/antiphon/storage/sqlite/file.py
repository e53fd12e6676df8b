"""Finds, checks and opens the database file. An unusable file is rejected before anything is
written to it.
"""

import errno
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from antiphon.errors import ConfigError, redacted
from antiphon.storage.schema import EARLIER, EARLIER_STORE, newer
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite.forks import ForkSafeConnection, forks
from antiphon.storage.sqlite.reserve import Reserve, reserve_next_to

SYNCHRONOUS = "FULL"  # NORMAL would lose the last commits in a power failure
APPLICATION_ID = 0x416E7469
"""`Anti` in the file's header. It distinguishes our databases from those of other programs."""

_EARLIER_ID = 0x416E7470
"""The same before the first release, when migrations were numbered differently."""


def version(connection: sqlite3.Connection) -> int:
    """Return the number of the last applied migration, or 0 for an empty database."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def is_ours(connection: sqlite3.Connection) -> bool:
    """Return whether the database is empty or was created by `migrate`."""
    return (
        _id(connection) == APPLICATION_ID
        or not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    )


def is_earlier(connection: sqlite3.Connection) -> bool:
    """Return whether the database was created before the first release."""
    return _id(connection) == _EARLIER_ID


def foreign(connection: sqlite3.Connection) -> str:
    """Return why a database is not one of this version's; empty if it is, or has nothing."""
    if is_ours(connection):
        return ""
    return EARLIER if is_earlier(connection) else "belongs to another program"


def blobs_next_to(path: Path) -> Path:
    """Return the path of the content file that belongs to a store's file."""
    return path.with_name(f"{path.stem}-files{path.suffix}")


def _id(connection: sqlite3.Connection) -> int:
    number: int = connection.execute("PRAGMA application_id").fetchone()[0]
    return number


def migrate(connection: sqlite3.Connection, scripts: Sequence[str]) -> None:
    """Run the migrations that this database does not have. The first migration has the number 1.

    The connection must not open transactions automatically (`isolation_level=None`). Raises
    `sqlite3.Error` if a migration fails: its changes are rolled back, and the migrations before it
    are kept.
    """
    while version(connection) < len(scripts):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            # Checked again under the lock: another process may have migrated in the meantime.
            done = version(connection)
            if done < len(scripts):
                _run(connection, done + 1, scripts[done])


def _run(connection: sqlite3.Connection, number: int, script: str) -> None:
    for statement in statements(script):
        connection.execute(statement)
    mark(connection, number)


def mark(connection: sqlite3.Connection, number: int) -> None:
    """Mark a database as ours, and set the number of its schema."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {number}")


def statements(script: str) -> Iterator[str]:
    """Split a script into statements, each of which ends at the end of a line.

    (`executescript` would commit first.)
    """
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


_READ_THROUGH = 64 * 1024 * 1024  # bytes; larger files are not read completely at each start
_CHECKPOINT_PAGES = 4096  # log pages of 4 KiB after which the log is checkpointed into the file
_LOG_BYTES = 64 * 1024 * 1024  # a log that grew because of a slow reader is truncated to this size

_PATIENCE = 2  # multiple of `busy_timeout`, for a file that is busy at startup
_PAUSE = 0.05  # seconds between two attempts

_REFUSALS = {
    sqlite3.SQLITE_NOTADB: "is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_READONLY: "is read-only, or its folder is",
    sqlite3.SQLITE_BUSY: "is locked by another program",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
}


def path_of(url: str) -> Path | None:
    """Return the file that a store's URL names, or None for a store in memory.

    `sqlite:///absolute/path` and `sqlite:///~/path/in/the/home/folder` are files; `sqlite://` and
    `sqlite:///:memory:` are in memory. The path is used literally: it is not percent-decoded and
    cannot be followed by options. Raises `ConfigError` for any other URL.
    """
    scheme, _, rest = url.partition("://")
    if (
        scheme != "sqlite"
        or (rest and not rest.startswith("/"))
        or rest == "/"
        or set(rest) & {"?", "\0"}
    ):
        raise ConfigError(
            f"store: {redacted(url)} is not a valid store URL; "
            "use sqlite:///absolute/path, or sqlite://"
        )
    if rest in ("", "/:memory:"):
        return None
    if rest.startswith("/~"):
        return _at_home(Path(rest[1:]))
    return Path("/" + rest.lstrip("/"))


def _at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ConfigError(f"store: {path}: {error}") from error


def open_memory() -> sqlite3.Connection:
    """Return the only connection to a new in-memory database."""
    connection = connect(":memory:")
    migrate(connection, migrations("sqlite"))
    return connection


def open_file(path: Path, busy_timeout: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Return one connection for writes and one for reads.

    Create the file if needed, with owner-only permissions.

    `busy_timeout` is how many seconds the writing connection waits for other programs; the reading
    connection never waits. Raises `ConfigError` with the path and the reason if the file cannot be
    used.
    """
    until = time.monotonic() + _PATIENCE * busy_timeout
    while True:
        try:
            return _open(path, busy_timeout)
        except ConfigError as error:
            # Without space the first connection cannot create the log, and so not even a deletion.
            if _is_without_space(error.__cause__) and Reserve(reserve_next_to(path)).release():
                continue
            # Other processes that start or were killed hold short locks on the file for which
            # SQLite does not wait.
            if not _is_busy(error.__cause__) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


def _is_busy(error: BaseException | None) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _is_without_space(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode & 0xFF in (
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_CANTOPEN,
        )
    return isinstance(error, OSError) and error.errno == errno.ENOSPC


def _open(path: Path, busy_timeout: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    with ExitStack() as opened:
        try:
            make_file(path)
            writer = opened.enter_context(closing(connect(str(path), busy_timeout)))
            with writer:
                writer.execute(
                    "BEGIN"
                )  # one consistent check: another process may be creating the same file
                _check(writer, path)
            _check_blobs(path)
            _prepare(writer, path)
            reader = opened.enter_context(closing(open_reader(path)))
        except OSError as error:
            raise ConfigError(f"store: {path} cannot be opened: {error.strerror}") from error
        except sqlite3.Error as error:
            raise _refused(
                path, _REFUSALS.get(error.sqlite_errorcode & 0xFF, f"cannot be used: {error}")
            ) from error
        opened.pop_all()
    return writer, reader


def open_reader(path: Path) -> sqlite3.Connection:
    """Return another connection that reads an already opened file. Raises `sqlite3.Error`."""
    connection = connect(str(path))
    connection.execute("PRAGMA query_only = ON")
    return connection


def open_writer(path: Path, busy_timeout: float) -> sqlite3.Connection:
    """Return another connection that writes to an already opened file. Raises `sqlite3.Error`."""
    connection = connect(str(path), busy_timeout)
    try:
        _settle(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _refused(path: Path, reason: str) -> ConfigError:
    return ConfigError(f"store: {path} {reason}")


def connect(name: str, busy_timeout: float = 0.0) -> sqlite3.Connection:
    """Return a connection that only one thread at a time can use. Raises `sqlite3.Error`.

    It waits so many seconds for other programs.
    """
    # Opened in one thread and used in another. The caller ensures that only one thread at
    # a time uses it.
    connection = sqlite3.connect(
        name,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
        factory=ForkSafeConnection,
    )
    forks.opened(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    # A row that replaces another row deletes it, and the triggers that count rows must run.
    connection.execute("PRAGMA recursive_triggers = ON")
    return connection


def make_file(path: Path) -> None:
    """Create the file and its folders if they do not exist, with owner-only permissions."""
    if path.is_dir():
        raise _refused(path, "is a folder; use the path of a file in it")
    for folder in reversed(path.parents):
        folder.mkdir(mode=0o700, exist_ok=True)
    # Never open an existing file: closing any of its descriptors drops the locks of other stores
    # of this process.
    if not path.exists():
        path.touch(mode=0o600)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Check the file without writing to it."""
    if is_earlier(connection):
        raise _refused(path, EARLIER_STORE)
    if not is_ours(connection):
        raise _refused(path, "belongs to another program")
    number = version(connection)
    newest = len(migrations("sqlite"))
    if number > newest:
        raise _refused(path, newer(number, newest))
    if path.stat().st_size <= _READ_THROUGH:
        found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise _refused(path, f"is damaged: {found.splitlines()[-1]}")


def _check_blobs(path: Path) -> None:
    """Check the content file, if there is one, without writing to it: else the first upload would
    fail.

    A damaged one is no reason not to serve what is in the store's own file.
    """
    alongside = blobs_next_to(path)
    reason = ""
    if alongside.exists():
        url = f"{alongside.absolute().as_uri()}?mode=ro"
        with suppress(sqlite3.Error), closing(sqlite3.connect(url, uri=True)) as connection:
            reason = foreign(connection)
    if reason:
        raise ConfigError(f"store: {alongside} {reason}. Move it away, then try again")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        f"PRAGMA user_version = {version(connection)}"
    )  # fails if the file is read-only
    connection.execute("ROLLBACK")
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise _refused(
            path, "is on a file system without shared memory, which the write-ahead log requires"
        )
    _settle(connection)
    migrate(connection, migrations("sqlite"))


def _settle(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
