"""Lists of facts with filters. Each list is one statement, assembled from fixed parts.

A list reads a limited number of rows. If the page is not full by then, the result states how far
the list was read, and the next page continues from there. So the cost of a filter without an index
is bounded.
"""

from collections.abc import Sequence

from antiphon.query.response_filters import AnyOf, Condition, Filters
from antiphon.storage.operations.facts import LISTED
from antiphon.storage.operations.facts_where import (
    Statement,
    add_filters,
    any_of,
    most_read,
    with_key_ids,
)
from antiphon.storage.operations.step import (
    UNKNOWN_ITEMS,
    Operation,
    Row,
    Rows,
    announce_read,
    first,
    reads,
)
from antiphon.storage.records.facts import Facts, FactsPage, FactsQuery

INDEXED = {"model", "key", "status"}
"""Filters that can use an index if they have one value."""

FEW = 25
"""A list first reads 1/FEW of its maximum number of rows, which usually fill the page."""

Place = tuple[int, int]
"""The time when a response began, and the number of its row."""


@reads("list_facts")
def page(tenant: str | None, query: FactsQuery) -> Operation[FactsPage]:
    """Return one page of facts, ordered by the start of the responses.

    If `tenant` is None, include all tenants.
    """
    filters = yield from with_key_ids(query.filters, tenant)
    if not (filters.is_empty and query.descending):
        yield from announce_read(UNKNOWN_ITEMS)  # it may compare many rows
    bounds: list[tuple[Place, str]] = []
    for name, response_id in (("after", query.after), ("before", query.before)):
        if response_id is not None:
            row = (
                yield from first("facts_place", response_id)
                if tenant is None
                else first("place_of_own_facts", response_id, tenant)
            )
            if row is None:
                return FactsPage(unknown=name)
            bounds.append(((row[0], row[1]), "<" if (name == "after") is query.descending else ">"))
    reading = _Reading(tenant, filters, bounds, query.descending)
    if _uses_an_index(filters, of_all=tenant is None):
        rows = yield from reading.rows(None, query.limit + 1)
        return FactsPage(_facts(rows[: query.limit]), len(rows) > query.limit)
    found: list[Row] = []
    last: Place | None = None
    most = most_read(query.most_read, filters)
    at_first = max(1, most // FEW)
    for count in (at_first, max(1, most - at_first)):
        last = yield from reading.place_of(count)
        found += yield from reading.rows(last, query.limit + 1 - len(found))
        if last is None or len(found) > query.limit:
            return FactsPage(_facts(found[: query.limit]), len(found) > query.limit)
        reading.go_on_behind(last)
    row = yield from first("id_of_facts", last[1] if last else 0)
    return FactsPage(_facts(found), read_to=row[0] if row else "")


def _uses_an_index(filters: Filters, *, of_all: bool) -> bool:
    """Return whether an index finds exactly the matching rows.

    Across all tenants, there is only an index of times.
    """
    conditions = filters.conditions
    if of_all and conditions:
        return False
    return not filters.words and len(conditions) <= 1 and all(map(_has_index, conditions))


def _has_index(condition: Condition) -> bool:
    if not isinstance(condition, AnyOf) or condition.field not in INDEXED:
        return False
    return len(condition.values) == 1 and not condition.values[0].endswith("*")


class _Reading:
    """Reads a list in steps of several rows."""

    def __init__(
        self,
        tenant: str | None,
        filters: Filters,
        bounds: list[tuple[Place, str]],
        descending: bool,
    ) -> None:
        self._tenant = tenant
        self._filters = filters
        self._bounds = bounds
        self._order, self._behind, self._to = (
            ("DESC", "<", ">=") if descending else ("ASC", ">", "<=")
        )

    def place_of(self, count: int) -> Operation[Place | None]:
        """Return the place of the row with this number, counted from here, or None if there are
        fewer rows.
        """
        rows = yield from self._begin().query("began, seq", self._order, 1, skip=count - 1)
        return (rows[0][0], rows[0][1]) if rows else None

    def rows(self, last: Place | None, limit: int) -> Operation[Rows]:
        """Return the matching rows up to the given place."""
        statement = self._begin()
        if last is not None:
            _place(statement, last, self._to)
        add_filters(statement, self._filters, self._tenant)
        return (yield from statement.query(", ".join(LISTED), self._order, limit))

    def go_on_behind(self, place: Place) -> None:
        """Continue after this place."""
        self._bounds = [*self._bounds, (place, self._behind)]

    def _begin(self) -> Statement:
        """Return a statement with the conditions that an index can use."""
        statement = Statement(self._tenant)
        filters = self._filters
        statement.where("(flags & 32) = 0")
        for place, operator in self._bounds:
            _place(statement, place, operator)
        if filters.since is not None:
            statement.where(f"began >= {statement.add(filters.since)}")
        if filters.until is not None:
            statement.where(f"began < {statement.add(filters.until)}")
        for condition in filters.conditions:
            if isinstance(condition, AnyOf) and _has_index(condition):
                statement.where(any_of(statement, condition))
        return statement


def _place(statement: Statement, place: Place, operator: str) -> None:
    """Add the start or the end of the rows."""
    statement.where(
        f"(began, seq) {operator} ({statement.add(place[0])}, {statement.add(place[1])})"
    )


def _facts(rows: Sequence[Row]) -> list[Facts]:
    return [Facts(*row) for row in rows]
