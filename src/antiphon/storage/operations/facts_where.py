"""Filters of lists and figures, as conditions of one statement that is assembled from fixed
parts.
"""

import re
from collections.abc import Sequence
from typing import Any

from antiphon.query.conditions import (
    AnyOf,
    Between,
    Chain,
    Condition,
    Either,
    Filters,
    Flag,
    HasItem,
    Not,
    Tag,
    Word,
)
from antiphon.storage.operations.step import Operation, Rows, query_composed
from antiphon.storage.records.facts import FLAGS, TEXT_FIELDS, pair_of, tool_of

NUMBERS = {
    "cost": "cost",
    "first": "first",
    "tokens": "input_tokens + output_tokens",
    "took": "ended - began",
}

WORDS = "lower(input || ' ' || output)"

CHEAP = 4
"""Number of texts that each row can be compared with before fewer rows are read."""


class Statement:
    """The conditions of a statement, and its parameters.

    Without a tenant, it reads the rows of all tenants.
    """

    def __init__(self, tenant: str | None) -> None:
        self.values: list[Any] = []
        self._conditions = [] if tenant is None else [f"tenant = {self.add(tenant)}"]

    @property
    def condition(self) -> str:
        """All conditions as one."""
        return " AND ".join(self._conditions or ["true"])

    def add(self, value: Any) -> str:
        """Add a parameter; return its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"

    def where(self, condition: str) -> None:
        """Add a condition."""
        self._conditions.append(condition)

    def query(
        self, columns: str, keys: Sequence[str], order: str, limit: int, *, skip: int = 0
    ) -> Operation[Rows]:
        """Read rows of `facts`, all keys in the same order."""
        where = self.condition
        behind = f" LIMIT {self.add(limit)}"
        if skip:
            behind += f" OFFSET {self.add(skip)}"
        sorted_by = ", ".join(f"{key} {order}" for key in keys)
        return (
            yield from query_composed(
                f"SELECT {columns} FROM facts WHERE {where} ORDER BY {sorted_by}{behind}",  # noqa: S608 - fixed texts; all values are parameters
                tuple(self.values),
            )
        )

    def query_sorted(
        self, columns: str, keys: Sequence[str], order: str, limit: int
    ) -> Operation[Rows]:
        """Read rows of `facts` as `query` does, for keys without an index: of the rows that are not
        returned, only the keys are read.
        """
        where = self.condition
        sorted_by = ", ".join(f"{key} {order}" for key in keys)
        first = f"SELECT seq FROM facts WHERE {where} ORDER BY {sorted_by} LIMIT {self.add(limit)}"  # noqa: S608 - fixed parts
        return (
            yield from query_composed(
                f"SELECT {columns} FROM facts WHERE seq IN ({first}) ORDER BY {sorted_by}",  # noqa: S608 - fixed texts; all values are parameters
                tuple(self.values),
            )
        )

    def query_grouped(
        self, table: str, groups: str, columns: str, behind: str = ""
    ) -> Operation[Rows]:
        """Read columns of all rows of each group. Each row begins with the columns of its group."""
        where = self.condition
        text = f"SELECT {groups}, {columns} FROM {table} WHERE {where} GROUP BY {groups} {behind}"  # noqa: S608 - fixed parts
        return (yield from query_composed(text, tuple(self.values)))


def statement_for(tenant: str | None, filters: Filters) -> Statement:
    """Return a statement for the rows of a tenant, or of all, that resolved filters match, without
    the conditions of the filters.

    If the filters name responses, the index of ids finds them.
    """
    if tenant is None or not names_responses(filters):
        return Statement(tenant)
    statement = Statement(None)
    # No index has this expression. SQLite would prefer an index of the tenant, in the order of the
    # list, and read all rows of the tenant.
    statement.where(f"tenant || '' = {statement.add(tenant)}")
    return statement


def add_filters(statement: Statement, filters: Filters) -> None:
    """Add all conditions of resolved filters (`facts_names`), except the times."""
    for condition in filters.conditions:
        statement.where(_condition(statement, condition))


def most_read(rows: int, filters: Filters) -> int:
    """Return how many rows to compare with filters: at most `rows`, and fewer if each is compared
    with many texts.
    """
    return max(1, rows * CHEAP // max(CHEAP, filters.comparisons))


def names_responses(filters: Filters) -> bool:
    """Whether an index finds all matching rows by their ids, which are few."""
    return any(
        isinstance(one, AnyOf)
        and one.field == "id"
        and not any(value.endswith("*") for value in one.values)
        for one in filters.conditions
    )


def tenant_of(tenant: str | None, filters: Filters) -> str | None:
    """Return the tenant of all matching rows, so that its indexes are used; None for several."""
    if tenant is not None:
        return tenant
    for condition in filters.conditions:
        match condition:
            case AnyOf("tenant", (value,)) if not value.endswith("*"):
                return value
    return None


def _condition(statement: Statement, condition: Condition) -> str:
    match condition:
        case AnyOf():
            return any_of(statement, condition)
        case Between(field, low, high):
            bounds = [(">=", low)] * (low is not None) + [("<=", high)] * (high is not None)
            number = NUMBERS[field]
            return " AND ".join(f"{number} {sign} {statement.add(end)}" for sign, end in bounds)
        case Flag(field, value):
            return f"(flags & {FLAGS[field]}) {'<>' if value else '='} 0"
        case Tag(name, value):
            return f"tags <> replace(tags, {statement.add(pair_of(name, value))}, '')"
        case Word(text):
            pattern = re.sub(r"([\\%_])", r"\\\1", text)
            return f"{WORDS} LIKE {statement.add(f'%{pattern}%')} ESCAPE '\\'"
        case Not(negated):
            return f"({_condition(statement, negated)}) IS NOT TRUE"
        case Either(conditions):
            return f"({' OR '.join(f'({_condition(statement, one)})' for one in conditions)})"
        case Chain() | HasItem():
            raise AssertionError("filters are resolved before they become a condition")


def any_of(statement: Statement, condition: AnyOf) -> str:
    """Return the condition that a field equals one of some texts."""
    if condition.field == "tool":
        return f"({' OR '.join([_has_tool(statement, one) for one in condition.values])})"
    column = TEXT_FIELDS[condition.field]
    whole = [one for one in condition.values if not one.endswith("*")]
    found = [begins(statement, column, one[:-1]) for one in condition.values if one.endswith("*")]
    if len(whole) == 1:
        found.append(f"{column} = {statement.add(whole[0])}")
    elif whole:
        found.append(f"{column} IN ({', '.join(map(statement.add, whole))})")
    text = f"({' OR '.join(found) or 'false'})"
    if condition.field == "status" and "completed" not in condition.values:
        return f"status <> 'completed' AND {text}"
    if condition.field == "key" and "" not in condition.values:
        return f"key_id <> '' AND {text}"  # its index has only the responses with a key
    return text


def _has_tool(statement: Statement, name: str) -> str:
    if not name:
        return "tools = ''"
    return f"tools <> replace(tools, {statement.add(tool_of(name))}, '')"


def begins(statement: Statement, column: str, beginning: str) -> str:
    """Return the condition that a text has a beginning."""
    return f"substr({column}, 1, {len(beginning)}) = {statement.add(beginning)}"
