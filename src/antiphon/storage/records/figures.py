"""Figures of many responses: their final statuses, tokens, costs and durations."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import add as plus
from operator import sub as minus

from msgspec import Struct, field

from antiphon.query.conditions import Filters
from antiphon.storage.records.facts import MOST_READ

BOUNDS = (
    *(
        10,
        20,
        30,
        50,
        75,
        100,
        150,
        200,
        300,
        500,
        750,
        1_000,
        1_500,
        2_000,
        3_000,
        5_000,
        7_500,
        10_000,
    ),
    *(15_000, 30_000, 60_000, 120_000, 300_000),
)
"""Upper bounds, in milliseconds, of the buckets of a histogram."""

BUCKETS = len(BOUNDS) + 1

LONGEST = 600_000
"""Upper bound, in milliseconds, that quantiles assume for the last bucket."""

MINUTE, HOUR, FOUR_HOURS = 60, 3_600, 14_400
"""The lengths of the three kinds of sums, in seconds."""

GROUPS = {"model": "model", "backend": "backend", "key": "key_id", "tenant": "tenant"}
"""The names by which figures can be grouped, and their columns."""


class Figures(Struct):
    """Figures of a group of responses, such as those that began in one time span."""

    by_status: dict[str, int] = {}
    """The number of responses with each final status."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int | None = None
    """In nano-units; None if no model had a price."""
    streamed_tokens: int = 0
    """The output tokens of streamed responses with one model call."""
    streamed_ms: int = 0
    """Milliseconds from the first token to the end, of the same responses."""
    first: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    """The number of times to the first token in each bucket."""
    took: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    """The number of durations in each bucket."""

    @property
    def responses(self) -> int:
        """The number of responses."""
        return sum(self.by_status.values())


class FiguresQuery(Struct, frozen=True):
    """Which figures to read: of responses that began from `since` up to but excluding `until`.

    `since` and `until` are seconds since the epoch. `step` is the length of a time span in seconds.
    `by` is a name in `GROUPS`, or empty.
    """

    since: int
    until: int
    step: int
    by: str = ""
    filters: Filters = Filters()
    most_read: int = MOST_READ
    """Maximum number of responses to read if no sums match the filters."""
    most_groups: int = 1_000
    """Maximum number of groups to return. The largest are returned."""
    series: int = 0
    """Number of the most expensive groups to return by span too."""


class FiguresFound(Struct):
    """Figures by the start of each time span (only of spans with responses), and by group.

    `rest` combines the groups that are not among the largest; None if `groups` has all groups.
    `series` has the figures of the most expensive groups by span, without all of their times.
    `partial_since` is set if earlier responses were not read: the figures are complete from this
    time on (seconds since the epoch).
    """

    spans: dict[int, Figures] = {}
    groups: dict[str, Figures] = {}
    rest: Figures | None = None
    series: dict[str, dict[int, Figures]] = {}
    partial_since: int | None = None


def quantile(counts: Sequence[int], share: float) -> int | None:
    """Return the milliseconds below which this share of a histogram lies, or None if the histogram
    is empty.

    The values within a bucket are assumed to be evenly distributed.
    """
    total = sum(counts)
    if not total:
        return None
    rank = share * total
    below = 0
    for place, count in enumerate(counts):
        if count and below + count >= rank:
            low = BOUNDS[place - 1] if place else 0
            high = BOUNDS[place] if place < len(BOUNDS) else LONGEST
            return round(low + (high - low) * (rank - below) / count)
        below += count
    return LONGEST


def bucket_of(milliseconds: int) -> int:
    """Return the index of the bucket of a time."""
    return bisect_right(BOUNDS, milliseconds)


def total_of(figures: Sequence[Figures]) -> Figures:
    """Return the total of these figures."""
    total = Figures()
    for one in figures:
        add(total, one)
    return total


def add(total: Figures, one: Figures) -> None:
    """Add the figures `one` to `total`."""
    for status, count in one.by_status.items():
        total.by_status[status] = total.by_status.get(status, 0) + count
    total.input_tokens += one.input_tokens
    total.cached_tokens += one.cached_tokens
    total.output_tokens += one.output_tokens
    total.reasoning_tokens += one.reasoning_tokens
    if one.cost is not None:
        total.cost = (total.cost or 0) + one.cost
    total.streamed_tokens += one.streamed_tokens
    total.streamed_ms += one.streamed_ms
    total.first = list(map(plus, total.first, one.first))
    total.took = list(map(plus, total.took, one.took))


def most_expensive(groups: Mapping[str, Figures], most: int) -> list[str]:
    """Return the groups with the highest cost, or without prices with the most tokens, in order."""

    def rank(value: str) -> tuple[int, int, int]:
        one = groups[value]
        return one.cost or 0, one.input_tokens + one.output_tokens, one.responses

    return sorted(groups, key=rank, reverse=True)[:most]


def others_of(found: FiguresFound) -> dict[int, Figures]:
    """Return the figures by span of all groups without a series."""
    others = {}
    for time, total in found.spans.items():
        known = [spans[time] for spans in found.series.values() if time in spans]
        rest = _without(total, total_of(known))
        if rest.responses:
            others[time] = rest
    return others


def bounded(found: FiguresFound, most: int) -> None:
    """Keep the `most` largest groups.

    The figures of the other groups are the total minus the kept groups.
    """
    if len(found.groups) > most:
        largest = sorted(found.groups.items(), key=lambda pair: pair[1].responses, reverse=True)
        found.groups = dict(largest[:most])
        found.rest = _without(
            total_of(list(found.spans.values())), total_of(list(found.groups.values()))
        )


def _without(total: Figures, part: Figures) -> Figures:
    counts = {
        status: count - part.by_status.get(status, 0) for status, count in total.by_status.items()
    }
    return Figures(
        {status: count for status, count in counts.items() if count},
        total.input_tokens - part.input_tokens,
        total.cached_tokens - part.cached_tokens,
        total.output_tokens - part.output_tokens,
        total.reasoning_tokens - part.reasoning_tokens,
        None if total.cost is None else total.cost - (part.cost or 0),
        total.streamed_tokens - part.streamed_tokens,
        total.streamed_ms - part.streamed_ms,
        list(map(minus, total.first, part.first)),
        list(map(minus, total.took, part.took)),
    )
