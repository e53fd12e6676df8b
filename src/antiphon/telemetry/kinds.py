"""The kinds of metrics: counters, gauges and histograms, as plain numbers that are cheap to update.

This module does not know how metrics are shown; `exposition.py` writes them as text. Terms as in
Prometheus.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

MODEL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Buckets for a model's times: 50 ms to 10 minutes."""

OTHER = "other"
"""The value of a label for everything beyond the listed values."""

Labels = tuple[str, ...]


class Sample(Struct, frozen=True):
    """One number of a family, with its labels by name."""

    labels: dict[str, str]
    value: float
    """For a histogram, the sum of its observations."""
    counts: Sequence[int] = ()
    """Of a histogram, the observations in each bucket, not added up; the last bucket has no upper
    bound.
    """


class Family(Struct, frozen=True):
    """One metric with all its numbers; `kind` is `counter`, `gauge` or `histogram`."""

    name: str
    kind: str
    text: str
    samples: list[Sample]
    bounds: Sequence[float] = ()
    """For a histogram, the upper bounds of all buckets except the last."""


class Metric(Protocol):
    """An object with a name and numbers. `names` are those of its labels."""

    name: str
    kind: str
    text: str
    names: Labels
    bounds: Sequence[float]

    def samples(self) -> Iterator[Sample]:
        """Return the current numbers."""
        ...


class Counter:
    """Only increases; one number for each combination of labels that occurred."""

    kind = "counter"
    bounds: Sequence[float] = ()

    def __init__(self, name: str, text: str, *names: str) -> None:
        self.name = name
        self.text = text
        self.names = names
        self.values: defaultdict[Labels, float] = defaultdict(float)
        """By label values; code that runs with every request updates it directly."""

    def add(self, *labels: str, by: float = 1) -> None:
        """Count one more, or `by`."""
        self.values[labels] += by

    def value(self, *labels: str) -> float:
        """Return the count."""
        return self.values.get(labels, 0.0)

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, value in list(self.values.items()):
            yield Sample(dict(zip(self.names, labels, strict=True)), value)


class Gauge(Counter):
    """Can increase and decrease; `add(…, by=-1)` subtracts one."""

    kind = "gauge"


class ObservedNumbers:
    """Numbers that another part holds anyway, read when they are scraped: values by the values of
    the labels.
    """

    bounds: Sequence[float] = ()

    def __init__(
        self,
        name: str,
        text: str,
        *names: str,
        poll_once: Callable[[], Mapping[Labels, float]],
        kind: str = "gauge",
    ) -> None:
        self.name = name
        self.text = text
        self.names = names
        self.kind = kind
        self._poll = poll_once

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, value in self._poll().items():
            yield Sample(dict(zip(self.names, labels, strict=True)), value)


@dataclass(slots=True)
class Spread:
    """Observations in seconds: how many are in each bucket, and their sum."""

    counts: list[int]
    total: float = 0.0


def spreads(bounds: Sequence[float]) -> defaultdict[Labels, Spread]:
    """Return an empty table of observations by labels; the last bucket is for values above all
    bounds.
    """
    return defaultdict(lambda: Spread([0] * (len(bounds) + 1)))


class Histogram:
    """Durations in seconds."""

    kind = "histogram"

    def __init__(
        self, name: str, text: str, *names: str, bounds: Sequence[float] = MODEL_SECONDS
    ) -> None:
        self.name = name
        self.text = text
        self.names = names
        self.bounds = bounds
        self.spreads = spreads(bounds)
        """By label values; code that runs with every request updates it directly."""

    def observe(self, seconds: float, *labels: str) -> None:
        """Add one observation of this duration."""
        spread = self.spreads[labels]
        spread.counts[bisect_left(self.bounds, seconds)] += 1
        spread.total += seconds

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, spread in list(self.spreads.items()):
            yield Sample(
                dict(zip(self.names, labels, strict=True)), spread.total, tuple(spread.counts)
            )


def families(metrics: Iterable[Metric], **labels: str) -> list[Family]:
    """Return the metrics' current numbers, each with these labels in addition."""
    return [
        Family(
            one.name,
            one.kind,
            one.text,
            [
                Sample({**sample.labels, **labels}, sample.value, sample.counts)
                for sample in one.samples()
            ],
            one.bounds,
        )
        for one in metrics
    ]
