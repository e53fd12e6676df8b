"""The metrics of a process: `Measures` has all of them.

`ResponseMetrics` counts responses; every other part of the server counts its own in `Measures`.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from antiphon.errors import AntiphonError
from antiphon.ids import Clock
from antiphon.sharing.scheduler import SchedulerUsage
from antiphon.telemetry.kinds import (
    MODEL_SECONDS,
    OTHER,
    Counter,
    Gauge,
    Histogram,
    Labels,
    Metric,
    ObservedNumbers,
)
from antiphon.telemetry.observers import ObservedCall, Observer, ResponseRecord, ToolUse
from antiphon.telemetry.requests import RequestCounter, RequestSeconds
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.options import is_listed
from antiphon.upstream.registry import ModelRegistry

STALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Buckets for the time that the event loop is blocked; above 20 ms clients notice."""

MOST_MODELS = 200
"""Models that are counted by name; the rest of a long list is `other`."""


class Measures:
    """All metrics of this process.

    Each part counts its own; metrics without counts have no numbers.

    Labels are bounded: routes instead of paths, models that a backend lists instead of the clients'
    names.
    """

    def __init__(self) -> None:
        self.requests = RequestCounter()
        self.request_seconds = RequestSeconds(self.requests)
        self.responses = Counter(
            "antiphon_responses", "Responses that have ended.", "model", "status"
        )
        self.first_token = Histogram(
            "antiphon_first_token_seconds",
            "Time from the start of a streamed response to the first byte of the model's answer.",
            *("backend", "model"),
        )
        self.duration = Histogram(
            "antiphon_response_seconds", "Time from the start of a response to its end.", "model"
        )
        self.tokens = Counter(
            "antiphon_tokens",
            "Tokens as backends counted them: cached is part of input, reasoning of output.",
            *("model", "kind"),
        )
        self.calls = Counter("antiphon_backend_calls", "Calls of a model.", "backend", "outcome")
        self.tools = Counter(
            "antiphon_tool_calls", "Calls of server-side tools.", "kind", "outcome"
        )
        self.mcp_left_out = Counter(
            "antiphon_mcp_tools_left_out", "Unusable tools in lists of MCP servers.", "reason"
        )
        self.cache = Counter("antiphon_cache_lookups", "Lookups in the response cache.", "outcome")
        self.searches_by_keywords = Counter(
            "antiphon_searches_by_keywords",
            "Searches of vector stores without vectors, because the embedding model did not answer.",  # noqa: E501 - one text, or a row of a table
            "model",
        )
        self.images = Counter(
            "antiphon_images_described",
            "Images in requests to models without vision, by outcome.",
            "outcome",
        )
        self.skipped_compactions = Counter(
            "antiphon_compactions_skipped",
            "Compactions skipped because they would not have helped.",
            "model",
        )
        self.corrections = Counter(
            "antiphon_corrections",
            "Faults in the output of models: repaired, requested again, or left broken; loops: "
            "nudged, or stopped.",
            *("model", "kind", "outcome"),
        )
        self.adjustments = Counter(
            "antiphon_adjustments",
            "Responses for which the backend was sent something other than the client wrote, "
            "because it refuses that.",
            *("model", "difference"),
        )
        self.jobs = Counter(
            "antiphon_background_jobs",
            "Background responses: claimed here, done here, or lost to another.",
            "outcome",
        )
        self.loop_stalls = Histogram(
            "antiphon_loop_stall_seconds",
            "Delay of the event loop, measured by its watchdog four times per second.",
            bounds=STALL_SECONDS,
        )
        self.webhooks = Counter(
            "antiphon_webhook_deliveries", "Attempts to deliver a webhook.", "outcome"
        )
        self.tenant_responses = Counter(
            "antiphon_tenant_responses", "Responses by tenant.", "tenant", "status"
        )
        self.tenant_tokens = Counter(
            "antiphon_tenant_tokens", "Tokens by tenant.", "tenant", "kind"
        )
        self.code_seconds = Counter(
            "antiphon_code_seconds", "CPU time of calls of code, and their pauses.", "kind"
        )
        self.tenant_code_seconds = Counter(
            "antiphon_tenant_code_seconds", "The same by tenant.", "tenant", "kind"
        )
        self.agent_runs = Counter(
            "antiphon_agent_runs",
            "Attempts of agents that have ended, by the status of the response.",
            *("agent", "end"),
        )
        self.agent_attempts = Counter(
            "antiphon_agent_attempts",
            "Attempts of agents: first, resumed after a stop, or takeover after a crash.",
            *("agent", "kind"),
        )
        self.agent_steps = Counter(
            "antiphon_agent_steps",
            "Steps that agents requested: done, failed, or recorded by an earlier attempt.",
            *("agent", "state"),
        )
        self.agent_wait = Histogram(
            "antiphon_agent_wait_seconds",
            "Time from the creation of an agent's response to its first attempt.",
            "agent",
        )
        self.websockets = Gauge("antiphon_websocket_connections", "Open WebSocket connections.")

    def all(self) -> list[Metric]:
        """Return every metric."""
        return list(vars(self).values())


