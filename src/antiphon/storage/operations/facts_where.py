"""Filters of lists and figures, as conditions of one statement that is assembled from fixed
parts.
"""

from typing import Any

from msgspec.structs import replace

from antiphon.query.response_filters import AnyOf, Chain, Compare, Condition, Filters, Flag, Tag
from antiphon.storage.operations.step import Operation, Rows, query_composed, query_rows
from antiphon.storage.records.facts import FLAGS, TEXT_FIELDS, pair_of

NUMBERS = {"first": "first", "tokens": "input_tokens + output_tokens", "took": "ended - began"}

WORDS = "lower(input || ' ' || output)"

CHAIN = 200
"""Maximum number of responses of a chain that are found, upwards from the given response."""


CHEAP = 4
"""Number of texts that each row can be compared with before fewer rows are read."""


class Statement:
    """The conditions of a statement, and its parameters.

    Without a tenant, it reads the rows of all tenants.
    """

    def __init__(self, tenant: str | None) -> None:
        self.values: list[Any] = []
        self.conditions = [] if tenant is None else [f"tenant = {self.add(tenant)}"]

    def add(self, value: Any) -> str:
        """Add a parameter; return its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"

    def where(self, condition: str) -> None:
        """Add a condition."""
        self.conditions.append(condition)

    def query(self, columns: str, order: str, limit: int, *, skip: int = 0) -> Operation[Rows]:
        """Read rows of `facts`, ordered by the start of their responses."""
        where = " AND ".join(self.conditions or ["true"])
        behind = f" LIMIT {self.add(limit)}"
        if skip:
            behind += f" OFFSET {self.add(skip)}"
        order = f"ORDER BY began {order}, seq {order}{behind}"
        return (
            yield from query_composed(
                f"SELECT {columns} FROM facts WHERE {where} {order}",  # noqa: S608 - fixed texts; all values are parameters
                tuple(self.values),
            )
        )

    def query_grouped(
        self, table: str, groups: str, columns: str, behind: str = ""
    ) -> Operation[Rows]:
        """Read columns of all rows of each group. Each row begins with the columns of its group."""
        where = " AND ".join(self.conditions or ["true"])
        text = f"SELECT {groups}, {columns} FROM {table} WHERE {where} GROUP BY {groups} {behind}"  # noqa: S608 - fixed parts
        return (yield from query_composed(text, tuple(self.values)))


def add_filters(statement: Statement, filters: Filters, tenant: str | None) -> None:
    """Add all conditions and search words of the filters, except the times."""
    for condition in filters.conditions:
        statement.where(_condition(statement, condition, tenant))
    for word in filters.words:
        statement.where(f"{WORDS} <> replace({WORDS}, {statement.add(word)}, '')")


def most_read(rows: int, filters: Filters) -> int:
    """Return how many rows to compare with filters: at most `rows`, and fewer if each is compared
    with many texts.
    """
    return max(1, rows * CHEAP // max(CHEAP, filters.comparisons))


def with_key_ids(filters: Filters, tenant: str | None) -> Operation[Filters]:
    """Return the filters with names of API keys replaced by the ids of these keys."""
    conditions: list[Condition] = []
    for condition in filters.conditions:
        if isinstance(condition, AnyOf) and condition.field == "key":
            ids: list[str] = []
            for value in condition.values:
                rows = (
                    yield from query_rows("ids_of_api_keys", tenant, value)
                    if tenant is not None
                    else query_rows("ids_of_all_api_keys", value)
                )
                ids += [row[0] for row in rows] or [value]
            conditions.append(AnyOf("key", ids))
        else:
            conditions.append(condition)
    return replace(filters, conditions=conditions)


def _condition(statement: Statement, condition: Condition, tenant: str | None) -> str:
    match condition:
        case AnyOf():
            return any_of(statement, condition)
        case Compare(field, operator, value):
            return f"{NUMBERS[field]} {operator} {statement.add(value)}"
        case Flag(field, value):
            return f"(flags & {FLAGS[field]}) {'<>' if value else '='} 0"
        case Tag(name, value):
            return f"tags <> replace(tags, {statement.add(pair_of(name, value))}, '')"
        case Chain(response_id):
            return _chain(statement, response_id, tenant)


def any_of(statement: Statement, condition: AnyOf) -> str:
    """Return the condition that a field equals one of some texts."""
    if condition.field == "tool":
        found = [
            f"tools <> replace(tools, {statement.add(f' {one} ')}, '')" for one in condition.values
        ]
    else:
        found = [_text(statement, TEXT_FIELDS[condition.field], one) for one in condition.values]
        if condition.field == "status" and "completed" not in condition.values:
            return f"status <> 'completed' AND ({' OR '.join(found)})"
        if condition.field == "key":
            return f"key_id <> '' AND ({' OR '.join(found)})"
    return f"({' OR '.join(found)})"


def _text(statement: Statement, column: str, value: str) -> str:
    if not value.endswith("*"):
        return f"{column} = {statement.add(value)}"
    begin = value.removesuffix("*")
    return f"substr({column}, 1, {len(begin)}) = {statement.add(begin)}"


def _chain(statement: Statement, response_id: str, tenant: str | None) -> str:
    own = "" if tenant is None else f" AND facts.tenant = {statement.add(tenant)}"
    return f"""id IN (
        WITH RECURSIVE up (id, parent, step) AS (
            SELECT id, previous_response_id, 1 FROM facts WHERE id = {statement.add(response_id)}{own}
            UNION ALL
            SELECT facts.id, facts.previous_response_id, up.step + 1 FROM up JOIN facts ON facts.id = up.parent
            WHERE up.step < {CHAIN}{own}
        )
        SELECT id FROM up
    )"""  # noqa: E501, S608 - fixed parts
