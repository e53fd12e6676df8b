"""Figures of many responses: how many ended how, their tokens, their cost, and how long they took."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import add as plus
from operator import sub as minus

from msgspec import Struct, field

from antiphon.protocol.response_filters import Filters
from antiphon.storage.records.facts import MOST_READ

BOUNDS = (
    *(10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000),
    *(15_000, 30_000, 60_000, 120_000, 300_000),
)
"""Milliseconds at which one bucket of a histogram ends and the next begins."""

BUCKETS = len(BOUNDS) + 1

LONGEST = 600_000
"""Milliseconds at which the last bucket ends, as far as quantiles go."""

MINUTE, HOUR, FOUR_HOURS = 60, 3_600, 14_400
"""Seconds of the three kinds of sums."""

GROUPS = {"model": "model", "backend": "backend", "key": "key_id", "tenant": "tenant"}
"""What figures are grouped by, and its column."""


class Figures(Struct):
    """Figures of the responses that began in one span of time, or have something else in common."""

    by_status: dict[str, int] = field(default_factory=dict)
    """How many there are of each final status."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int | None = None
    """Nano-units; None where no model had a price."""
    first: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    """How many times to the first token fall into each bucket."""
    took: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    """How many durations fall into each bucket."""

    @property
    def responses(self) -> int:
        """How many responses there are."""
        return sum(self.by_status.values())


class FiguresQuery(Struct, frozen=True):
    """Which figures to read, of the responses that began from `since` to `until`, excluded (seconds since the epoch).

    `step` is the length in seconds of the spans, `by` a name of `GROUPS` or empty.
    """

    since: int
    until: int
    step: int
    by: str = ""
    filters: Filters = Filters()
    most_read: int = MOST_READ
    """Responses that are read where no sums answer the filters."""
    most_groups: int = 1_000
    """Groups that are returned: the largest."""


class FiguresFound(Struct):
    """Figures by the beginning of each span, of spans with responses alone, and by group.

    `rest` has the groups that are not among the largest, None where all are in `groups`. `partial_since` is the time
    in seconds from which the figures are complete, where earlier responses were not read.
    """

    spans: dict[int, Figures] = field(default_factory=dict)
    groups: dict[str, Figures] = field(default_factory=dict)
    rest: Figures | None = None
    partial_since: int | None = None


def quantile(counts: Sequence[int], share: float) -> int | None:
    """Return the milliseconds below which this share of a histogram lies; None for an empty one.

    Within a bucket the values count as evenly spread.
    """
    total = sum(counts)
    if not total:
        return None
    rank, below = share * total, 0
    for place, count in enumerate(counts):
        if count and below + count >= rank:
            low = BOUNDS[place - 1] if place else 0
            high = BOUNDS[place] if place < len(BOUNDS) else LONGEST
            return round(low + (high - low) * (rank - below) / count)
        below += count
    return LONGEST


def bucket_of(milliseconds: int) -> int:
    """Return the number of the bucket that a time falls into."""
    return bisect_right(BOUNDS, milliseconds)


def total_of(figures: Sequence[Figures]) -> Figures:
    """Return the figures of all of these together."""
    total = Figures()
    for one in figures:
        add(total, one)
    return total


def add(total: Figures, one: Figures) -> None:
    """Add figures to others."""
    for status, count in one.by_status.items():
        total.by_status[status] = total.by_status.get(status, 0) + count
    total.input_tokens += one.input_tokens
    total.cached_tokens += one.cached_tokens
    total.output_tokens += one.output_tokens
    total.reasoning_tokens += one.reasoning_tokens
    if one.cost is not None:
        total.cost = (total.cost or 0) + one.cost
    total.first = list(map(plus, total.first, one.first))
    total.took = list(map(plus, total.took, one.took))


def bounded(found: FiguresFound, most: int) -> FiguresFound:
    """Keep the `most` largest groups; what the others have is what all responses have beyond these."""
    if len(found.groups) > most:
        largest = sorted(found.groups.items(), key=lambda pair: pair[1].responses, reverse=True)
        found.groups = dict(largest[:most])
        found.rest = _without(total_of(list(found.spans.values())), total_of(list(found.groups.values())))
    return found


def _without(total: Figures, part: Figures) -> Figures:
    counts = {status: count - part.by_status.get(status, 0) for status, count in total.by_status.items()}
    return Figures(
        {status: count for status, count in counts.items() if count},
        total.input_tokens - part.input_tokens,
        total.cached_tokens - part.cached_tokens,
        total.output_tokens - part.output_tokens,
        total.reasoning_tokens - part.reasoning_tokens,
        None if total.cost is None else total.cost - (part.cost or 0),
        list(map(minus, total.first, part.first)),
        list(map(minus, total.took, part.took)),
    )
