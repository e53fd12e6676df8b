"""For programs that watch the server: `/healthz`, `/readyz`, `/metrics` and `/status`.

`/healthz`: the process lives. `/readyz`: it can serve, its store answers and a backend was reached. `/metrics`: what
every process of this server has counted, in Prometheus's text format. `/status`: the state of the backends,
and what tenants have stored.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from itertools import chain
from typing import TYPE_CHECKING

from antiphon.errors import ClientError
from antiphon.gateway import Gateway, Status
from antiphon.server.asgi import Scope
from antiphon.server.reply import Reply, Resources, json_reply
from antiphon.server.request import HttpRequest
from antiphon.server.uvicorn.workers import Topic, Workers
from antiphon.telemetry.metrics import Family

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"}
"""Headers by which a proxy on this machine says that it asks for somebody else."""


def resources(gateway: Gateway, workers: Workers | None = None, *, has_metrics: bool = True) -> Resources:
    """Return what is served under which path; `workers` are the processes that serve the same port."""
    api = _Operations(gateway, workers)
    paths = {"/healthz": {"GET": api.is_alive}, "/readyz": {"GET": api.is_ready}, "/status": {"GET": api.get_status}}
    return {**paths, "/metrics": {"GET": api.get_metrics}} if has_metrics else paths


def metrics_topic(gateway: Gateway, worker: str) -> Topic[list[Family]]:
    """Return the topic of which processes that share a port tell each other what they have counted."""
    return Topic("metrics", list[Family], lambda: gateway.measured(worker))


def status_topic(gateway: Gateway) -> Topic[Status]:
    """Return the topic of which they tell each other the state of their backends."""
    return Topic("status", Status, gateway.status)


def is_local(scope: Scope) -> bool:
    """Whether a program of this machine asks, for itself. On a Unix socket there is no address: the file guards it."""
    if any(name in FORWARDED for name, _ in scope["headers"]):
        return False
    client, server = scope.get("client"), scope.get("server")
    if client and server and client[0] == server[0]:
        return True  # an address of this machine's own, that others reach it by
    try:
        return not client or ip_address(client[0].removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


class _Operations:
    def __init__(self, gateway: Gateway, workers: Workers | None) -> None:
        self._gateway, self._workers = gateway, workers

    async def is_alive(self, http: HttpRequest) -> Reply:
        return json_reply({"status": "ok"})

    async def is_ready(self, http: HttpRequest) -> Reply:
        gateway = self._gateway
        checks = {"store": await gateway.store_answers(), "backends": await gateway.backend_answers()}
        if not await gateway.keys_are_usable():
            checks["keys"] = False
        if not gateway.takes_work:
            checks["stopping"] = True
        ready = gateway.takes_work and all(checks.values())
        return json_reply({"status": "ok" if ready else "unavailable", **checks}, status=200 if ready else 503)

    async def get_metrics(self, http: HttpRequest) -> Reply:
        if not is_local(http.scope):
            text = "The metrics are shown to this machine alone, not through a proxy."
            raise ClientError(text, status=403, code="metrics_not_allowed")
        from prometheus_client import CONTENT_TYPE_LATEST  # noqa: PLC0415 - loaded for the first scrape

        gateway, workers = self._gateway, self._workers
        told = [gateway.measured(workers.name if workers else "0")]
        told += await workers.others(metrics_topic(gateway, workers.name)) if workers else []
        body = exposition([*chain.from_iterable(told), *await gateway.backlog()])
        return Reply(200, [(b"content-type", CONTENT_TYPE_LATEST.encode())], body)

    async def get_status(self, http: HttpRequest) -> Reply:
        if not is_local(http.scope):
            text = "The status is shown to this machine alone, not through a proxy."
            raise ClientError(text, status=403, code="status_not_allowed")
        others = await self._workers.others(status_topic(self._gateway)) if self._workers else []
        return json_reply(await self._gateway.status_of_all(others))


def exposition(counted: Iterable[Family]) -> bytes:
    """Return families as text. Those of one name, from several processes, become one."""
    from prometheus_client import generate_latest  # noqa: PLC0415 - loaded for the first scrape
    from prometheus_client.metrics_core import Metric  # noqa: PLC0415

    metrics: dict[str, Metric] = {}
    for family in counted:
        metric = metrics.setdefault(family.name, Metric(family.name, family.text, family.kind))
        for sample in family.samples:
            metric.add_sample(family.name + sample.suffix, sample.labels, sample.value)
    return generate_latest(_Collected(list(metrics.values())))


class _Collected:
    """What `prometheus_client` asks for metrics that were collected already."""

    def __init__(self, metrics: "Sequence[Metric]") -> None:
        self._metrics = metrics

    def collect(self) -> "Sequence[Metric]":
        return self._metrics