class ModelNames:
    """Which models are counted by their public names: those that a backend or an operator lists."""

    def __init__(self, models: ModelRegistry) -> None:
        self._models = models
        self.known: dict[str, str] = {}
        """Names that were looked up."""

    def of(self, model: str) -> str:
        """Return the model's name as a backend lists it, else `other`."""
        known = self.known.get(model)
        if known is not None:
            return known
        listed = (one["id"] for backend in self._models.backends for one in backend.offers())
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
    """A monotonic clock, in seconds."""
    _spoken: set[ResponseRecord] = field(default_factory=set)
    """The streams with output from the model."""

    def spoke(self, call: ObservedCall) -> None:
        """See `Observer.spoke`; a response's first token is that of its first call."""
        record = call.record
        if record is not None and record.is_stream and record not in self._spoken:
            self._spoken.add(record)
            took = self.clock() - record.began
            self.measures.first_token.observe(took, call.backend, self.names.of(call.target.name))

    def answered(self, call: ObservedCall) -> None:
        """See `Observer.answered`."""
        outcome = "answered" if call.error is None else _failure(call.error)
        self.measures.calls.values[call.target.state.name, outcome] += 1

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`. A tool name from a client or a server is not a label."""
        if use.hosted is not None and use.is_over:
            self.measures.tools.add(use.hosted, "failed" if use.error else "completed")
        if use.cpu or use.paused:
            self.measures.code_seconds.add("cpu", by=use.cpu)
            self.measures.code_seconds.add("paused", by=use.paused)

    def ended(self, record: ResponseRecord) -> None:
        """See `Observer.ended`."""
        measures = self.measures
        name = record.model
        model = self.names.known.get(name) or self.names.of(name)
        self._spoken.discard(record)
        if record.outcome != "queued":
            took = self.clock() - record.began
            spread = measures.duration.spreads[(model,)]
            spread.counts[bisect_left(MODEL_SECONDS, took)] += 1
            spread.total += took
            measures.responses.values[model, record.outcome] += 1
        if record.skipped_compactions:
            measures.skipped_compactions.add(model, by=record.skipped_compactions)
        for kind, outcome in record.notes:
            measures.corrections.add(model, kind, outcome)
        for difference in record.adjusted:
            measures.adjustments.add(model, difference)
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
    models: ModelRegistry,
    responses_in_flight: Callable[[], int],
    shared: Callable[[], Mapping[str, SchedulerUsage]],
) -> list[ObservedNumbers]:
    """Return the gauges of responses in flight, backends and shared resources, which are read when
    they are scraped.
    """

    def by_backend(of: Callable[[BackendState], float]) -> Callable[[], Mapping[Labels, float]]:
        return lambda: {(backend.name,): float(of(backend)) for backend in models.backends}

    def is_up(backend: BackendState) -> bool:
        return backend.health.is_up(models.clock())

    def each(
        name: str, text: str, of: Callable[[BackendState], float], kind: str = "gauge"
    ) -> ObservedNumbers:
        return ObservedNumbers(
            f"antiphon_backend_{name}", text, "backend", poll_once=by_backend(of), kind=kind
        )

    in_flight = "Responses in progress."
    return [
        ObservedNumbers(
            "antiphon_responses_in_flight", in_flight, poll_once=lambda: {(): responses_in_flight()}
        ),
        each(
            "in_flight",
            "Requests that a backend has now.",
            lambda server: server.slots.usage.in_use,
        ),
        each(
            "queue", "Requests that wait for a backend.", lambda server: server.slots.usage.waiting
        ),
        each("oldest_wait_seconds", OLDEST, lambda server: server.slots.usage.oldest_wait),
        each("up", "Whether a backend is called: 0 if it is ejected.", is_up),
        each(
            "ejections",
            "Times that a backend was ejected.",
            lambda server: server.health.ejections,
            "counter",
        ),
        each(
            "prompt_bytes",
            "Bytes of prompts of sessions.",
            lambda server: server.prompts.size,
            "counter",
        ),
        each("prompt_reused_bytes", REUSED, lambda server: server.prompts.reused, "counter"),
        each("prompt_breaks", BREAKS, lambda server: server.prompts.breaks, "counter"),
        *_shared(shared),
    ]


REUSED = "Bytes of these prompts that repeat the beginning of the previous turn's prompt."
BREAKS = "Prompts that did not continue the prompt of the previous turn."
OLDEST = "Time that the first of the waiting operations has waited; 0 if none waits."


def _shared(usage: Callable[[], Mapping[str, SchedulerUsage]]) -> list[ObservedNumbers]:
    """Return the gauges of shared resources. One without a limit has no capacity."""

    def each(name: str, text: str, of: Callable[[SchedulerUsage], float | None]) -> ObservedNumbers:
        def poll() -> Mapping[Labels, float]:
            values = {(resource,): of(one) for resource, one in usage().items()}
            return {labels: value for labels, value in values.items() if value is not None}

        return ObservedNumbers(f"antiphon_shared_{name}", text, "resource", poll_once=poll)

    return [
        each("in_use", "Slots of a shared resource that are in use.", lambda one: one.in_use),
        each("capacity", "Slots of a shared resource.", lambda one: one.capacity or None),
        each(
            "waiting",
            "Operations that wait for a slot of a shared resource.",
            lambda one: one.waiting,
        ),
        each("oldest_wait_seconds", OLDEST, lambda one: one.oldest_wait),
    ]
