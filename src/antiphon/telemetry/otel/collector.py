"""Sends spans to a collector, by OTLP over HTTP, in batches from a separate thread."""

import asyncio

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from antiphon.telemetry.metrics import ModelNames
from antiphon.telemetry.otel.serving import AsgiApp, TracedRequests
from antiphon.telemetry.otel.spans import Ids, Tracing
from antiphon.version import __version__


class Traces:
    """Traces of one process, from now until `close`.

    `observer` receives responses, `around` wraps requests.
    """

    def __init__(
        self, processor: SpanProcessor, names: ModelNames, *, content: bool = False
    ) -> None:
        self._provider = TracerProvider(
            resource=_resource(), id_generator=Ids(), shutdown_on_exit=False
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("antiphon", __version__)
        self.observer = Tracing(self._tracer, names, content=content)

    def around(self, app: AsgiApp) -> AsgiApp:
        """Return the application with a span around every request."""
        return TracedRequests(app, self._tracer)

    async def close(self) -> None:
        """Send the remaining spans, for some seconds at most."""
        await asyncio.to_thread(self._provider.shutdown)


def traces_to(url: str, names: ModelNames, *, content: bool = False) -> Traces:
    """Return traces that are sent to the collector at this URL, which ends in `/v1/traces`.

    The variables of the OpenTelemetry SDK configure it (`OTEL_EXPORTER_OTLP_HEADERS`,
    `OTEL_TRACES_SAMPLER` and so on).
    """
    return Traces(BatchSpanProcessor(OTLPSpanExporter(url)), names, content=content)


def _resource() -> Resource:
    own = Resource({"service.name": "antiphon", "service.version": __version__})
    return Resource.create(own.merge(OTELResourceDetector().detect()).attributes)
