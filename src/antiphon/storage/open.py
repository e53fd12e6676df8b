"""Opens the store at a URL."""

from contextlib import closing
from typing import NamedTuple

from antiphon.errors import ConfigError, redacted
from antiphon.extras import require
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.schema import EARLIER_STORE
from antiphon.storage.sql import migrations
from antiphon.storage.store import Store


class Schema(NamedTuple):
    """The schema of a store, identified by the number of its last migration."""

    found: int
    newest: int
    """The newest schema that this Antiphon knows."""


def is_in_memory(url: str) -> bool:
    """Return whether the store at this URL exists only in the process that opens it.

    Raises `ConfigError` if the URL is not valid.
    """
    if url.partition(":")[0] != "sqlite":
        return False
    from antiphon.storage.sqlite.file import path_of  # noqa: PLC0415 - only for SQLite

    return path_of(url) is None


def creates_file(url: str) -> bool:
    """Return whether opening the store at this URL creates a file.

    Raises `ConfigError` if the URL is not valid.
    """
    if url.partition(":")[0] != "sqlite":
        return False
    from antiphon.storage.sqlite.file import path_of  # noqa: PLC0415 - only for SQLite

    path = path_of(url)
    return path is not None and not path.exists()


async def open_store(
    url: str, connections: int = 10, reads: FairScheduler | None = None, *, is_written: bool = False
) -> Store:
    """Return the store at a URL. `reads` is the scheduler that shares its large reads between
    tenants.

    Raises `ConfigError` if the store cannot be used; with `is_written`, also if its role lacks a
    privilege that a server needs.
    """
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        from antiphon.storage.sqlite.store import SqliteStore  # noqa: PLC0415 - only for SQLite

        return SqliteStore.open(url, reads=reads)
    if scheme in ("postgresql", "postgres"):
        require("postgres", f"The store {redacted(url)}")
        from antiphon.storage.postgres.store import PostgresStore  # noqa: PLC0415 - only for PostgreSQL

        return await PostgresStore.open(
            url, connections=connections, reads=reads, is_written=is_written
        )
    named = f" '{scheme}:…'" if "://" in url else ""
    raise ConfigError(
        f"The store URL{named} is not supported. Use sqlite:///path/to/file.db, "
        "postgresql://user@host/database, or sqlite:// for memory."
    )


async def schema_of(url: str) -> Schema:
    """Return the schema of the existing store at a URL, without changing anything.

    Raises `ConfigError` if the store cannot be read.
    """
    if url.partition(":")[0] == "sqlite":
        return Schema(_of_file(url), len(migrations("sqlite")))
    require("postgres", f"The store {redacted(url)}")
    from antiphon.storage.postgres.link import check_not_earlier, connect, version  # noqa: PLC0415 - only for PostgreSQL

    displayed, pool = await connect(url, 1)
    try:
        async with pool.acquire() as connection:
            await check_not_earlier(connection, displayed)
            return Schema(await version(connection), len(migrations("postgres")))
    finally:
        await pool.close()


def _of_file(url: str) -> int:
    import sqlite3  # noqa: PLC0415 - only for SQLite

    from antiphon.storage.sqlite.file import is_earlier, path_of, version  # noqa: PLC0415

    path = path_of(url)
    if path is None:
        return len(migrations("sqlite"))
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            if is_earlier(connection):
                raise ConfigError(f"store: {path} {EARLIER_STORE}")
            return version(connection)
    except sqlite3.Error as error:
        raise ConfigError(f"store: {path} cannot be read: {error}") from error
