"""A span for every request: continues the trace of the caller, and is the parent of all work for
it.
"""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any

from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    format_trace_id,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from antiphon.telemetry.context import About, about, begin
from antiphon.upstream.backend import carried

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application as the ASGI specification has it."""

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}

OTHER_METHOD = "_OTHER"
"""The conventions' name for an unknown method."""

serving: ContextVar[Span | None] = ContextVar("serving", default=None)
"""The span of the HTTP request that this task answers."""

_w3c = TraceContextTextMapPropagator()


def carriage(span: Span) -> dict[str, str]:
    """Return the headers that continue a span's trace, `traceparent` and possibly `tracestate`."""
    headers: dict[str, str] = {}
    _w3c.inject(headers, set_span_in_context(span))
    return headers


class TracedRequests:
    """An ASGI application around this project's.

    A span has the route, not the path, which can contain any text.
    """

    def __init__(self, app: AsgiApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request within a span of its own; on a WebSocket each response has one."""
        if scope["type"] == "websocket":
            token = contexts.attach(_w3c.extract(scope, getter=_headers))
            try:
                await self._app(scope, receive, send)
            finally:
                contexts.detach(token)
        elif scope["type"] == "http" and scope["path"].startswith("/v1/"):
            await self._serve(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
        span = self._start(method, _w3c.extract(scope, getter=_headers))
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        tokens = serving.set(span), carried.set(carriage(span))
        begin(About(trace_id=format_trace_id(span.get_span_context().trace_id)))
        try:
            await self._app(scope, receive, watched)
        finally:
            serving.reset(tokens[0])
            carried.reset(tokens[1])
            _finish(span, method, getattr(scope.get("route"), "path_format", ""), status)

    def _start(self, method: str, context: Context) -> Span:
        return self._tracer.start_span(
            method, context, SpanKind.SERVER, {"http.request.method": method}
        )


def _finish(span: Span, method: str, route: str, status: int) -> None:
    if route:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
    if status:
        span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(StatusCode.ERROR)
    span.set_attribute("antiphon.request.id", about().request_id)
    span.end()


class _Headers(Getter[Scope]):
    """Reads an ASGI scope's headers."""

    def get(self, carrier: Scope, key: str) -> list[str] | None:
        return [
            value.decode("latin-1") for name, value in carrier["headers"] if name == key.encode()
        ] or None

    def keys(self, carrier: Scope) -> Sequence[str]:  # type: ignore[override]
        return [name.decode("latin-1") for name, _ in carrier["headers"]]


_headers = _Headers()
