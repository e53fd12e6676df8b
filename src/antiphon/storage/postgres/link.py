"""Connections to PostgreSQL: opened, listened on, and what their failures mean."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from antiphon.errors import ConfigError, StoreError, log, redacted
from antiphon.storage.postgres.rights import check_rights
from antiphon.storage.sql import migrations

_LOCK = 0x416E7470  # `Antp`, as SQLite's files are marked

_VERSION = "SELECT coalesce(max(version), 0) FROM antiphon_schema"
_MARK = "CREATE TABLE IF NOT EXISTS antiphon_schema (version INTEGER NOT NULL)"


async def prepare(pool: "asyncpg.Pool[Any]", shown: str, *, is_written: bool = False) -> None:
    """Check the schema and migrate it. Raises `ConfigError` where it is newer than this Antiphon, or not to be had.

    Where `is_written`, also where the role lacks a right that a server needs.
    """
    scripts = migrations("postgres")
    try:
        async with pool.acquire() as connection:
            number = await version(connection)
            if number > len(scripts):
                raise ConfigError(
                    f"store: {shown} has schema {number}, newer than this Antiphon's {len(scripts)}; upgrade Antiphon"
                )
            await migrate(connection, scripts)
            if is_written:
                await check_rights(connection, shown)
    except TROUBLE as error:
        reason = str(error).partition("\n")[0] if isinstance(error, asyncpg.PostgresError) else store_error(error)
        raise ConfigError(f"store: {shown} cannot be used: {reason}") from error


async def version(connection: Any) -> int:
    """Return the number of the last migration done, 0 for a database without one."""
    async with connection.transaction():
        if await connection.fetchval("SELECT to_regclass('antiphon_schema')") is None:
            return 0
        return int(await connection.fetchval(_VERSION))


async def migrate(connection: Any, scripts: Sequence[str]) -> None:
    """Run the scripts that this database has not seen; a process that dies leaves it at a whole number."""
    while await version(connection) < len(scripts):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(SEE, EVERY_TENANT, True)
            await connection.execute(_MARK)
            # Checked again under the lock, in the table itself: another process may have been faster.
            done = await connection.fetchval(_VERSION)
            if done < len(scripts):
                await connection.execute(scripts[done], timeout=MIGRATION_TIMEOUT)
                await connection.execute("INSERT INTO antiphon_schema (version) VALUES ($1)", done + 1)


CHANNEL = "antiphon"

CONNECT_TIMEOUT = 5.0
STATEMENT_TIMEOUT = 5.0
"""Seconds; a database that takes longer is as good as away, and its requests must not pile up."""

MIGRATION_TIMEOUT = 3600.0
"""Seconds that one migration may take: it may read and write every row."""

LISTEN_AGAIN = 1.0
"""Seconds after which a lost listener tries again."""

TROUBLE = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    UnicodeError,
)

_PASSING = (
    asyncpg.PostgresConnectionError,
    asyncpg.TransactionRollbackError,  # deadlock, serialization
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby: the primary is elsewhere now
    asyncpg.InvalidCachedStatementError,  # another process has migrated the schema
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that was killed while it was used
    ConnectionError,
)
_DATA = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, UnicodeError)


def is_worth_a_retry(error: BaseException) -> bool:
    """Whether the same may go well in a moment."""
    return isinstance(error, _PASSING)


def store_error(cause: BaseException) -> StoreError:
    """Say what went wrong without an address or SQL; the cause is kept for the log."""
    error = StoreError(_words(cause))
    error.__cause__ = cause
    return error


def is_about_data(error: StoreError) -> bool:
    """Whether what was to be kept is at fault, not the database."""
    return isinstance(error.__cause__, _DATA)


def _words(cause: BaseException) -> str:
    if isinstance(cause, asyncpg.DiskFullError):
        return "The store's disk is full."
    if isinstance(cause, asyncpg.ReadOnlySQLTransactionError):
        return "The store is read-only."
    if isinstance(cause, asyncpg.InsufficientPrivilegeError):
        return "The store's database role lacks a privilege."
    if isinstance(cause, TimeoutError | asyncpg.QueryCanceledError):
        return "The store does not answer in time."
    if isinstance(cause, (*_PASSING, OSError, asyncpg.TooManyConnectionsError)):
        return "The store cannot be reached."
    return "The store could not do this."


SEE = "SELECT set_config('antiphon.tenant', $1, $2)"

EVERY_TENANT = "*"
"""The tenant that work for all tenants sets in the database."""


def whose(tenant: str | None) -> str:
    """Return the statement that sets the tenant for row security (`postgres/0005_row_security.sql`)."""
    return EVERY_TENANT if tenant is None else f"={tenant}"


class Session(asyncpg.Connection):  # type: ignore[misc]
    """A connection that remembers its tenant, so that setting the same tenant again costs nothing."""

    _seen: str | None = None

    async def see(self, tenant: str | None) -> None:
        """Show this tenant's rows from now on, every tenant's for None."""
        told = whose(tenant)
        if told != self._seen:
            self._seen = None
            await self.fetch(SEE, told, False)
            self._seen = told

    async def see_here(self, tenant: str | None) -> None:
        """Show this tenant's rows until the end of the transaction: the next may be another connection's."""
        await self.fetch(SEE, whose(tenant), True)


POOLER = "pooler=transaction"
"""In a URL's query: between us and the database stands a pooler in transaction mode, without prepared statements."""


