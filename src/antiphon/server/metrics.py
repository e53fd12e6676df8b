"""`/metrics`: what every process of this server has counted, in Prometheus's text format."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.engine.measuring import known
from antiphon.errors import ClientError
from antiphon.server.http import Resources, reply
from antiphon.server.local import is_local
from antiphon.server.siblings import Siblings, Topic
from antiphon.telemetry.metrics import Family, Known, families

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


def resources(engine: Engine, siblings: Siblings | None = None) -> Resources:
    """Return what is served under which path; `siblings` are the processes that serve the same port."""

    async def get_metrics(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_local(scope):
            text = "The metrics are shown to this machine alone, not through a proxy."
            raise ClientError(text, status=403, code="metrics_not_allowed")
        from prometheus_client import CONTENT_TYPE_LATEST  # noqa: PLC0415 - loaded for the first who asks

        told = [own(engine, siblings.name if siblings else "0")]
        told += await siblings.others(topic(engine, siblings.name)) if siblings else []
        body = exposition([*chain.from_iterable(told), *await _shared(engine)])
        await reply(send, 200, {"content-type": CONTENT_TYPE_LATEST}, body)

    return {"/metrics": {"GET": get_metrics}}


def topic(engine: Engine, worker: str) -> Topic[list[Family]]:
    """Return the topic of which processes that share a port tell each other."""
    return Topic("metrics", list[Family], lambda: own(engine, worker))


def own(engine: Engine, worker: str) -> list[Family]:
    """Return what this process has counted, under the number that it has among its siblings."""
    return families([*engine.measures.all(), *known(engine)], worker=worker)


async def _shared(engine: Engine) -> list[Family]:
    """What the processes have in common stands in the store, and is told once."""
    waiting = await engine.store.backlog()
    jobs, deliveries = "Background responses that wait to be made.", "Webhooks that wait to be delivered."
    return families(
        [
            Known("antiphon_background_waiting", jobs, look=lambda: {(): waiting.jobs}),
            Known("antiphon_webhooks_waiting", deliveries, look=lambda: {(): waiting.deliveries}),
        ]
    )


def exposition(counted: Iterable[Family]) -> bytes:
    """Return families as text. Those of one name, from several processes, become one."""
    from prometheus_client import generate_latest  # noqa: PLC0415 - loaded for the first who asks
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
