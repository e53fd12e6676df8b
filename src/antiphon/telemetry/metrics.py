"""What a process counts: plain numbers that cost next to nothing to change, and are put into words when somebody asks.

`ResponseMetrics` counts what happens to responses; every other part of the server counts its own in `Measures`.

No part of this knows how they are shown. A counter only grows, a gauge is as high as it is now, a histogram says how
many observations were at most as large as each of its bounds (the terms are those of Prometheus).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

from antiphon.errors import AntiphonError
from antiphon.ids import Clock
from antiphon.sharing.scheduler import Usage
from antiphon.telemetry.observers import Call, Observer, ResponseRecord, ToolUse
from antiphon.upstream.backend_state import BackendState, is_listed
from antiphon.upstream.registry import ModelRegistry

MODEL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Bounds for what a model does: 50 ms to 10 minutes."""

STORE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Bounds for what a store does: half a millisecond to 5 s."""

STALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Bounds for how long the event loop is busy with one thing; above 20 ms clients notice."""
OTHER = "other"
"""Stands for every model that no backend lists: names that clients make up are no labels."""

MOST_MODELS = 200
"""Models that are counted by name; the rest of a long list is `other`."""

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
        self.mcp_left_out = Counter(
            "antiphon_mcp_tools_left_out", "Tools in lists of MCP servers that cannot be used.", "reason"
        )
        self.cache = Counter("antiphon_cache_lookups", "Looks into the response cache.", "outcome")
        self.images = Counter(
            "antiphon_images_described", "Images in requests to models that see none, by what came of them.", "outcome"
        )
        self.skipped_compactions = Counter(
            "antiphon_compactions_skipped", "Compactions that would have left a context beyond its threshold.", "model"
        )
        self.corrections = Counter(
            "antiphon_corrections",
            "Faults in what models said: repaired, asked for again, or left broken; loops: nudged, or stopped.",
            *("model", "kind", "outcome"),
        )
        self.jobs = Counter(
            "antiphon_background_jobs", "Background responses: claimed here, done here, or lost to another.", "outcome"
        )
        self.store = Histogram("antiphon_store_seconds", "How long the store took.", "kind", bounds=STORE_SECONDS)
        self.store_errors = Counter("antiphon_store_errors", "What the store could not do.", "operation")
        self.loop_stalls = Histogram(
            "antiphon_loop_stall_seconds",
            "How long the event loop took to answer its watchdog, which asks four times per second.",
            bounds=STALL_SECONDS,
        )
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


class ModelNames:
    """Which models are called by their names outside: those that a backend lists, or an operator does."""

    def __init__(self, models: ModelRegistry) -> None:
        self._models = models
        self.known: dict[str, str] = {}
        """Names that were looked up."""

    def of(self, model: str) -> str:
        """Return the model's name as a backend lists it, else `other`."""
        known = self.known.get(model)
        if known is not None:
            return known
        listed = (one["id"] for served in self._models.backends for one in served.offers())
        found: str | None = next((name for name in listed if is_listed(model, [name])), None)
        if found is None or len(self.known) >= MOST_MODELS:
            return OTHER
        self.known[model] = found
        return found


