"""Lists of facts by filters: each becomes one statement, put together from fixed parts.

A list reads at most so many rows. Where the page is not full by then, it says how far it read, and the next one goes on
from there. So a filter that no index has costs no more than its share of the database.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.protocol.response_filters import AnyOf, Chain, Compare, Condition, Filters, Flag, Tag
from antiphon.storage.operations.facts import LISTED
from antiphon.storage.operations.step import FEW_ITEMS, Composed, Operation, Row, Rows, announce_read, ask, first
from antiphon.storage.records import Facts, FactsPage, FactsQuery
from antiphon.storage.records.facts import BACKGROUND, CACHED, STORED, STREAM, WEBSOCKET, pair_of

TEXT_COLUMNS = {
    "backend": "backend",
    "conversation": "conversation_id",
    "error": "error",
    "key": "key_id",
    "model": "model",
    "served": "served_model",
    "status": "status",
}
"""The columns that are compared with texts."""

NUMBERS = {"first": "first", "tokens": "input_tokens + output_tokens", "took": "ended - began"}

FLAGS = {"background": BACKGROUND, "cached": CACHED, "stored": STORED, "stream": STREAM, "websocket": WEBSOCKET}

WORDS = "lower(input || ' ' || output)"

INDEXED = {"model", "key", "status"}
"""Filters with an index, where they have one value."""

CHAIN = 200
"""Responses of a chain that are found, upwards from the one that is named."""

FEW = 25
"""A list reads one of so many parts of its rows first: mostly the page is full then."""

Place = tuple[int, int]
"""When a response began, and the number of its row."""


class Statement:
    """The conditions of a statement, and its parameters."""

    def __init__(self, tenant: str) -> None:
        self.values: list[Any] = []
        self.conditions = [f"tenant = {self.add(tenant)}", "(flags & 32) = 0"]

    def add(self, value: Any) -> str:
        """Add a parameter; return how the statement writes it."""
        self.values.append(value)
        return f"${len(self.values)}"

    def where(self, condition: str) -> None:
        """Add a condition."""
        self.conditions.append(condition)

    def from_place(self, place: Place, operator: str) -> None:
        """Add where the rows begin or end."""
        self.where(f"(began, seq) {operator} ({self.add(place[0])}, {self.add(place[1])})")

    def ask(self, columns: str, order: str, limit: int, *, skip: int = 0) -> Operation[Rows]:
        """Ask for the rows in the order in which their responses began."""
        where, behind = " AND ".join(self.conditions), f" LIMIT {self.add(limit)}"
        if skip:
            behind += f" OFFSET {self.add(skip)}"
        order = f"ORDER BY began {order}, seq {order}{behind}"
        return (yield Composed(f"SELECT {columns} FROM facts WHERE {where} {order}", tuple(self.values)))  # noqa: S608 - fixed parts


def page(tenant: str, query: FactsQuery, now: int) -> Operation[FactsPage]:
    """Read a part of a tenant's facts."""
    filters = yield from _with_key_ids(query.filters, tenant)
    if not (filters.is_empty and query.descending):
        yield from announce_read(FEW_ITEMS + 1)  # it may compare many rows
    bounds: list[tuple[Place, str]] = []
    for name, response_id in (("after", query.after), ("before", query.before)):
        if response_id is not None:
            row = yield from first("facts_place", response_id, tenant, now)
            if row is None:
                return FactsPage(unknown=name)
            bounds.append(((row[0], row[1]), "<" if (name == "after") is query.descending else ">"))
    reading = _Reading(tenant, now, filters, bounds, query.descending)
    if _is_served_by_an_index(filters):
        rows = yield from reading.rows(None, query.limit + 1)
        return FactsPage(_facts(rows[: query.limit]), len(rows) > query.limit)
    found: list[Row] = []
    last: Place | None = None
    at_first = max(1, query.most_read // FEW)
    for count in (at_first, query.most_read - at_first):
        last = yield from reading.place_of(count)
        found += yield from reading.rows(last, query.limit + 1 - len(found))
        if last is None or len(found) > query.limit:
            return FactsPage(_facts(found[: query.limit]), len(found) > query.limit)
        reading.go_on_behind(last)
    row = yield from first("id_of_facts", last[1] if last else 0)
    return FactsPage(_facts(found), read_to=row[0] if row else "")


def _is_served_by_an_index(filters: Filters) -> bool:
    """Whether an index finds just the rows that match."""
    conditions = filters.conditions
    return not filters.words and len(conditions) <= 1 and all(map(_has_index, conditions))


def _has_index(condition: Condition) -> bool:
    if not isinstance(condition, AnyOf) or condition.field not in INDEXED:
        return False
    return len(condition.values) == 1 and not condition.values[0].endswith("*")


class _Reading:
    """Reads a list, a number of rows at a time."""

    def __init__(
        self, tenant: str, now: int, filters: Filters, bounds: list[tuple[Place, str]], descending: bool
    ) -> None:
        self._tenant, self._now, self._filters, self._bounds = tenant, now, filters, bounds
        self._order, self._behind, self._to = ("DESC", "<", ">=") if descending else ("ASC", ">", "<=")

    def place_of(self, count: int) -> Operation[Place | None]:
        """Return the place of the row of this number, counted from where it reads; None where there are fewer."""
        rows = yield from self._begin().ask("began, seq", self._order, 1, skip=count - 1)
        return (rows[0][0], rows[0][1]) if rows else None

    def rows(self, last: Place | None, limit: int) -> Operation[Rows]:
        """Return the rows that match, up to the last place."""
        statement = self._begin()
        if last is not None:
            statement.from_place(last, self._to)
        for condition in self._filters.conditions:
            statement.where(_condition(statement, condition, self._tenant))
        for word in self._filters.words:
            statement.where(f"{WORDS} <> replace({WORDS}, {statement.add(word)}, '')")
        statement.where(f"expires_at > {statement.add(self._now)}")
        return (yield from statement.ask(", ".join(LISTED), self._order, limit))

    def go_on_behind(self, place: Place) -> None:
        """Read from behind this place."""
        self._bounds = [*self._bounds, (place, self._behind)]

    def _begin(self) -> Statement:
        """Return a statement with what an index finds."""
        statement, filters = Statement(self._tenant), self._filters
        for place, operator in self._bounds:
            statement.from_place(place, operator)
        if filters.since is not None:
            statement.where(f"began >= {statement.add(filters.since)}")
        if filters.until is not None:
            statement.where(f"began < {statement.add(filters.until)}")
        for condition in filters.conditions:
            if isinstance(condition, AnyOf) and _has_index(condition):
                statement.where(_any_of(statement, condition))
        return statement


def _with_key_ids(filters: Filters, tenant: str) -> Operation[Filters]:
    """Return the filters with the ids of API keys that are named by their names."""
    conditions: list[Condition] = []
    for condition in filters.conditions:
        if isinstance(condition, AnyOf) and condition.field == "key":
            ids: list[str] = []
            for value in condition.values:
                rows = yield from ask("ids_of_api_keys", tenant, value)
                ids += [row[0] for row in rows] or [value]
            conditions.append(AnyOf("key", ids))
        else:
            conditions.append(condition)
    return replace(filters, conditions=conditions)


def _condition(statement: Statement, condition: Condition, tenant: str) -> str:
    match condition:
        case AnyOf():
            return _any_of(statement, condition)
        case Compare(field, operator, value):
            return f"{NUMBERS[field]} {operator} {statement.add(value)}"
        case Flag(field, value):
            return f"(flags & {FLAGS[field]}) {'<>' if value else '='} 0"
        case Tag(name, value):
            return f"tags <> replace(tags, {statement.add(pair_of(name, value))}, '')"
        case Chain(response_id):
            return _chain(statement, response_id, tenant)


def _any_of(statement: Statement, condition: AnyOf) -> str:
    if condition.field == "tool":
        found = [f"tools <> replace(tools, {statement.add(f' {one} ')}, '')" for one in condition.values]
    else:
        found = [_text(statement, TEXT_COLUMNS[condition.field], one) for one in condition.values]
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


def _chain(statement: Statement, response_id: str, tenant: str) -> str:
    return f"""id IN (
        WITH RECURSIVE up (id, parent, step) AS (
            SELECT id, previous_response_id, 1 FROM facts
            WHERE id = {statement.add(response_id)} AND tenant = {statement.add(tenant)}
            UNION ALL
            SELECT facts.id, facts.previous_response_id, up.step + 1 FROM up JOIN facts ON facts.id = up.parent
            WHERE facts.tenant = {statement.add(tenant)} AND up.step < {CHAIN}
        )
        SELECT id FROM up
    )"""  # noqa: S608 - fixed parts


def _facts(rows: Sequence[Row]) -> list[Facts]:
    return [Facts(*row) for row in rows]
