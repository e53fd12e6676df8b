"""Connections to PostgreSQL: opening them, listening on them, and explaining their failures."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import asyncpg

from antiphon.errors import ConfigError, StoreError, log, redacted
from antiphon.storage.postgres.address import read_address
from antiphon.storage.postgres.rights import check_rights
from antiphon.storage.schema import EARLIER_STORE, newer
from antiphon.storage.sql import migrations

_LOCK = 0x416E7469  # `Anti`, the same mark as in SQLite files

_EARLIER = "SELECT to_regclass('antiphon_schema') IS NOT NULL"
"""Before the first release, this table had the numbers of other migrations."""

_VERSION = "SELECT coalesce(max(number), 0) FROM antiphon_migrations"
_MARK = "CREATE TABLE IF NOT EXISTS antiphon_migrations (number INTEGER NOT NULL)"


async def prepare(pool: "asyncpg.Pool[Any]", displayed: str, *, is_written: bool = False) -> None:
    """Check the schema and migrate it.

    Raises `ConfigError` if it is newer than this Antiphon, or cannot be used.

    With `is_written`, also raises it if the role lacks a right that a server needs.
    """
    scripts = migrations("postgres")
    try:
        async with pool.acquire() as connection:
            await check_not_earlier(connection, displayed)
            number = await version(connection)
            if number > len(scripts):
                raise ConfigError(f"store: {displayed} {newer(number, len(scripts))}")
            await migrate(connection, scripts)
            if is_written:
                await check_rights(connection, displayed)
    except TROUBLE as error:
        reason = (
            str(error).partition("\n")[0]
            if isinstance(error, asyncpg.PostgresError)
            else store_error(error)
        )
        raise ConfigError(f"store: {displayed} cannot be used: {reason}") from error


async def check_not_earlier(connection: Any, displayed: str) -> None:
    """Raise `ConfigError` for a database that was created before the first release.

    `displayed` is its URL.
    """
    if await connection.fetchval(_EARLIER):
        raise ConfigError(f"store: {displayed} {EARLIER_STORE}")


async def version(connection: Any) -> int:
    """Return the number of the last applied migration, or 0 for a database without migrations."""
    async with connection.transaction():
        if await connection.fetchval("SELECT to_regclass('antiphon_migrations')") is None:
            return 0
        return int(await connection.fetchval(_VERSION))


async def migrate(connection: Any, scripts: Sequence[str]) -> None:
    """Run the migrations that this database does not have.

    A process that dies leaves no partial migration.
    """
    while await version(connection) < len(scripts):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(SEE, EVERY_TENANT, True)
            await connection.execute(_MARK)
            # Checked again under the lock, in the table itself: another process may have migrated
            # in the meantime.
            done = await connection.fetchval(_VERSION)
            if done < len(scripts):
                if scripts[done]:  # asyncpg raises an error for no statement
                    await connection.execute(scripts[done], timeout=MIGRATION_TIMEOUT)
                await connection.execute(
                    "INSERT INTO antiphon_migrations (number) VALUES ($1)", done + 1
                )


CHANNEL = "antiphon"

STATEMENT_TIMEOUT = 5.0
"""Seconds. A slower database counts as unreachable, so that requests do not pile up."""

MIGRATION_TIMEOUT = 3600.0
"""Maximum seconds of one migration, which can read and write every row."""

LISTEN_AGAIN = 1.0
"""Seconds after which a lost listener reconnects."""

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
    # connected to a standby: another server is now the primary
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InvalidCachedStatementError,  # another process has migrated the schema
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the connection was killed while in use
    ConnectionError,
)
_DATA = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, UnicodeError)


def is_worth_a_retry(error: BaseException) -> bool:
    """Return whether another attempt may succeed soon."""
    return isinstance(error, _PASSING)


def store_error(cause: BaseException) -> StoreError:
    """Return the error for the client, without an address or SQL. The cause is kept for the log."""
    error = StoreError(_words(cause))
    error.is_disk_full = isinstance(cause, asyncpg.DiskFullError)
    error.__cause__ = cause
    return error


def is_about_data(error: StoreError) -> bool:
    """Return whether the data caused the failure, rather than the database."""
    return isinstance(error.__cause__, _DATA)


def _words(cause: BaseException) -> str:
    if isinstance(cause, asyncpg.DiskFullError):
        return "The store's disk is full."
    if isinstance(cause, asyncpg.ReadOnlySQLTransactionError):
        return "The store is read-only."
    if isinstance(cause, asyncpg.InsufficientPrivilegeError):
        return "The store's database role lacks a privilege."
    if isinstance(cause, TimeoutError | asyncpg.QueryCanceledError):
        return "The store did not respond in time."
    if isinstance(cause, (*_PASSING, OSError)):
        return "The store is unreachable."
    return "The store operation failed."


SEE = "SELECT set_config('antiphon.tenant', $1, $2)"

EVERY_TENANT = "*"
"""The tenant setting in the database for work on behalf of all tenants."""


def tenant_setting(tenant: str | None) -> str:
    """Return the statement that sets the tenant for row security
    (`postgres/0001_schema/01_responses.sql`).
    """
    return EVERY_TENANT if tenant is None else f"={tenant}"


class TenantConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that remembers its tenant, so that setting the same tenant again is free."""

    _seen: str | None = None

    async def see(self, tenant: str | None) -> None:
        """Make only this tenant's rows visible from now on, or all rows for None."""
        reported = tenant_setting(tenant)
        if reported != self._seen:
            self._seen = None
            await self.fetch(SEE, reported, False)
            self._seen = reported

    async def see_here(self, tenant: str | None) -> None:
        """Make only this tenant's rows visible until the end of the transaction, when the
        connection may change.
        """
        await self.fetch(SEE, tenant_setting(tenant), True)


