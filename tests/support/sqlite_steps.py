"""Counts what SQLite does for a read."""

import sqlite3

from antiphon.storage.sqlite.store import SqliteStore


def counted(store: SqliteStore) -> list[None]:
    """A list that has an element for each ten instructions of the store's reader from now on."""
    steps: list[None] = []
    reader = store._reader
    assert isinstance(reader, sqlite3.Connection)
    reader.set_progress_handler(lambda: steps.append(None), 10)
    return steps
