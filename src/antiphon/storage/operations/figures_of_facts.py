"""Adds facts up, for the sums and for figures that no sums have."""

from msgspec import Struct

from antiphon.storage.operations.facts_where import Statement
from antiphon.storage.operations.step import Operation
from antiphon.storage.records.figures import BOUNDS, BUCKETS, Figures

PLAIN_STREAM = "first IS NOT NULL AND calls < 2"
"""The responses with a speed of output: streamed, and without tools between two calls of models.
A response that was not streamed has no time to its first token.
"""

ADDED = {
    **{name: f"sum({name})" for name in ("input_tokens", "cached_tokens", "output_tokens")},
    **{name: f"sum({name})" for name in ("reasoning_tokens", "cost")},
    "streamed_tokens": f"coalesce(sum(output_tokens) FILTER (WHERE {PLAIN_STREAM}), 0)",
    "streamed_ms": f"coalesce(sum(ended - began - first) FILTER (WHERE {PLAIN_STREAM}), 0)",
}
"""The columns of the sums besides the number of responses and the histograms, and how they are
added up from facts.
"""
HISTOGRAMS = {"f": "first", "t": "ended - began"}


def _in_bucket(value: str, place: int) -> str:
    low = f"{value} >= {BOUNDS[place - 1]}" if place else f"{value} < {BOUNDS[0]}"
    high = f" AND {value} < {BOUNDS[place]}" if 0 < place < len(BOUNDS) else ""
    return f"count(*) FILTER (WHERE {low}{high})"


FROM_FACTS = ", ".join(
    ["count(*)", *ADDED.values()]
    + [_in_bucket(value, place) for value in HISTOGRAMS.values() for place in range(BUCKETS)]
)
"""The sums of facts, in the order of `FROM_SUMS`."""


def _bucket_of(value: str, low: int = 0, high: int = len(BOUNDS)) -> str:
    """Return the index of the bucket of a value, found by few comparisons."""
    if low == high:
        return str(low)
    middle = (low + high) // 2
    below, above = _bucket_of(value, low, middle), _bucket_of(value, middle + 1, high)
    return f"CASE WHEN {value} < {BOUNDS[middle]} THEN {below} ELSE {above} END"


BY_BUCKET = ", ".join(
    f"CASE WHEN {value} IS NOT NULL THEN {_bucket_of(value)} END" for value in HISTOGRAMS.values()
)
"""The buckets by which facts are grouped: to count all buckets of each row takes twice the time."""

COUNTED = ", ".join(["count(*)", *ADDED.values()])
"""The sums of facts within a bucket."""


class FactsRow(Struct, frozen=True):
    """The facts of one group and span with one status, and times in the same buckets, added up.
    PostgreSQL returns sums as decimals.
    """

    group: str
    span: int
    status: str
    first: int | None
    took: int
    count: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: int | None
    streamed_tokens: int
    streamed_ms: int

    def add_to(self, total: Figures) -> None:
        """Add the facts to figures."""
        self.add_counts(total)
        if self.first is not None:
            total.first[self.first] += self.count
        total.took[self.took] += self.count

    def add_counts(self, total: Figures) -> None:
        """Add the facts to figures without times."""
        total.by_status[self.status] = total.by_status.get(self.status, 0) + self.count
        total.input_tokens += int(self.input_tokens)
        total.cached_tokens += int(self.cached_tokens)
        total.output_tokens += int(self.output_tokens)
        total.reasoning_tokens += int(self.reasoning_tokens)
        if self.cost is not None:
            total.cost = (total.cost or 0) + int(self.cost)
        total.streamed_tokens += int(self.streamed_tokens)
        total.streamed_ms += int(self.streamed_ms)


def facts_rows(statement: Statement, group: str, step: int) -> Operation[list[FactsRow]]:
    """Return the facts of a statement, added up by the column `group`, if one is named, and by
    spans of `step` seconds.
    """
    by = f"{group}, " if group else ""
    groups = f"{by}began / {step * 1000} * {step}, status, {BY_BUCKET}"
    rows = yield from statement.query_grouped("facts", groups, COUNTED)
    return [FactsRow(*(row if group else ("", *row))) for row in rows]
