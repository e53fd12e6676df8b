"""Lists of facts with filters. Each list is one statement, assembled from fixed parts.

A list reads a limited number of rows. If the page is not full by then, the result states how far
the list was read, and the next page continues from there. So the cost of a filter without an index
is bounded.
"""

from collections.abc import Sequence

from antiphon.query.conditions import AnyOf, Condition, Filters
from antiphon.storage.operations.facts import LISTED
from antiphon.storage.operations.facts_names import resolve
from antiphon.storage.operations.facts_where import (
    Statement,
    add_filters,
    any_of,
    most_read,
    names_responses,
    statement_for,
    tenant_of,
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

START = ("began", "seq")
"""What orders a list by the start of its responses: the time, and the number of the row."""

KEYS = {
    "newest": START,
    "slowest": ("coalesce(ended - began, -1)", *START),
    "dearest": ("coalesce(cost, -1)", *START),
    "tokens": ("input_tokens + output_tokens", *START),
}
"""What orders a list, by its `sort`. Only the first has an index."""

LATER_PAGES = 2
"""How many times as many rows a later page may sort: more responses began since the first page."""

Place = Sequence[int]
"""The values of a row by which the list is ordered."""


@reads("list_facts")
def page(tenant: str | None, query: FactsQuery) -> Operation[FactsPage]:
    """Return one page of facts in the order of the filters.

    If `tenant` is None, include all tenants.
    """
    if not (query.filters.is_empty and query.descending and query.filters.sort == "newest"):
        yield from announce_read(UNKNOWN_ITEMS)  # it may compare many rows
    filters = yield from resolve(tenant, query.filters)
    reading = _Reading(tenant_of(tenant, filters), filters, query.descending)
    for name, response_id in (("after", query.after), ("before", query.before)):
        if response_id is not None:
            place = yield from reading.place(tenant, response_id)
            if place is None:
                return FactsPage(unknown=name)
            reading.bound(place, is_before=name == "before")
    if filters.sort != "newest":
        return (yield from _sorted(reading, query, filters))
    if reading.is_exact:
        return (yield from _whole(reading, query))
    return (yield from _in_steps(reading, query, most_read(query.most_read, filters)))


def _whole(reading: "_Reading", query: FactsQuery) -> Operation[FactsPage]:
    """Return a page with one statement."""
    rows = yield from reading.rows(None, query.limit + 1)
    return FactsPage(_facts(rows[: query.limit]), len(rows) > query.limit)


def _in_steps(reading: "_Reading", query: FactsQuery, most: int) -> Operation[FactsPage]:
    """Return a page after comparing at most so many rows."""
    found: list[Row] = []
    last: Place | None = None
    at_first = max(1, most // FEW)
    for count in (at_first, max(1, most - at_first)):
        last = yield from reading.place_of(count)
        found += yield from reading.rows(last, query.limit + 1 - len(found))
        if last is None or len(found) > query.limit:
            return FactsPage(_facts(found[: query.limit]), len(found) > query.limit)
        reading.go_on_behind(last)
    row = yield from first("id_of_facts", last[1] if last else 0)
    return FactsPage(_facts(found), read_to=row[0] if row else "")


def _sorted(reading: "_Reading", query: FactsQuery, filters: Filters) -> Operation[FactsPage]:
    """Return a page of an order without an index, unless that must sort too many rows."""
    if not reading.names_responses:
        most = most_read(query.most_read, filters)
        has_bounds = query.after is not None or query.before is not None
        last = yield from reading.newest(most * (LATER_PAGES if has_bounds else 1) + 1)
        if last is not None:
            last = (yield from reading.newest(most)) or last
            return FactsPage(sortable_since=last[0])
    return (yield from _whole(reading, query))


def _has_index(condition: Condition) -> bool:
    if not isinstance(condition, AnyOf) or condition.field not in INDEXED:
        return False
    return len(condition.values) == 1 and not condition.values[0].endswith("*")


class _Reading:
    """Reads a list in steps of several rows."""

    def __init__(self, tenant: str | None, filters: Filters, descending: bool) -> None:
        self._tenant = tenant
        self._filters = filters
        self._keys = KEYS[filters.sort]
        self._bounds: list[tuple[Place, str]] = []
        self._order, self._behind, self._ahead, self._to = (
            ("DESC", "<", ">", ">=") if descending else ("ASC", ">", "<", "<=")
        )
        self.names_responses = names_responses(filters)

    @property
    def is_exact(self) -> bool:
        """Whether an index finds exactly the matching rows, or few others.

        Across all tenants, there is only an index of times.
        """
        conditions = [one for one in self._filters.conditions if not self._is_of_tenant(one)]
        if self.names_responses or not conditions:
            return True
        return self._tenant is not None and len(conditions) == 1 and _has_index(conditions[0])

    def _is_of_tenant(self, condition: Condition) -> bool:
        """Whether all rows that are read fulfil the condition, since it names their tenant."""
        match condition:
            case AnyOf("tenant", (value,)):
                return value == self._tenant
        return False

    def place(self, tenant: str | None, response_id: str) -> Operation[Place | None]:
        """Return the place of a response of this tenant, or None if it is unknown."""
        statement = Statement(tenant)
        statement.where(f"id = {statement.add(response_id)}")
        rows = yield from statement.query(", ".join(self._keys), self._keys, self._order, 1)
        return rows[0] if rows else None

    def bound(self, place: Place, *, is_before: bool) -> None:
        """Read only rows before a place, or after it."""
        self._bounds.append((place, self._ahead if is_before else self._behind))

    def place_of(self, count: int) -> Operation[Place | None]:
        """Return the place of the row with this number, counted from here, or None if there are
        fewer rows.
        """
        return (yield from self._counted(self._bounds, count, self._order))

    def newest(self, count: int) -> Operation[Place | None]:
        """Return the place of the row with this number, counted from the newest, or None if there
        are fewer rows.
        """
        return (yield from self._counted((), count, "DESC"))

    def rows(self, last: Place | None, limit: int) -> Operation[Rows]:
        """Return the matching rows up to the given place."""
        statement = self._begin(self._bounds)
        if last is not None:
            self._place(statement, last, self._to)
        add_filters(statement, self._filters)
        read = statement.query if self._keys is START else statement.query_sorted
        return (yield from read(", ".join(LISTED), self._keys, self._order, limit))

    def go_on_behind(self, place: Place) -> None:
        """Continue after this place."""
        self._bounds = [*self._bounds, (place, self._behind)]

    def _counted(
        self, bounds: Sequence[tuple[Place, str]], count: int, order: str
    ) -> Operation[Place | None]:
        """Return the place of the row with this number among those that an index finds."""
        statement = self._begin(bounds)
        for condition in self._filters.conditions if self._tenant is not None else ():
            if isinstance(condition, AnyOf) and _has_index(condition):
                statement.where(any_of(statement, condition))
        rows = yield from statement.query(", ".join(START), START, order, 1, skip=count - 1)
        return rows[0] if rows else None

    def _begin(self, bounds: Sequence[tuple[Place, str]]) -> Statement:
        """Return a statement for the rows of the tenant and of the time."""
        statement = statement_for(self._tenant, self._filters)
        filters = self._filters
        statement.where("(flags & 32) = 0")
        for place, operator in bounds:
            self._place(statement, place, operator)
        if filters.since is not None:
            statement.where(f"began >= {statement.add(filters.since)}")
        if filters.until is not None:
            statement.where(f"began < {statement.add(filters.until)}")
        return statement

    def _place(self, statement: Statement, place: Place, operator: str) -> None:
        """Add the start or the end of the rows."""
        values = ", ".join(map(statement.add, place))
        statement.where(f"({', '.join(self._keys)}) {operator} ({values})")


def _facts(rows: Sequence[Row]) -> list[Facts]:
    return [Facts(*row) for row in rows]
