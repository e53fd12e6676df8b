"""The privileges that a server's database role needs, derived from the statements that it
executes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from antiphon.errors import ConfigError
from antiphon.storage.operations.figures import ADD_ONE, ADD_SPAN
from antiphon.storage.sql import migrations, queries_of

OPTIONAL = {"put_api_key", "put_tenant_budget", "delete_tenant_budget", "close_budget", "put_code"}
"""Statements that only the command line and the console use. A server starts without the privileges
for them.
"""

_TABLE = re.compile(r"CREATE TABLE (\w+)")
_RIGHTS = {
    "SELECT": re.compile(r"(?:FROM|JOIN) (\w+)"),
    "INSERT": re.compile(r"INSERT INTO (\w+)"),
    "UPDATE": re.compile(r"UPDATE (\w+)|INSERT INTO (\w+)(?=.*DO UPDATE)", re.DOTALL),
    "DELETE": re.compile(r"DELETE FROM (\w+)"),
}

_FUNCTION = re.compile(r"AS \$\$(.*?)\$\$", re.DOTALL)
"""The body of a function in the schema. Triggers execute it with the privileges of the role."""

_MISSING = """
SELECT name FROM unnest($1::text[]) AS name WHERE NOT has_table_privilege(name, $2) ORDER BY name
"""


async def check_rights(connection: Any, displayed: str) -> None:
    """Raise a `ConfigError` with the privileges that the role lacks.

    `displayed` is the URL of the database.
    """
    lacks = []
    for right, tables in needed().items():
        if missing := [row[0] for row in await connection.fetch(_MISSING, sorted(tables), right)]:
            lacks.append(f"{right} on {', '.join(missing)}")
    if lacks:
        role = await connection.fetchval("SELECT current_user")
        raise ConfigError(
            f"store: {displayed} cannot be used: the role '{role}' lacks privileges: "
            f"{'; '.join(lacks)}. Grant them, or use a role that has them."
        )


@cache
def needed() -> Mapping[str, set[str]]:
    """Return the tables for which each privilege is needed."""
    schema = "\n".join(migrations("postgres"))
    statements = [text for name, text in queries_of("postgres").items() if name not in OPTIONAL]
    statements += [*_FUNCTION.findall(schema), *ADD_ONE, *ADD_SPAN]
    tables = set(_TABLE.findall(schema))
    return {right: set(_named(pattern, statements)) & tables for right, pattern in _RIGHTS.items()}


def _named(pattern: re.Pattern[str], statements: Sequence[str]) -> Iterator[str]:
    for text in statements:
        for found in pattern.finditer(text):
            yield from filter(None, found.groups())
