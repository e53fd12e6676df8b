"""The SQL, in files: named queries that both databases share, and numbered migrations.

A query is a line `-- name --`, comment lines that explain it, and one statement with parameters
`$1`, `$2`. `{where}` in a statement is replaced by a condition that is assembled from fixed parts
(`QueryWhere`). Each file of this folder has the queries of one area. `sqlite/` and `postgres/` have
those with the same name but different SQL.

A migration is `migrations/NNNN_what.sql`, numbered without a gap. A line that begins with
`-- sqlite: ` or `-- postgres: ` is for that database alone; all others are for both. The first
migration is the folder `0001_schema` of each database, with its parts in order.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

Database = Literal["sqlite", "postgres"]

_FOLDER = Path(__file__).parent

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
_ONE_DATABASE = re.compile(r"^( *)-- (sqlite|postgres): ", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """Return the statements in `text` by name.

    Raises `ValueError` for a name without statement, or a duplicate.
    """
    parts = _NAME.split(text)[1:]
    queries: dict[str, str] = {}
    for name, chunk in zip(parts[::2], parts[1::2], strict=True):
        statement = "\n".join(
            line for line in chunk.splitlines() if line and not line.startswith("--")
        )
        if not statement or name in queries:
            raise ValueError(f"query {name}: " + ("defined twice" if statement else "no statement"))
        queries[name] = statement
    return queries


def migrations(database: Database) -> Sequence[str]:
    """Return the scripts that migrate an empty database to the newest schema, in order.

    The first has the number 1.
    """
    later = sorted(
        (int(match[1]), _of(database, path.read_text("utf-8")))
        for path in (_FOLDER / "migrations").iterdir()
        if (match := _MIGRATION.fullmatch(path.name))
    )
    if [number for number, _ in later] != list(range(2, len(later) + 2)):
        raise ValueError("migrations must be numbered from 0002 without a gap")
    return [_text_of(_FOLDER / database / "0001_schema"), *(script for _, script in later)]


def _of(database: Database, script: str) -> str:
    """Return the statements that a database executes of a script; empty without any."""
    own = _ONE_DATABASE.sub(lambda mark: mark[1] if mark[2] == database else mark[0], script)
    return "\n".join(
        line for line in own.splitlines() if line and not line.lstrip().startswith("--")
    )


def _text_of(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.sql")))


QUERIES = parse(_text_of(_FOLDER))
"""All named queries that both databases share."""


@cache
def queries_of(database: Database) -> Mapping[str, str]:
    """Return all named queries for a database."""
    return {**QUERIES, **parse(_text_of(_FOLDER / database))}