@dataclass(slots=True)
class ResponseMetrics(Observer):
    """Counts responses, their times and tokens, and the calls of models."""

    measures: Measures
    names: ModelNames
    clock: Clock
    """Never goes back, in seconds."""
    _spoken: set[ResponseRecord] = field(default_factory=set)
    """The streams whose model has said something."""

    def spoke(self, call: Call) -> None:
        """See `Observer.spoke`; a response's first token is that of its first call."""
        record = call.record
        if record is not None and record.is_stream and record not in self._spoken:
            self._spoken.add(record)
            took = self.clock() - record.began
            self.measures.first_token.observe(took, call.backend, self.names.of(call.target.name))

    def answered(self, call: Call) -> None:
        """See `Observer.answered`."""
        outcome = "answered" if call.error is None else _failure(call.error)
        self.measures.calls.values[call.target.state.name, outcome] += 1

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`. What a client or a server calls a tool is no label."""
        if use.hosted is not None and use.is_over:
            self.measures.tools.add(use.hosted, "failed" if use.error else "completed")

    def ended(self, record: ResponseRecord) -> None:
        """See `Observer.ended`."""
        measures, name = self.measures, record.model
        model = self.names.known.get(name) or self.names.of(name)
        self._spoken.discard(record)
        if record.outcome != "queued":
            measures.duration.observe(self.clock() - record.began, model)
            measures.responses.values[model, record.outcome] += 1
        if record.skipped_compactions:
            measures.skipped_compactions.add(model, by=record.skipped_compactions)
        for kind, outcome in record.notes:
            measures.corrections.add(model, kind, outcome)
        if record.cache is not None:
            measures.cache.add(record.cache)
        if record.cache != "hit" and (usage := record.response.usage) is not None:
            tokens = measures.tokens.values
            tokens[model, "input"] += usage.input_tokens
            tokens[model, "output"] += usage.output_tokens
            if cached := usage.input_tokens_details.cached_tokens:
                tokens[model, "cached"] += cached
            if reasoning := usage.output_tokens_details.reasoning_tokens:
                tokens[model, "reasoning"] += reasoning


def _failure(error: AntiphonError) -> str:
    return "refused" if 400 <= error.status < 500 else "failed"


def known(
    models: ModelRegistry, responses_in_flight: Callable[[], int], shared: Callable[[], Mapping[str, Usage]]
) -> list[Known]:
    """Return the gauges of responses in flight, backends and shared resources, which are read when they are scraped."""

    def by_backend(of: Callable[[BackendState], float]) -> Callable[[], Mapping[Labels, float]]:
        return lambda: {(served.name,): float(of(served)) for served in models.backends}

    def is_up(served: BackendState) -> bool:
        return served.health.is_up(models.clock())

    def each(name: str, text: str, of: Callable[[BackendState], float], kind: str = "gauge") -> Known:
        return Known(f"antiphon_backend_{name}", text, "backend", look=by_backend(of), kind=kind)

    in_flight = "Responses that are being made."
    return [
        Known("antiphon_responses_in_flight", in_flight, look=lambda: {(): responses_in_flight()}),
        each("in_flight", "Requests that a backend has now.", lambda served: served.slots.usage.in_use),
        each("queue", "Requests that wait for a backend.", lambda served: served.slots.usage.waiting),
        each("oldest_wait_seconds", OLDEST, lambda served: served.slots.usage.oldest_wait),
        each("up", "Whether a backend is asked: 0 where it was taken out.", is_up),
        each("ejections", "Times that a backend was taken out.", lambda served: served.health.ejections, "counter"),
        each("prompt_bytes", "Bytes of prompts of sessions.", lambda served: served.prompts.size, "counter"),
        each("prompt_reused_bytes", REUSED, lambda served: served.prompts.reused, "counter"),
        each("prompt_breaks", BREAKS, lambda served: served.prompts.breaks, "counter"),
        *_shared(shared),
    ]


REUSED = "Bytes of these prompts with which the prompt of the turn before began too."
BREAKS = "Prompts that did not continue the prompt of the turn before."
OLDEST = "For how long the first of the waiting operations has waited; 0 where none waits."


def _shared(usage: Callable[[], Mapping[str, Usage]]) -> list[Known]:
    """Return the gauges of shared resources. One without a limit has no capacity."""

    def each(name: str, text: str, of: Callable[[Usage], float | None]) -> Known:
        def look() -> Mapping[Labels, float]:
            values = {(resource,): of(one) for resource, one in usage().items()}
            return {labels: value for labels, value in values.items() if value is not None}

        return Known(f"antiphon_shared_{name}", text, "resource", look=look)

    return [
        each("in_use", "Slots of a shared resource that are in use.", lambda one: one.in_use),
        each("capacity", "Slots of a shared resource.", lambda one: one.capacity or None),
        each("waiting", "Operations that wait for a slot of a shared resource.", lambda one: one.waiting),
        each("oldest_wait_seconds", OLDEST, lambda one: one.oldest_wait),
    ]
