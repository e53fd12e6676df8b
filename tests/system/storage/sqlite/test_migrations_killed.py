"""A process that is killed at any statement of a migration: the next one completes it, and the
schema is the same.
"""

import asyncio
import hashlib
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite.file import statements
from antiphon.storage.sqlite.store import SqliteStore
from tests.support.postgres import Postgres

DIE_EVERYWHERE = """
import os, sys
from antiphon.storage.sqlite import file as migrate, store as sqlite
whole = migrate.statements

def cut(script):
    for statement in whole(script):
        global number
        if number == 0:
            os.kill(os.getpid(), 9)
        number -= 1
        yield statement

migrate.statements = cut
for number in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        sqlite.SqliteStore.open(f"sqlite://{sys.argv[2]}/{number}.db")
        os.kill(os.getpid(), 9)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Before each statement a process of its own dies, in a database of its own."""

COUNT = sum(len(list(statements(script))) for script in migrations("sqlite"))


def schema(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT type, name, sql FROM sqlite_master ORDER BY name"
        ).fetchall()
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return hashlib.sha256(repr(rows).encode()).hexdigest()


async def opened(path: Path) -> str:
    await SqliteStore.open(f"sqlite://{path}").close()
    return schema(path)


async def test_sqlite_is_completed_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DIE_EVERYWHERE, str(COUNT + 1), str(tmp_path)]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["-9"] * (COUNT + 1), done.stderr

    whole = await opened(tmp_path / "other.db")
    for number in range(COUNT + 1):
        assert await opened(tmp_path / f"{number}.db") == whole


async def postgres_schema(url: str) -> str:
    connection = await asyncpg.connect(url)
    columns = await connection.fetch(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'public' ORDER BY 1, 2"
    )
    indexes = await connection.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
    )
    await connection.close()
    return repr([tuple(row) for row in (*columns, *indexes)])


PG_STATEMENTS = re.split(
    r";\n(?=\n|CREATE|ALTER|INSERT)", re.sub(r"(?m)^--.*\n", "", migrations("postgres")[0])
)


@pytest.mark.parametrize("number", [0, 1, 2, 7, len(PG_STATEMENTS) - 1])
async def test_postgresql_is_completed_by_the_next(postgres: Postgres, number: int) -> None:
    url = await postgres.database()
    connection = await asyncpg.connect(url)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("CREATE TABLE antiphon_migrations (number INTEGER NOT NULL)")
    for statement in PG_STATEMENTS[:number]:
        await connection.execute(statement)
    connection.terminate()  # as a process that is killed leaves it

    store = await PostgresStore.open(url)
    await store.close()
    fresh = await postgres.database()
    await (await PostgresStore.open(fresh)).close()
    assert await postgres_schema(url) == await postgres_schema(fresh)
