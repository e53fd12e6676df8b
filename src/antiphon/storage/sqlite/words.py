"""Merges the parts of the keyword index, to which every transaction that changes it adds one, in
steps of a few ms.

By default, the index merges within such a transaction, up to 200 ms at a time. A merge that is
interrupted is continued after the next change.
"""

import sqlite3
from collections.abc import Iterable, Sequence

PAGES = 16
"""Pages of 4 KB that one step writes."""

MOST_STEPS = 8
"""Steps after one change. It needs two to four; more would let one tenant's old parts delay its
next change.
"""

_UNCHANGED = 2
"""Changes that SQLite counts for a step below which nothing was left to merge."""


def merge(connection: sqlite3.Connection, requested: Sequence[None]) -> Iterable[Sequence[bool]]:
    """Do one step for each; return whether there may be more."""
    return ([_merge(connection)] for _ in requested)


def _merge(connection: sqlite3.Connection) -> bool:
    before = connection.total_changes
    connection.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('merge', ?)", (PAGES,))
    return connection.total_changes - before >= _UNCHANGED
