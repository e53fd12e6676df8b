"""Logs, counts and traces responses, according to the settings."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from antiphon.config import Settings
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.agents import AgentMetrics
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from antiphon.telemetry.observers import Observers
from antiphon.telemetry.timeline import Timeline
from antiphon.upstream.registry import ModelRegistry

if TYPE_CHECKING:
    from antiphon.telemetry.otel.collector import Traces

BeginTraces = Callable[[ModelNames], "Traces"]


def observers_of(
    settings: Settings,
    models: ModelRegistry,
    measures: Measures,
    begin_traces: "BeginTraces | None" = None,
) -> "tuple[Observers, Traces | None]":
    """Return the observers of all responses, and the traces that one of them writes, if any."""
    observers = Observers()
    names = ModelNames(models)
    observers.add(AccessLog())
    if settings.facts:
        observers.add(Timeline(keeps_bodies=settings.console_bodies))
    if settings.metrics:
        observers.add(ResponseMetrics(measures, names, time.monotonic))
        observers.add(AgentMetrics(measures))
    if settings.metrics and settings.metrics_tenants:
        from antiphon.telemetry.tenants import TenantMetrics  # noqa: PLC0415 - few servers have them

        observers.add(TenantMetrics(measures, settings.metrics_tenants))
    traces = begin_traces(names) if begin_traces is not None else None
    if traces is not None:
        observers.add(traces.observer)
    return observers, traces
