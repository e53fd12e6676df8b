"""Spans of responses, model calls and tool calls, by the GenAI semantic conventions as of autumn
2026.

Their names still change (https://github.com/open-telemetry/semantic-conventions-genai), so they are
in this file only. A span never contains content, or a name that a client invented, unless `content`
is set.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    format_trace_id,
    set_span_in_context,
)

from antiphon.errors import AntiphonError
from antiphon.protocol.chat import KNOWN_CODES
from antiphon.protocol.response import Usage
from antiphon.telemetry.context import note
from antiphon.telemetry.metrics import ModelNames
from antiphon.telemetry.observers import (
    AgentAttempt,
    ObservedCall,
    Observer,
    ResponseRecord,
    StepUse,
    ToolUse,
)
from antiphon.telemetry.otel.content import input_messages, output_messages, tool_definitions
from antiphon.telemetry.otel.serving import carriage, serving
from antiphon.upstream.backend import carried

PROVIDERS = {
    "azure": "azure.ai.openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
}
"""The conventions' name of a family of backends, if it differs from the name here."""

PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
}
"""Numbers of a request to a backend, and their names in `gen_ai.request.…`."""

LARGEST = 2**63
"""Numbers of this size or more cannot be sent to a collector."""

FINISH_REASONS = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}

BACKGROUND = "background response"
MESSAGE = "response.create"
NESTED = "response"
"""Names of the spans of responses without an HTTP request that waits: in the background, on a
WebSocket, and in an agent.
"""

is_in_agent: ContextVar[bool] = ContextVar("is_in_agent", default=False)
"""Whether this task belongs to an agent."""


