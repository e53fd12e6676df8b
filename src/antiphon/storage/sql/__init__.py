"""The SQL, in files: named queries that both databases share, and numbered migrations for each
database.

A query is a line `-- name --`, comment lines that explain it, and one statement with parameters
`$1`, `$2`. `{where}` in a statement is replaced by a condition that is assembled from fixed parts
(`QueryWhere`). A migration is `NNNN_what.sql`, numbered from 0001 without a gap, or a folder
`NNNN_what` with its parts in order.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_\w+(?:\.sql)?")

AREAS = (
    *(
        "responses",
        "jobs",
        "conversations",
        "chat_completions",
        "keys",
        "webhooks",
        "secrets",
        "answers",
        "api_keys",
    ),
    *("budgets", "sessions"),
    *("clock", "sizes", "profiles", "lessons", "facts", "reports", "files", "file_texts"),
    *("vector_stores", "chunks", "containers", "container_counts", "prompts", "item_blobs"),
)

OWN_AREAS = ("words",)
"""Queries with the same names but different SQL in each database: `sqlite/words.sql`,
`postgres/words.sql`.
"""


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


def migrations(database: str) -> Sequence[str]:
    """Return the scripts that migrate an empty database to the newest schema, in order.

    The first has the number 1.
    """
    scripts = sorted(
        (int(match[1]), _script(entry))
        for entry in (_FOLDER / database).iterdir()
        if (match := _MIGRATION.fullmatch(entry.name))
    )
    if [number for number, _ in scripts] != list(range(1, len(scripts) + 1)):
        raise ValueError("migrations must be numbered from 0001 without a gap")
    return [script for _, script in scripts]


def _script(migration: Path) -> str:
    parts = sorted(migration.glob("*.sql")) if migration.is_dir() else [migration]
    return "\n".join(part.read_text("utf-8") for part in parts)


QUERIES = parse("\n".join((_FOLDER / f"{area}.sql").read_text("utf-8") for area in AREAS))
"""All named queries that both databases share."""


@cache
def queries_of(database: str) -> Mapping[str, str]:
    """Return all named queries for a database: `sqlite` or `postgres`."""
    own = parse(
        "\n".join((_FOLDER / database / f"{area}.sql").read_text("utf-8") for area in OWN_AREAS)
    )
    return {**QUERIES, **own}
