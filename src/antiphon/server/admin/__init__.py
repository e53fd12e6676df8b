"""`/admin/v1`, the API of the console: one file per resource, loaded by the first request."""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.http_server.workers import Workers
from antiphon.server.admin import (
    backends,
    containers,
    conversations,
    deferred_responses,
    figures,
    files,
    finding,
    keys,
    lessons,
    reports,
    responses,
    saved_views,
    session,
    webhook_deliveries,
)
from antiphon.server.reply import Resources

MODULES = (
    session,
    responses,
    saved_views,
    finding,
    figures,
    keys,
    webhook_deliveries,
    conversations,
    files,
    containers,
    reports,
    lessons,
    deferred_responses,
    backends,
)


def resources(gateway: Gateway, workers: Workers | None = None) -> Sequence[Resources]:
    """Return all endpoints under `/admin/v1`; `workers` are the processes that serve the same
    port.
    """
    others = [part.resources(gateway) for part in MODULES if part is not backends]
    return [*others, backends.resources(gateway, workers)]
