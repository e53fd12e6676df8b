"""PostgreSQL behind a real PgBouncer in transaction mode, one that knows no prepared statements."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from bench.ports import free_port

from antiphon.storage.postgres.store import PostgresStore
from tests.store.check import check_store
from tests.support.postgres import Postgres, owned_by_a_role
from tests.support.programs import find, needs

PGBOUNCER = find("pgbouncer")

SETTINGS = """
[databases]
{name} = host={socket} dbname={name} user={role}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 5
unix_socket_dir =
"""


@asynccontextmanager
async def pooling(folder: Path, url: str, role: str = "postgres") -> AsyncIterator[str]:
    """Run a pooler before a database; the database's URL through it."""
    port = free_port()
    name = write_settings(folder, url, port, role)
    as_tenant = ("-u", "pgserver") if os.geteuid() == 0 else ()
    process = await asyncio.create_subprocess_exec(
        str(PGBOUNCER), *as_tenant, str(folder / "pool.ini"), stderr=-3
    )
    try:
        async with asyncio.timeout(30):
            while not await answers(port):
                await asyncio.sleep(0.02)
        yield f"postgresql://{role}@127.0.0.1:{port}/{name}"
    finally:
        process.terminate()
        await process.wait()


def write_settings(folder: Path, url: str, port: int, role: str) -> str:
    """Write what the pooler reads, for whichever user it runs as; return the database's name."""
    name, _, socket = url.rpartition("@/")[2].partition("?host=")
    (folder / "users").write_text(f'"{role}" ""\n')
    (folder / "pool.ini").write_text(
        SETTINGS.format(name=name, socket=socket, port=port, folder=folder, role=role)
    )
    for path in (folder, *folder.iterdir(), *list(folder.parents)[:3]):
        path.chmod(path.stat().st_mode | 0o555)
    return name


async def answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@pytest.mark.nightly  # an ordinary role, below, is what production has
@needs(PGBOUNCER, "pgbouncer")
async def test_a_store_behind_a_pooler_keeps_every_promise(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with pooling(tmp_path, await postgres.database()) as url:
        await check_store(lambda: PostgresStore.open(f"{url}?pooler=transaction"))


@pytest.mark.rotating
@needs(PGBOUNCER, "pgbouncer")
async def test_so_does_an_ordinary_roles(postgres: Postgres, tmp_path: Path) -> None:
    url = await owned_by_a_role(postgres)
    role = url.partition("//")[2].partition("@")[0]
    async with pooling(tmp_path, url, role) as pooled:
        await check_store(lambda: PostgresStore.open(f"{pooled}?pooler=transaction"))
