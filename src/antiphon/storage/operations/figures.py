"""Figures of responses, from sums by minute, hour and four hours if the sums can answer the query,
else from facts.

Once a response has ended, it is added to the sums of the minute, the hour and the four hours in
which it began. `sum_up` adds the facts of past minutes, some at a time. It runs with a delay of
`BEHIND`, so that most responses have ended by then. The flag `SUMMED` marks a response that ended
later: the write of its facts adds it to the sums in the same transaction.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from antiphon.query.conditions import AnyOf, Filters, leaves
from antiphon.storage.operations.facts_names import resolve
from antiphon.storage.operations.facts_where import (
    Statement,
    add_filters,
    most_read,
    names_responses,
    tenant_of,
)
from antiphon.storage.operations.figures_of_facts import (
    ADDED,
    FROM_FACTS,
    HISTOGRAMS,
    FactsRow,
    facts_rows,
)
from antiphon.storage.operations.step import (
    NOW,
    UNKNOWN_ITEMS,
    Composed,
    Operation,
    Row,
    Rows,
    announce_read,
    first,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.operations.wrong_clock import move_back
from antiphon.storage.records.facts import SUMMED, Facts
from antiphon.storage.records.figures import (
    BUCKETS,
    FOUR_HOURS,
    GROUPS,
    HOUR,
    MINUTE,
    Figures,
    FiguresFound,
    FiguresQuery,
    add,
    bounded,
    most_expensive,
)

BEHIND = 120
"""Seconds after which responses are summed. A response that took half as long is late
(`records.facts.LATE`).
"""

AT_ONCE = 2_000
"""Maximum number of responses that one step sums, so that a write takes only about ten
milliseconds.
"""

BY_HOUR = 86_400
"""Seconds. Figures of longer periods are read from the sums of hours, or of four hours if these fit
the spans.
"""

ROWS_PER_GROUP = 5
"""Maximum number of rows to read for each group of a reply: a group has one row for each status."""

CELLS = [f"{name}{place}" for name in HISTOGRAMS for place in range(BUCKETS)]

KEY = ("part", "step", "tenant", "time", "model", "backend", "key_id", "status")

BY_MODEL, BY_KEY = PARTS = (0, 1)
"""The parts of the sums: by model and backend, and by key. Each response is in one row of each
part.
"""

NAMED = {BY_MODEL: "model, backend, ''", BY_KEY: "'', '', key_id"}
"""The model, backend and key columns of each part's rows."""

FIELDS = {BY_MODEL: {"status", "model", "backend", "tenant"}, BY_KEY: {"status", "key", "tenant"}}
"""The fields by which the rows of each part can be filtered and grouped."""


FROM_SUMS = ", ".join(f"sum({name})" for name in ("responses", *ADDED, *CELLS))

SERIES_FROM_SUMS = ", ".join(f"sum({name})" for name in ("responses", *ADDED))
"""The sums of the spans of a series: counts only."""


def _adding(part: int, step: int, where: str) -> str:
    cells = ("responses", *ADDED, *CELLS)
    sums = [f"{name} = sums.{name} + excluded.{name}" for name in cells if name != "cost"]
    sums.append("cost = coalesce(sums.cost + excluded.cost, sums.cost, excluded.cost)")
    return f"""INSERT INTO sums ({", ".join((*KEY, *cells))})
        SELECT {part}, {step}, tenant, began / {step * 1000} * {step}, {NAMED[part]}, status, {FROM_FACTS}
        FROM facts WHERE {where}
        GROUP BY tenant, began / {step * 1000} * {step}, {NAMED[part].replace("'', ", "").replace(", ''", "")}, status
        ON CONFLICT ({", ".join(KEY)}) DO UPDATE SET {", ".join(sums)}"""  # noqa: E501, S608 - fixed parts


_UNSUMMED = f"(flags & {SUMMED}) = 0 AND ended IS NOT NULL"

_ROWS = [(part, step) for part in PARTS for step in (MINUTE, HOUR, FOUR_HOURS)]

ADD_SPAN = [_adding(*row, f"began >= $1 AND began < $2 AND {_UNSUMMED}") for row in _ROWS]
"""Statements that add the responses which began in a time span, in milliseconds."""

ADD_ONE = [_adding(*row, "id = $1") for row in _ROWS]
"""Statements that add one response."""


