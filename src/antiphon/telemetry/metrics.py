"""What a process counts: plain numbers that cost next to nothing to change, and are put into words when somebody asks.

No part of this knows how they are shown. A counter only grows, a gauge is as high as it is now, a histogram says how
many observations were at most as large as each of its bounds (the terms are those of Prometheus).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

MODEL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Bounds for what a model does: 50 ms to 10 minutes."""

STORE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Bounds for what a store does: half a millisecond to 5 s."""

Labels = tuple[str, ...]


class Sample(Struct, frozen=True):
    """One number of a family: `suffix` goes behind the family's name, `labels` are values by name."""

    suffix: str
    labels: dict[str, str]
    value: float


class Family(Struct, frozen=True):
    """One metric with all its numbers; `kind` is `counter`, `gauge` or `histogram`."""

    name: str
    kind: str
    text: str
    samples: list[Sample]


class Metric(Protocol):
    """Anything that has a name and numbers. `names` are those of its labels."""

    name: str
    kind: str
    text: str
    names: Labels

    def samples(self) -> Iterator[Sample]:
        """Give the numbers as they are now."""
        ...


class Counter:
    """Only grows; one number for each combination of labels that was seen."""

    kind = "counter"

    def __init__(self, name: str, text: str, *names: str) -> None:
        self.name, self.text, self.names = name, text, names
        self.values: defaultdict[Labels, float] = defaultdict(float)
        """By their labels; what is counted with every request adds to it directly."""

    def add(self, *labels: str, by: float = 1) -> None:
        """Count one more, or `by`."""
        self.values[labels] += by

    def value(self, *labels: str) -> float:
        """Return how many there are."""
        return self.values.get(labels, 0.0)

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, value in list(self.values.items()):
            yield Sample("_total", dict(zip(self.names, labels, strict=True)), value)


class Gauge(Counter):
    """Goes up and down; `add(…, by=-1)` takes one away."""

    kind = "gauge"

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, value in list(self.values.items()):
            yield Sample("", dict(zip(self.names, labels, strict=True)), value)


class Known:
    """What somebody else counts anyway, looked up when it is asked for: values by those of the labels."""

    def __init__(
        self, name: str, text: str, *names: str, look: Callable[[], Mapping[Labels, float]], kind: str = "gauge"
    ) -> None:
        self.name, self.text, self.names, self.kind, self._look = name, text, names, kind, look

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        suffix = "_total" if self.kind == "counter" else ""
        for labels, value in self._look().items():
            yield Sample(suffix, dict(zip(self.names, labels, strict=True)), value)


@dataclass(slots=True)
class _Spread:
    counts: list[int]
    total: float = 0.0


class Histogram:
    """How long things took, in seconds; the last bucket takes what is above all bounds."""

    kind = "histogram"

    def __init__(self, name: str, text: str, *names: str, bounds: Sequence[float] = MODEL_SECONDS) -> None:
        self.name, self.text, self.names = name, text, names
        self._bounds = bounds
        self._edges = [*map(str, bounds), "+Inf"]
        self._spreads: defaultdict[Labels, _Spread] = defaultdict(lambda: _Spread([0] * (len(bounds) + 1)))

    def observe(self, seconds: float, *labels: str) -> None:
        """Count one that took so long."""
        spread = self._spreads[labels]
        spread.counts[bisect_left(self._bounds, seconds)] += 1
        spread.total += seconds

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, spread in list(self._spreads.items()):
            named = dict(zip(self.names, labels, strict=True))
            counts = list(accumulate(spread.counts))
            for edge, count in zip(self._edges, counts, strict=True):
                yield Sample("_bucket", {**named, "le": edge}, count)
            yield Sample("_count", named, counts[-1])
            yield Sample("_sum", named, spread.total)


class Measures:
    """Everything that this process counts. Each part counts its own; what nobody counts has no numbers.

    Labels are bounded: routes and not paths, models that a backend lists and not what a client calls them.
    """

    def __init__(self) -> None:
        self.requests = Counter("antiphon_http_requests", "Requests that were answered.", "route", "method", "status")
        self.responses = Counter("antiphon_responses", "Responses that have ended.", "model", "status")
        self.first_token = Histogram(
            "antiphon_first_token_seconds",
            "From the beginning of a streamed response to the first byte of the model's answer.",
            *("backend", "model"),
        )
        self.duration = Histogram("antiphon_response_seconds", "From the beginning of a response to its end.", "model")
        self.tokens = Counter(
            "antiphon_tokens",
            "Tokens as backends counted them: cached is part of input, reasoning of output.",
            *("model", "kind"),
        )
        self.calls = Counter("antiphon_backend_calls", "Calls of a model.", "backend", "outcome")
        self.tools = Counter("antiphon_tool_calls", "Calls of tools that this server runs.", "kind", "outcome")
        self.cache = Counter("antiphon_cache_lookups", "Looks into the response cache.", "outcome")
        self.jobs = Counter(
            "antiphon_background_jobs", "Background responses: claimed here, done here, or lost to another.", "outcome"
        )
        self.store = Histogram("antiphon_store_seconds", "How long the store took.", "kind", bounds=STORE_SECONDS)
        self.store_errors = Counter("antiphon_store_errors", "What the store could not do.", "operation")
        self.webhooks = Counter("antiphon_webhook_deliveries", "Tries to deliver a webhook.", "outcome")
        self.websockets = Gauge("antiphon_websocket_connections", "WebSocket connections that are open.")

    def all(self) -> list[Metric]:
        """Return every metric."""
        return list(vars(self).values())


def families(metrics: Iterable[Metric], **labels: str) -> list[Family]:
    """Return the metrics' numbers as they are now, each with these labels too."""
    return [
        Family(
            one.name,
            one.kind,
            one.text,
            [Sample(sample.suffix, {**sample.labels, **labels}, sample.value) for sample in one.samples()],
        )
        for one in metrics
    ]
