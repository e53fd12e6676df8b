"""The values of a field of recent facts, for suggestions."""

from antiphon.storage.operations.facts_where import Statement
from antiphon.storage.operations.step import (
    UNKNOWN_ITEMS,
    Operation,
    announce_read,
    query_composed,
    reads,
)
from antiphon.storage.records.facts import TEXT_FIELDS

MOST_COUNTED = 10_000
"""How many of the newest responses are read. No index knows the values, and this takes a few
milliseconds.
"""

MOST_VALUES = 1_000
"""Different values that are returned: those of most responses."""

COLUMNS = TEXT_FIELDS | {"tool": "tools"}


@reads("facts_values")
def values(tenant: str | None, field: str, since: int = 0) -> Operation[list[tuple[str, int]]]:
    """Return the values of a field and how many of the newest responses have each, for one tenant
    or all.

    `field` is a name in `COLUMNS`. `since` is in milliseconds.
    """
    yield from announce_read(UNKNOWN_ITEMS)
    statement = Statement(tenant)
    statement.where(f"(flags & 32) = 0 AND began >= {statement.add(since)}")
    rows = yield from query_composed(
        f"""SELECT value, count(*) FROM (
            SELECT {COLUMNS[field]} AS value FROM facts WHERE {statement.condition}
            ORDER BY began DESC, seq DESC LIMIT {MOST_COUNTED}
        ) AS newest GROUP BY value ORDER BY 2 DESC, 1 LIMIT {MOST_VALUES}""",  # noqa: S608 - fixed parts
        tuple(statement.values),
    )
    return [(value, count) for value, count in rows]
