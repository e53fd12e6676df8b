"""Spans as they were made, and as a collector gets them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from antiphon.telemetry.metrics import ModelNames
from antiphon.telemetry.otel.collector import Traces
from tests.support.web_app import serving_app


@dataclass
class Seen:
    """Traces that stay in this process; call it to have them begin."""

    content: bool = False
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def __call__(self, names: ModelNames) -> Traces:
        return Traces(SimpleSpanProcessor(self.exporter), names, content=self.content)

    def spans(self) -> list[ReadableSpan]:
        """Those that have ended, in that order."""
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        """The only one of this name."""
        (found,) = (span for span in self.spans() if span.name == name)
        return found


def reported(span: ReadableSpan) -> dict[str, Any]:
    """What a span says."""
    return dict(span.attributes or {})


def is_child(span: ReadableSpan, parent: ReadableSpan) -> bool:
    """Whether one hangs from the other."""
    return span.parent is not None and span.parent.span_id == parent.context.span_id


@dataclass
class Collector:
    """An OTLP receiver over HTTP."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    received: list[ExportTraceServiceRequest] = field(default_factory=list)

    def names(self) -> list[str]:
        """Those of the spans that came."""
        scopes = [
            scope
            for one in self.received
            for resource in one.resource_spans
            for scope in resource.scope_spans
        ]
        return [span.name for scope in scopes for span in scope.spans]

    def resource(self) -> dict[str, str]:
        """Who sent the first of them."""
        attributes = self.received[0].resource_spans[0].resource.attributes
        return {one.key: one.value.string_value for one in attributes}

    async def receive(self, request: web.Request) -> web.Response:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.received.append(ExportTraceServiceRequest.FromString(await request.read()))
        return web.Response(content_type="application/x-protobuf")


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Run a collector on a port of its own."""
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.receive)
    async with serving_app(app) as collector.url:
        yield collector
