"""Migrations: each once, each whole, whoever else is at it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.storage.sqlite.file import migrate, statements, version

ONE = "-- First; with a semicolon.\nCREATE TABLE a (x TEXT DEFAULT ';');\nCREATE TABLE b (x);\n"
TWO = "INSERT INTO a VALUES ('two');"
BROKEN = "CREATE TABLE c (x);\nINSERT INTO nowhere VALUES (1);"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        yield connection


def tables(connection: sqlite3.Connection) -> list[str]:
    return [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]


def test_every_migration_runs_once(connection: sqlite3.Connection) -> None:
    migrate(connection, [ONE, TWO])
    migrate(connection, [ONE, TWO])

    assert version(connection) == 2
    assert connection.execute("SELECT x FROM a").fetchall() == [("two",)]


def test_an_older_database_gets_only_what_it_has_not_seen(connection: sqlite3.Connection) -> None:
    migrate(connection, [ONE])
    connection.execute("INSERT INTO a VALUES ('one')")
    migrate(connection, [ONE, TWO])

    assert connection.execute("SELECT x FROM a").fetchall() == [("one",), ("two",)]


def test_a_migration_that_another_process_ran_meanwhile_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    class Overtaken(sqlite3.Connection):
        def execute(self, *what: Any) -> sqlite3.Cursor:
            if what == ("BEGIN IMMEDIATE",):
                with closing(sqlite3.connect(path, isolation_level=None)) as other:
                    migrate(other, [ONE, TWO])
            return super().execute(*what)

    with closing(sqlite3.connect(path, isolation_level=None, factory=Overtaken)) as connection:
        migrate(connection, [ONE, TWO])

        assert version(connection) == 2
        assert connection.execute("SELECT x FROM a").fetchall() == [("two",)]


def test_a_migration_that_fails_leaves_no_trace_and_the_ones_before_it_stay(
    connection: sqlite3.Connection,
) -> None:
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, [ONE, BROKEN, TWO])

    assert version(connection) == 1
    assert tables(connection) == ["a", "b"]


def test_a_process_that_dies_in_a_migration_leaves_the_version_before(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as dying:
        migrate(dying, [ONE])
        dying.execute("BEGIN IMMEDIATE")
        dying.execute("CREATE TABLE half (x)")
        dying.execute("PRAGMA user_version = 2")

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert (version(connection), tables(connection)) == (1, ["a", "b"])


def test_a_script_is_cut_where_statements_end_and_nowhere_else() -> None:
    parts = [
        "-- A comment; it belongs to what follows.\nCREATE TABLE a (x TEXT DEFAULT ';');\n",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\nEND;\n",
        "SELECT 1",
    ]

    assert list(statements("".join(parts))) == parts
