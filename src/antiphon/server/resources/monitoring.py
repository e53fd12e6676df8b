"""Endpoints for monitoring: `/healthz`, `/readyz`, `/metrics` and `/status`.

`/healthz`: the process is alive. `/readyz`: it can serve: its store answers and a backend was
reached. `/metrics`: the counters of all processes of this server, in Prometheus's text format.
`/status`: the state of the backends, and the tenants that store most. `server/watchers.py` decides
who can read the last two.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from msgspec.structs import replace

from antiphon.errors import ClientError, StoreError
from antiphon.gateway import Gateway, Status
from antiphon.http_server.workers import Workers, WorkerTopic
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.watchers import HOW, WatchAccess
from antiphon.telemetry.exposition import CONTENT_TYPE, exposition
from antiphon.telemetry.kinds import Family

STORE_PATIENCE = 2.0
"""Seconds for the store to report its queues: an unavailable store must not hide the other
metrics.
"""


def resources(
    gateway: Gateway,
    workers: Workers | None = None,
    *,
    has_metrics: bool = True,
    access: WatchAccess | None = None,
) -> Resources:
    """Return the endpoints by path; `workers` are the processes that serve the same port."""
    api = _Monitoring(gateway, workers, access or WatchAccess())
    paths = {
        "/healthz": {"GET": api.is_alive},
        "/readyz": {"GET": api.is_ready},
        "/status": {"GET": api.get_status},
    }
    return {**paths, "/metrics": {"GET": api.get_metrics}} if has_metrics else paths


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    status = "Get the status of the backends, and the tenants that store most"
    return (
        Described("get", "/healthz", "Check that the process is alive"),
        Described("get", "/readyz", "Can it serve"),
        Described("get", "/metrics", "Get metrics for Prometheus", media="text/plain"),
        Described("get", "/status", status),
    )


def metrics_topic(gateway: Gateway, worker: str) -> WorkerTopic[list[Family]]:
    """Return the topic for counters that processes of one port exchange."""
    return WorkerTopic("metrics", list[Family], lambda: gateway.metrics.here(worker))


def status_topic(gateway: Gateway, *, serves: bool = True) -> WorkerTopic[Status]:
    """Return the topic for the state of backends that they exchange; a process that only runs
    agents does not serve the port.
    """
    return WorkerTopic(
        "status", Status, lambda: replace(gateway.status.here(), workers=int(serves))
    )


class _Monitoring:
    def __init__(self, gateway: Gateway, workers: Workers | None, access: WatchAccess) -> None:
        self._gateway = gateway
        self._workers = workers
        self._access = access

    async def is_alive(self, http: HttpRequest) -> Reply:
        return Reply({"status": "ok"})

    async def is_ready(self, http: HttpRequest) -> Reply:
        gateway = self._gateway
        readiness = self._gateway.readiness
        checks = {
            "store": await readiness.store_answers(),
            "backends": await readiness.backend_answers(),
        }
        if not await readiness.keys_are_usable():
            checks["keys"] = False
        if not gateway.process.accepts_work:
            checks["stopping"] = True
        ready = gateway.process.accepts_work and all(checks.values())
        return Reply(
            {"status": "ok" if ready else "unavailable", **checks}, status=200 if ready else 503
        )

    async def get_metrics(self, http: HttpRequest) -> Reply:
        if not await self._may_read(http):
            text = f"The metrics of this server are not shown to this client. {HOW}"
            raise ClientError(text, status=403, code="metrics_not_allowed")
        gateway = self._gateway
        workers = self._workers
        reported = [gateway.metrics.here(workers.name if workers else "0")]
        reported += await workers.others(metrics_topic(gateway, workers.name)) if workers else []
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(STORE_PATIENCE):
                reported.append(await gateway.metrics.backlog())
        pieces = []
        for piece in exposition(chain.from_iterable(reported)):
            pieces.append(piece)
            await asyncio.sleep(0)  # many models make a long text: let other requests run
        return Reply("".join(pieces).encode(), [(b"content-type", CONTENT_TYPE)])

    async def get_status(self, http: HttpRequest) -> Reply:
        if not await self._may_read(http):
            text = f"The status of this server is not shown to this client. {HOW}"
            raise ClientError(text, status=403, code="status_not_allowed")
        others = await self._workers.others(status_topic(self._gateway)) if self._workers else []
        return Reply(await self._gateway.status.of_all(others))

    async def _may_read(self, http: HttpRequest) -> bool:
        access = self._access
        needs_key = not access.is_listener and await self._gateway.known_keys.are_needed()
        return access.allows(http.scope, needs_key=needs_key)
