"""All metrics of a process, as they are when they are scraped, and those that all processes have in
common.
"""

from collections.abc import Callable, Sized

from antiphon.sharing.resources import SharedResources
from antiphon.status.agent_status import agents_of
from antiphon.status.code_status import CodeStatus
from antiphon.status.upkeep import Upkeep
from antiphon.storage.operations import container_counts, jobs, leases
from antiphon.storage.store import Store
from antiphon.telemetry.agents import agent_metrics
from antiphon.telemetry.code import code_metrics
from antiphon.telemetry.kinds import Family, ObservedNumbers, families
from antiphon.telemetry.metrics import Measures, known
from antiphon.telemetry.process import process_metrics
from antiphon.telemetry.store_metrics import store_metrics
from antiphon.upstream.registry import ModelRegistry


class Scrape:
    """The metrics of this process.

    `runs` has its running responses; `code` returns the state of its sandbox.

    `lead` is the time in seconds before the end of its window from which a deferred job no longer
    waits.
    """

    def __init__(
        self,
        measures: Measures,
        models: ModelRegistry,
        runs: Sized,
        shared: SharedResources,
        upkeep: Upkeep,
        code: Callable[[], CodeStatus | None],
        store: Store,
        lead: int,
    ) -> None:
        self._measures = measures
        self._models = models
        self._runs = runs
        self._shared = shared
        self._upkeep = upkeep
        self._code = code
        self._store = store
        self._lead = lead

    def here(self, worker: str) -> list[Family]:
        """Return the metrics of this process, labelled with its name."""
        read = known(self._models, lambda: len(self._runs), self._shared.usage)
        known_here = [*read, *code_metrics(self._code), *upkeep_metrics(self._upkeep)]
        counted = [*self._measures.all(), *store_metrics(self._store)]
        return families([*counted, *known_here, *process_metrics()], worker=worker)

    async def backlog(self) -> list[Family]:
        """Return the metrics that all processes have in common, since they are in the store.

        Raises `StoreError`.
        """
        waiting = await self._store.read(jobs.backlog, self._lead)
        containers = await self._store.read(container_counts.running)
        agents = agents_of(await self._store.read(leases.agent_load))
        queued = "Background responses in the queue."
        deliveries = "Webhooks in the outbox."
        deferred = "Background responses in the queue that can wait for idle slots."
        overdue = "Background responses that still wait after their window."
        running = "Containers that have not expired."
        return families(
            [
                ObservedNumbers(
                    "antiphon_background_waiting", queued, poll_once=lambda: {(): waiting.jobs}
                ),
                ObservedNumbers(
                    "antiphon_background_deferred",
                    deferred,
                    poll_once=lambda: {(): waiting.deferred},
                ),
                ObservedNumbers(
                    "antiphon_background_overdue", overdue, poll_once=lambda: {(): waiting.overdue}
                ),
                ObservedNumbers(
                    "antiphon_webhooks_waiting",
                    deliveries,
                    poll_once=lambda: {(): waiting.deliveries},
                ),
                ObservedNumbers(
                    "antiphon_containers_running",
                    running,
                    poll_once=lambda: {(): float(containers)},
                ),
                *agent_metrics(agents),
            ]
        )


def upkeep_metrics(upkeep: Upkeep) -> list[ObservedNumbers]:
    """Return what the upkeep of the store reports."""
    ahead = "Seconds by which a process's clock is ahead of the store's."
    retained = "Stored responses that have expired, if they are too many for one purge."
    full = "Whether the disk of the store has no room: 1 or 0."
    failovers = "Times that another database server took over, by whether its log was complete."
    return [
        ObservedNumbers(
            "antiphon_store_failovers",
            failovers,
            "log",
            poll_once=lambda: {
                ("complete",): upkeep.complete_failovers,
                ("older",): upkeep.older_failovers,
            },
            kind="counter",
        ),
        ObservedNumbers(
            "antiphon_disk_full", full, poll_once=lambda: {(): float(upkeep.is_disk_full)}
        ),
        ObservedNumbers(
            "antiphon_clock_skew_seconds", ahead, poll_once=lambda: {(): upkeep.clock_skew}
        ),
        ObservedNumbers(
            "antiphon_purge_held", retained, poll_once=lambda: {(): float(upkeep.purge_held)}
        ),
    ]
