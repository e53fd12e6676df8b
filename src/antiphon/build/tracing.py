"""Builds the tracing of the settings."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from antiphon.config import Settings, check_collector
from antiphon.errors import redacted
from antiphon.extras import require
from antiphon.telemetry.metrics import ModelNames

if TYPE_CHECKING:
    from antiphon.telemetry.otel.collector import Traces


WHOLE, BASE = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variables of OpenTelemetry with the URL that receives traces, and with that of the
collector.
"""


def tracing_of(
    settings: Settings, environment: Mapping[str, str]
) -> "Callable[[ModelNames], Traces] | None":
    """Return the factory of traces, or None without a collector.

    Raises `ConfigError` if tracing cannot be set up.
    """
    url = collector_of(settings.trace_endpoint, environment)
    if not url:
        return None
    require("otel", f"Sending traces to {redacted(url)}")
    from antiphon.telemetry.otel.collector import traces_to  # noqa: PLC0415 - an extra, and slow to load

    return partial(traces_to, url, content=settings.trace_content)


def collector_of(endpoint: str, environment: Mapping[str, str]) -> str:
    """Return the URL of the collector, from the setting or the variables of OpenTelemetry; empty
    for none.

    Raises `ConfigError` for an invalid URL: the exporter would only log each batch that it cannot
    send.
    """
    if (
        environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environment.get("OTEL_TRACES_EXPORTER") == "none"
    ):
        return ""
    urls = {
        "trace_endpoint": endpoint,
        **{name: environment.get(name, "") for name in (WHOLE, BASE)},
    }
    name, url = next(((name, url) for name, url in urls.items() if url), ("", ""))
    if not url:
        return ""
    check_collector(url, name)
    return url if name == WHOLE else f"{url.rstrip('/')}/v1/traces"
