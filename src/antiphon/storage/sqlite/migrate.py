"""Brings an SQLite database to the newest schema, one numbered migration after the other.

`PRAGMA user_version` holds the number of the last one done. It is written in the migration's own transaction, so a
process that is killed between two statements leaves the database at a whole number.
"""

import sqlite3
from collections.abc import Iterator, Sequence

APPLICATION_ID = 0x416E7470
"""`Antp`, in the file's header: how we tell our database from another program's."""


def version(connection: sqlite3.Connection) -> int:
    """Return the number of the last migration done, 0 for an empty database."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the database is empty, or one that `migrate` made."""
    marked = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    return marked or not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def migrate(connection: sqlite3.Connection, scripts: Sequence[str]) -> None:
    """Run the scripts that this database has not seen; the first of them is number 1.

    The connection must not open transactions of its own (`isolation_level=None`). Raises `sqlite3.Error` where a
    script fails; its changes are undone and the scripts before it stay.
    """
    while version(connection) < len(scripts):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            # Asked again under the lock: another process may have been faster.
            done = version(connection)
            if done < len(scripts):
                _run(connection, done + 1, scripts[done])


def _run(connection: sqlite3.Connection, number: int, script: str) -> None:
    for statement in statements(script):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {number}")


def statements(script: str) -> Iterator[str]:
    """Cut a script into statements; each ends at a line's end. (`executescript` would commit before the first.)"""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