async def connect(url: str, connections: int) -> tuple[str, "asyncpg.Pool[Any]"]:
    """Return the URL without user information, and a pool of connections. Raises `ConfigError`."""
    displayed = redacted(url)
    address = read_address(url)
    if address.ignored:
        log.info(
            "store: these parameters of the URL have no effect: %s.", ", ".join(address.ignored)
        )
    try:
        pool = await asyncpg.create_pool(
            address.dsn,
            statement_cache_size=0 if address.is_pooled else 100,
            min_size=1,
            max_size=connections,
            timeout=address.connect_timeout,
            command_timeout=STATEMENT_TIMEOUT,
            init=settle,
            connection_class=TenantConnection,
            reset=_as_it_is,
        )
    except (*TROUBLE, ValueError) as error:
        raise ConfigError(f"store: {displayed} cannot be used: {_reason(error)}") from error
    return displayed, pool


async def settle(connection: Any) -> None:
    """Set up a connection for writing.

    A process that stops in the middle of a transaction must not block others by its locks.
    """
    await connection.execute(
        f"SET idle_in_transaction_session_timeout = {int(STATEMENT_TIMEOUT * 1000)}"
    )


async def _as_it_is(connection: Any) -> None:
    """Do not reset the connection: nothing is set on it, and a reset would cost another round
    trip.
    """


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not respond"
    if isinstance(error, asyncpg.PostgresError):
        return str(error).partition("\n")[0]
    if isinstance(error, socket.gaierror):
        return f"DNS lookup failed ({error.strerror})"
    if isinstance(error, OSError):  # asyncio's text has the address, but not the reason
        return os.strerror(error.errno).lower() if error.errno else "the connection failed"
    return "the URL is invalid; write postgresql://user@host/database"


async def listen(url: str, receive: Callable[[str], None]) -> None:
    """Call `receive` with the notifications of other replicas, forever, and with an empty text
    after a possible gap.
    """
    address = read_address(url)
    while True:
        try:
            connection = await asyncpg.connect(address.dsn, timeout=address.connect_timeout)
            try:
                await _listen(connection, receive)
            finally:
                connection.terminate()
        except TROUBLE as error:
            log.debug(
                "Disconnected from the notifications of other replicas; reconnecting: %s", error
            )
        await asyncio.sleep(LISTEN_AGAIN)


async def _listen(connection: Any, receive: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    connection.add_termination_listener(lambda _: ended.set())
    await connection.add_listener(
        CHANNEL, lambda _connection, _pid, _channel, payload: receive(payload)
    )
    receive("")
    await ended.wait()