def place_of(response_id: str) -> SpanContext:
    """Return the root span id of a background response.

    It is derived from the response's id, so that the request that queues it can link to it,
    whichever process runs it.
    """
    digest = hashlib.sha256(response_id.encode()).digest()
    trace_id = int.from_bytes(digest[:16], "big")
    span_id = int.from_bytes(digest[16:24], "big")
    return SpanContext(
        trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


class Ids(RandomIdGenerator):
    """Random ids, except for a span with an id that was fixed before."""

    settled: ContextVar[SpanContext | None] = ContextVar("settled", default=None)

    def generate_trace_id(self) -> int:
        """See `IdGenerator`."""
        settled = self.settled.get()
        return settled.trace_id if settled else super().generate_trace_id()

    def generate_span_id(self) -> int:
        """See `IdGenerator`."""
        settled = self.settled.get()
        return settled.span_id if settled else super().generate_span_id()


class Tracing(Observer):
    """Creates the spans. `names` decides which models are exported by name, `content` whether spans
    contain content.
    """

    def __init__(self, tracer: Tracer, names: ModelNames, *, content: bool = False) -> None:
        self._tracer = tracer
        self._names = names
        self._content = content
        self._responses: dict[ResponseRecord, Span] = {}
        self._calls: dict[ObservedCall, _Request] = {}
        self._uses: dict[ToolUse, Span] = {}
        self._attempts: dict[AgentAttempt, Span] = {}
        self._steps: dict[StepUse, tuple[Span, Token[Context]]] = {}

    def queued(self, response_id: str) -> None:
        """See `Observer.queued`."""
        if (span := serving.get()) is not None:
            span.add_link(place_of(response_id))

    def began(self, record: ResponseRecord) -> None:
        """See `Observer.began`; an HTTP request's span is that of the response that it waits for,
        and that of a model which an agent calls is within its step.
        """
        if is_in_agent.get():
            self._responses[record] = self._begin(NESTED, SpanKind.INTERNAL)
            return
        span = None if record.is_background else serving.get()
        if span is None:
            span = (
                self._begin_queued(BACKGROUND, record.response.id, record.is_resumed)
                if record.is_background
                else self._begin(MESSAGE, SpanKind.SERVER)
            )
            note(trace_id=format_trace_id(span.get_span_context().trace_id))
        self._responses[record] = span

    def requested(self, call: ObservedCall) -> None:
        """See `Observer.requested`; the backend receives the trace context of the call."""
        model = self._model(call)
        url = urlsplit(call.target.backend.url)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": call.operation,
            "gen_ai.provider.name": _provider(call),
            "gen_ai.request.model": model,
            "antiphon.backend": call.backend,
        }
        if url.hostname:
            attributes |= {
                "server.address": url.hostname,
                "server.port": url.port or _port(url.scheme),
            }
        kind = SpanKind.CLIENT if url.hostname else SpanKind.INTERNAL
        span = self._begin(f"{call.operation} {model}", kind, attributes, self._within(call.record))
        carried.set(carriage(span))
        self._calls[call] = _Request(span, call)
        if span.is_recording():
            span.set_attributes(_parameters(call.body))
            if self._content and call.operation == "chat":
                span.set_attribute("gen_ai.input.messages", _stated(input_messages, call.body))
                span.set_attribute("gen_ai.tool.definitions", _stated(tool_definitions, call.body))

    def spoke(self, call: ObservedCall) -> None:
        """See `Observer.spoke`."""
        if call.body.get("stream"):
            requested = self._calls[call]
            requested.span.set_attribute(
                "gen_ai.response.time_to_first_chunk", time.monotonic() - requested.since
            )

    def answered(self, call: ObservedCall) -> None:
        """See `Observer.answered`."""
        requested = self._calls.pop(call)
        span = requested.span
        if call.ending is not None:
            reason = (
                "tool_calls" if call.has_calls else FINISH_REASONS.get(call.ending.outcome, "stop")
            )
            span.set_attribute(
                "gen_ai.response.finish_reasons", [reason if call.error is None else "error"]
            )
            if (usage := call.ending.usage) is not None:
                span.set_attributes(_tokens(usage))
            if call.record is not None and self._content and span.is_recording():
                created = call.record.output()[requested.created :]
                span.set_attribute("gen_ai.output.messages", output_messages(created, reason))
        _end(span, call.error)

    def used(self, use: ToolUse) -> None:
        """See `Observer.used`."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": use.name,
            "gen_ai.tool.type": use.kind,
        }
        if use.call_id is not None:
            attributes["gen_ai.tool.call.id"] = use.call_id
        within = self._within(use.record)
        self._uses[use] = self._begin(
            f"execute_tool {use.name}", SpanKind.INTERNAL, attributes, within
        )

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`."""
        _end(self._uses.pop(use), use.error)

    def agent_began(self, attempt: AgentAttempt) -> None:
        """See `Observer.agent_began`; all that its task does from now on is within its span."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": attempt.agent,
            "gen_ai.response.id": attempt.response_id,
            "antiphon.agent.attempt": attempt.number,
        }
        name = f"invoke_agent {attempt.agent}"
        is_resumed = attempt.number > 1
        span = self._begin_queued(name, attempt.response_id, is_resumed, attributes)
        note(trace_id=format_trace_id(span.get_span_context().trace_id))
        self._attempts[attempt] = span
        attach(set_span_in_context(span))
        is_in_agent.set(True)

    def step_began(self, use: StepUse) -> None:
        """See `Observer.step_began`. Scopes in the key can have content, such as a question."""
        key = use.key if self._content else hashlib.sha256(use.key.encode()).hexdigest()[:16]
        attributes = {
            "antiphon.step.name": use.name,
            "antiphon.step.key": key,
            "antiphon.step.attempt": use.attempt.number,
            "antiphon.step.once": use.is_once,
            "antiphon.step.recorded": use.is_recorded,
        }
        span = self._begin(f"step {use.name}", SpanKind.INTERNAL, attributes)
        self._steps[use] = span, attach(set_span_in_context(span))

    def step_ended(self, use: StepUse) -> None:
        """See `Observer.step_ended`."""
        span, token = self._steps.pop(use)
        detach(token)
        if use.error:
            span.set_attribute("error.type", use.error)
            span.set_status(StatusCode.ERROR)
        span.end()

    def agent_ended(self, attempt: AgentAttempt) -> None:
        """See `Observer.agent_ended`."""
        span = self._attempts.pop(attempt)
        span.set_attribute("antiphon.response.status", attempt.end)
        if attempt.end == "failed":
            span.set_status(StatusCode.ERROR)
        span.end()

    def ended(self, record: ResponseRecord) -> None:
        """See `Observer.ended`."""
        span = self._responses.pop(record)
        response = record.response
        span.set_attribute("gen_ai.response.id", response.id)
        span.set_attribute("gen_ai.response.model", self._names.of(response.model))
        span.set_attribute(
            "antiphon.response.status",
            response.status if record.outcome == "refused" else record.outcome,
        )
        if record.cache is not None:
            span.set_attribute("antiphon.cache", record.cache)
        if response.conversation is not None:
            span.set_attribute("gen_ai.conversation.id", response.conversation.id)
        if response.error is not None:
            span.set_attribute("error.type", _code(response.error.code))
            span.set_status(StatusCode.ERROR)
        if span is not serving.get():
            span.end()

    def _begin_queued(
        self,
        name: str,
        response_id: str,
        is_resumed: bool,
        attributes: Mapping[str, Any] | None = None,
    ) -> Span:
        """Begin at the span that the queuing request links to; a resumed one continues from
        there.
        """
        place = place_of(response_id)
        if is_resumed:
            within = set_span_in_context(NonRecordingSpan(place))
            return self._begin(name, SpanKind.CONSUMER, attributes, within)
        token = Ids.settled.set(place)
        try:
            return self._begin(name, SpanKind.CONSUMER, attributes, Context())
        finally:
            Ids.settled.reset(token)

    def _begin(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, Any] | None = None,
        within: Context | None = None,
    ) -> Span:
        return self._tracer.start_span(name, within, kind, attributes)

    def _within(self, record: ResponseRecord | None) -> Context | None:
        span = serving.get() if record is None else self._responses[record]
        return None if span is None else set_span_in_context(span)

    def _model(self, call: ObservedCall) -> str:
        """Return the requested model, if a client did not choose its name freely."""
        known = self._names.of(call.target.name)
        return call.target.model if known == call.target.name or self._content else known


class _Request:
    """A call in progress: its span, its start, and the number of items before it."""

    def __init__(self, span: Span, call: ObservedCall) -> None:
        self.span, self.since, self.created = (
            span,
            time.monotonic(),
            len(call.record.output()) if call.record else 0,
        )


def _provider(call: ObservedCall) -> str:
    name = call.target.dialect.name
    return PROVIDERS.get(name, name)


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    reported: dict[str, Any] = {
        f"gen_ai.request.{name}": number
        for key, name in PARAMETERS.items()
        if isinstance(number := body.get(key), int | float) and abs(number) < LARGEST
    }
    return {**reported, "gen_ai.request.stream": True} if body.get("stream") else reported


def _stated(report: Callable[[Mapping[str, Any]], str], body: Mapping[str, Any]) -> str:
    """Return the request, empty if it cannot be shown: a client's Chat Completions request is
    passed on unchanged, with any content.
    """
    try:
        return report(body)
    except (LookupError, TypeError, AttributeError, ValueError):
        return ""


def _tokens(usage: Usage) -> dict[str, int]:
    reported = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.input_tokens_details.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.input_tokens_details.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.output_tokens_details.reasoning_tokens,
    }
    return {name: count for name, count in reported.items() if count or name.count(".") == 2}


def _code(code: str) -> str:
    """Return an error's code if it is one of this project: a backend can use any text as a code."""
    return code if code in KNOWN_CODES else "server_error"


def _end(span: Span, error: AntiphonError | None) -> None:
    if error is not None:
        known = error.code in KNOWN_CODES
        span.set_attribute("error.type", str(error.code) if known else str(error.status))
        span.set_status(StatusCode.ERROR)
    span.end()