def is_pooled(url: str) -> bool:
    """Whether the URL says that there is such a pooler."""
    return POOLER in urlsplit(url).query.split("&")


def plain(url: str) -> str:
    """Return the URL as the driver takes it, without what is meant for us."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(one for one in parts.query.split("&") if one != POOLER)))


async def connect(url: str, connections: int) -> tuple[str, "asyncpg.Pool[Any]"]:
    """Return the URL without its password, and connections to it. Raises `ConfigError`."""
    shown = without_password(url)
    try:
        pool = await asyncpg.create_pool(
            plain(url),
            statement_cache_size=0 if is_pooled(url) else 100,
            min_size=1,
            max_size=connections,
            timeout=CONNECT_TIMEOUT,
            command_timeout=STATEMENT_TIMEOUT,
            init=settle,
            connection_class=Session,
            reset=_as_it_is,
        )
    except (*TROUBLE, ValueError) as error:
        raise ConfigError(f"store: {shown} cannot be used: {_reason(error)}") from error
    return shown, pool


async def settle(connection: Any) -> None:
    """Set up a connection that writes.

    A process that is stopped in the middle of a transaction must not keep others from what it has locked.
    """
    await connection.execute(f"SET idle_in_transaction_session_timeout = {int(STATEMENT_TIMEOUT * 1000)}")


async def _as_it_is(connection: Any) -> None:
    """Nothing is set on a connection, so nothing is to be reset: it would take another round trip."""


def without_password(url: str) -> str:
    """Return a URL as it may be shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return redacted(url)
    if "@" in parts.path:  # a password with a slash, which had to be escaped
        return redacted(url)
    user, at, host = parts.netloc.rpartition("@")
    netloc = user.partition(":")[0] + at + host
    query = "&".join(one for one in parts.query.split("&") if not one.lower().startswith("password="))
    return redacted(urlunsplit((parts.scheme, netloc, parts.path, query, "")))


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, asyncpg.PostgresError):
        return str(error).partition("\n")[0]
    if isinstance(error, socket.gaierror):
        return f"DNS lookup failed ({error.strerror})"
    if isinstance(error, OSError):  # asyncio says where it connected to, and not why it could not
        return os.strerror(error.errno).lower() if error.errno else "no connection could be made"
    return "the URL is invalid; write postgresql://user@host/database"


async def listen(url: str, hear: Callable[[str], None]) -> None:
    """Call `hear` with the notifications of other replicas, forever; with an empty text after a possible gap."""
    while True:
        try:
            connection = await asyncpg.connect(plain(url), timeout=CONNECT_TIMEOUT)
            try:
                await _listen(connection, hear)
            finally:
                connection.terminate()
        except TROUBLE as error:
            log.debug("Not listening to other replicas for the moment: %s", error)
        await asyncio.sleep(LISTEN_AGAIN)


async def _listen(connection: Any, hear: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    connection.add_termination_listener(lambda _: ended.set())
    await connection.add_listener(CHANNEL, lambda _connection, _pid, _channel, payload: hear(payload))
    hear("")
    await ended.wait()
