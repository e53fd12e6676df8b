"""Counts what happens to responses, and what the store does for them."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from antiphon.errors import AntiphonError, StoreError
from antiphon.storage.contract import Store
from antiphon.telemetry.metrics import Known, Labels, Measures
from antiphon.telemetry.observers import Call, Observer, ResponseRecord, ToolUse
from antiphon.upstream.backend_state import BackendState, is_listed
from antiphon.upstream.registry import ModelRegistry

OTHER = "other"
"""Stands for every model that no backend lists: names that clients make up are no labels."""

MOST_MODELS = 200
"""ModelRegistry that are counted by name; the rest of a long list is `other`."""

READS = {
    *("load", "history", "measure_chain", "find_item", "find_job", "owned", "held", "heartbeats", "tail"),
    *("load_conversation", "items"),
    *("conversation_item", "find_key", "load_endpoint", "endpoints", "deliveries", "backlog", "check"),
    *("find_answer", "answers_size", "find_api_key", "api_keys", "has_api_keys", "usage"),
}
WRITES = {
    *(
        "save",
        "delete",
        "enqueue",
        "claim",
        "advance",
        "finish",
        "release",
        "heartbeat",
        "expire_worker",
        "release_job",
        "purge",
    ),
    *("create_conversation", "update_conversation", "delete_conversation", "add_items", "delete_item", "lock"),
    *(
        "unlock",
        "reserve",
        "free_key",
        "put_endpoint",
        "delete_endpoint",
        "due",
        "delivered",
        "postpone",
        "secret",
        "keep_answer",
        "trim_answers",
        "put_api_key",
        "take",
        "charge",
    ),
}
"""The store's methods that are timed."""


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
    _spoken: set[ResponseRecord] = field(default_factory=set)
    """The streams whose model has said something."""

    def spoke(self, call: Call) -> None:
        """See `Observer.spoke`; a response's first token is that of its first call."""
        record = call.record
        if record is not None and record.is_stream and record not in self._spoken:
            self._spoken.add(record)
            took = time.monotonic() - record.began
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
            measures.duration.observe(time.monotonic() - record.began, model)
            measures.responses.values[model, record.outcome] += 1
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


def known(models: ModelRegistry, responses_in_flight: Callable[[], int]) -> list[Known]:
    """Return the figures of responses in flight and of backends, read when they are scraped."""

    def by_backend(of: Callable[[BackendState], float]) -> Callable[[], Mapping[Labels, float]]:
        return lambda: {(served.name,): float(of(served)) for served in models.backends}

    def is_up(served: BackendState) -> bool:
        return served.health.is_up(models.clock())

    def each(name: str, text: str, of: Callable[[BackendState], float], kind: str = "gauge") -> Known:
        return Known(f"antiphon_backend_{name}", text, "backend", look=by_backend(of), kind=kind)

    in_flight = "Responses that are being made."
    return [
        Known("antiphon_responses_in_flight", in_flight, look=lambda: {(): responses_in_flight()}),
        each("in_flight", "Requests that a backend has now.", lambda served: served.slots.in_flight),
        each("queue", "Requests that wait for a backend.", lambda served: served.slots.waiting),
        each("up", "Whether a backend is asked: 0 where it was taken out.", is_up),
        each("ejections", "Times that a backend was taken out.", lambda served: served.health.ejections, "counter"),
    ]


def timed(store: Store, measures: Measures) -> Store:
    """Return the store, whichever it is, with every call timed and every failure counted."""
    return cast("Store", _Timed(store, measures))


class _Timed:
    """Stands before a store. Attributes that are not timed are the store's own."""

    def __init__(self, store: Store, measures: Measures) -> None:
        self._store, self._measures = store, measures

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in READS or name in WRITES:
            found = self._time(name, found)
            setattr(self, name, found)
        return found

    def _time(self, name: str, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        kind, measures = "read" if name in READS else "write", self._measures

        async def timed_act(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            try:
                return await act(*args, **kwargs)
            except StoreError:
                measures.store_errors.add(name)
                raise
            finally:
                measures.store.observe(time.monotonic() - began, kind)

        return timed_act