def add_late(facts: Sequence[Facts]) -> Operation[None]:
    """Add those of these facts to the sums that `sum_up` will not find."""
    for text, response_id in late_sums(facts):
        yield Composed(text, (response_id,))


def late_sums(facts: Sequence[Facts]) -> Iterator[tuple[str, str]]:
    """Yield the statements for facts that `sum_up` will not find, each with the id of the response.

    All processes update the rows of the sums in the same order, so no two processes deadlock.
    """
    late = [one for one in facts if one.flags & SUMMED]
    for (part, step), text in zip(_ROWS, ADD_ONE, strict=True) if late else ():
        for one in sorted(late, key=partial(_row_of, part, step)):
            yield text, one.id


def _row_of(part: int, step: int, one: Facts) -> tuple[str, int, str, str, str]:
    """Return the key of the row of the sums that includes this response."""
    named = (one.model, one.backend) if part == BY_MODEL else (one.key_id, "")
    return one.tenant, one.began // 1000 // step, *named, one.status


@writes("sum_up", is_of_all=True)
def sum_up() -> Operation[bool]:
    """Add some responses to the sums that `figures` reads; return whether more responses remain.

    Any server can call this at any time; each response is added once.
    """
    now: int = yield NOW
    row = yield from first("lock_summed")
    if row is None:
        return False  # another process adds them
    if row[0] > now:
        return (yield from move_back(row[0], now))
    horizon = (now - BEHIND) // MINUTE * MINUTE
    begin = yield from first("first_unsummed", row[0] * 1000)
    if begin is None or begin[0] is None or begin[0] >= horizon * 1000:
        if horizon > row[0]:
            yield from query_rows("set_summed", horizon)
        return False
    start = begin[0]
    behind = yield from first("place_of_unsummed", start, AT_ONCE)
    end = horizon if behind is None else min(horizon, behind[0] // 1000 + 1)
    for text in ADD_SPAN:
        yield Composed(text, (start, end * 1000))
    yield from query_rows("set_summed", end)
    return end < horizon


@reads("figures")
def figures(tenant: str | None, query: FiguresQuery) -> Operation[FiguresFound]:
    """Return figures of ended responses of one tenant, or of all tenants.

    Deleted responses are included.
    """
    yield from announce_read(UNKNOWN_ITEMS)
    filters = yield from resolve(tenant, query.filters)
    found = FiguresFound()
    reading = _Reading(tenant_of(tenant, filters), query, filters)
    part = _part_for(query.by, filters)
    if part is not None:
        row = yield from first("summed")
        summed = max(query.since, row[0] if row else 0)
        stretches = reading.stretches(part)
        added = yield from reading.facts(summed, _UNSUMMED)
    else:
        if not names_responses(filters):
            found.partial_since = yield from reading.earliest()
        since = query.since if found.partial_since is None else found.partial_since
        stretches = []
        added = yield from reading.facts(since, "ended IS NOT NULL")
    for stretch in stretches:
        yield from reading.add(found, stretch)
    for one in added:
        one.add_to(found.spans.setdefault(one.span, Figures()))
        if query.by:
            one.add_to(found.groups.setdefault(one.group, Figures()))
    bounded(found, query.most_groups)
    if query.series:
        found.series = {value: {} for value in most_expensive(found.groups, query.series)}
        for stretch in stretches:
            yield from reading.add_series(found, stretch)
        for one in added:
            if one.group in found.series:
                one.add_counts(found.series[one.group].setdefault(one.span, Figures()))
    return found


def _part_for(by: str, filters: Filters) -> int | None:
    """Return the part of the sums that supports these filters and groups, or None if only facts
    support them.
    """
    compared = list(leaves(filters.conditions))
    fields = {one.field for one in compared if isinstance(one, AnyOf)} | ({by} if by else set())
    if not all(isinstance(one, AnyOf) for one in compared):
        return None
    return next((part for part in PARTS if fields <= FIELDS[part]), None)


class _Reading:
    """Reads the figures of one query."""

    def __init__(self, tenant: str | None, query: FiguresQuery, filters: Filters) -> None:
        since = max(query.since, (filters.since or 0) // 1000)
        until = query.until if filters.until is None else min(query.until, filters.until // 1000)
        self._tenant = tenant
        self._query = query
        self._filters = filters
        self._since = since
        self._until = until

    def stretches(self, part: int) -> list["_Stretch"]:
        """Return the rows of a part of the sums."""
        return [
            _Stretch(since, until, f"part = {part} AND step = {step}")
            for step, since, until in _stretches(self._since, self._until, self._query.step)
        ]

    def facts(self, since: int, condition: str) -> Operation[list[FactsRow]]:
        """Return the facts since `since` that fulfil a condition, added up by one statement."""
        began, until = max(since, self._since) * 1000, self._until * 1000
        statement = self._begin(condition, "began", began, until)
        return (yield from facts_rows(statement, GROUPS.get(self._query.by, ""), self._query.step))

    def earliest(self) -> Operation[int | None]:
        """Return the time from which facts are read if there are more than one query may read, or
        None.
        """
        statement = Statement(self._tenant)
        statement.where(f"began >= {statement.add(self._since * 1000)}")
        statement.where(f"began < {statement.add(self._until * 1000)}")
        most = most_read(self._query.most_read, self._filters)
        rows = yield from statement.query("began", ("began", "seq"), "DESC", 1, skip=most)
        return rows[0][0] // 1000 + 1 if rows else None

    def add(self, found: FiguresFound, stretch: "_Stretch") -> Operation[None]:
        """Add the rows of sums, once by span and once by group.

        Grouping by both together would return many rows.
        """
        statement = self._sums(stretch)
        rows = yield from statement.query_grouped("sums", f"{self._span}, status", FROM_SUMS)
        _take(found.spans, rows)
        if self._query.by:
            statement = self._sums(stretch)
            most = ROWS_PER_GROUP * (self._query.most_groups + 1)
            behind = f"ORDER BY 3 DESC LIMIT {statement.add(most)}"
            groups = f"{GROUPS[self._query.by]}, status"
            _take(
                found.groups,
                (yield from statement.query_grouped("sums", groups, FROM_SUMS, behind)),
            )

    def add_series(self, found: FiguresFound, stretch: "_Stretch") -> Operation[None]:
        """Add the rows of the sums of some groups by span, without times."""
        if not found.series:
            return
        statement = self._sums(stretch)
        column = GROUPS[self._query.by]
        values = ", ".join([statement.add(value) for value in found.series])
        statement.where(f"{column} IN ({values})")
        groups = f"{column}, {self._span}, status"
        rows = yield from statement.query_grouped("sums", groups, SERIES_FROM_SUMS)
        for value, *row in rows:
            _take(found.series[value], [row])

    def _sums(self, stretch: "_Stretch") -> Statement:
        return self._begin(stretch.condition, "time", stretch.since, stretch.until)

    def _begin(self, condition: str, time: str, since: int, until: int) -> Statement:
        """Return a statement for the rows of a time that match a condition and the filters."""
        statement = Statement(self._tenant)
        statement.where(condition)
        statement.where(f"{time} >= {statement.add(since)}")
        statement.where(f"{time} < {statement.add(until)}")
        add_filters(statement, self._filters)
        return statement

    @property
    def _span(self) -> str:
        return f"time / {self._query.step} * {self._query.step}"


class _Stretch(Struct, frozen=True):
    """Rows of sums from `since` up to but excluding `until` (seconds)."""

    since: int
    until: int
    condition: str


def _take(totals: dict[Any, Figures], rows: Rows) -> None:
    for name, status, *sums in rows:
        add(totals.setdefault(name, Figures()), _figures(status, sums))


def _stretches(since: int, until: int, span: int) -> list[tuple[int, int, int]]:
    """Return the sums that cover a period with spans of this length: the step, start and end of
    each.
    """
    if until - since <= BY_HOUR:
        return [(MINUTE, since // MINUTE * MINUTE, until)]
    begin = since // HOUR * HOUR
    low = -(-since // FOUR_HOURS) * FOUR_HOURS
    high = until // FOUR_HOURS * FOUR_HOURS
    if span % FOUR_HOURS:
        return [(HOUR, begin, until)]
    return [(HOUR, begin, low), (FOUR_HOURS, low, high), (HOUR, high, until)]


def _figures(status: str, sums: Row) -> Figures:
    count, received, cached, sent, reasoning, cost, streamed, streamed_ms, *counts = sums
    cells = list(map(int, counts))  # PostgreSQL returns sums as decimals
    tokens = (int(received), int(cached), int(sent), int(reasoning))
    return Figures(
        {status: int(count)},
        *tokens,
        None if cost is None else int(cost),
        int(streamed),
        int(streamed_ms),
        cells[:BUCKETS],
        cells[BUCKETS:],
    )
