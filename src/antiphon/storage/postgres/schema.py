"""Brings a PostgreSQL database to the newest schema. One process at a time, each migration in one transaction."""

from collections.abc import Sequence
from typing import Any

import asyncpg

from antiphon.errors import ConfigError
from antiphon.storage.postgres.link import EVERY_TENANT, SEE, TROUBLE, store_error
from antiphon.storage.sql import migrations

_LOCK = 0x416E7470  # `Antp`, as SQLite's files are marked

_VERSION = "SELECT coalesce(max(version), 0) FROM antiphon_schema"
_MARK = "CREATE TABLE IF NOT EXISTS antiphon_schema (version INTEGER NOT NULL)"


async def prepare(pool: "asyncpg.Pool[Any]", shown: str) -> None:
    """Check the schema and migrate it. Raises `ConfigError` where it is newer than this Antiphon, or not to be had."""
    scripts = migrations("postgres")
    try:
        async with pool.acquire() as connection:
            number = await version(connection)
            if number > len(scripts):
                raise ConfigError(
                    f"store: {shown} has schema {number}, newer than this Antiphon's {len(scripts)}; upgrade Antiphon"
                )
            await migrate(connection, scripts)
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
            # Asked again under the lock, and of the table itself: another process may have been faster.
            done = await connection.fetchval(_VERSION)
            if done < len(scripts):
                await connection.execute(scripts[done])
                await connection.execute("INSERT INTO antiphon_schema (version) VALUES ($1)", done + 1)
