"""The parts of one process in use: they start together, and are closed in the reverse order."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from antiphon.build.foundation import Foundation
from antiphon.build.live_backends import LiveBackends
from antiphon.build.parts import ToolParts, parts_of
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.jobs.cleaner import Cleaner
from antiphon.jobs.ingester import Ingester
from antiphon.jobs.profiles import ProfileKeeper
from antiphon.jobs.sums import Summing
from antiphon.jobs.worker import Worker
from antiphon.objects.webhooks import Webhooks
from antiphon.telemetry.loop_watchdog import Blame, LoopWatchdog, nothing_known
from antiphon.upstream.backend import Backend
from antiphon.upstream.poll import Poll
from antiphon.webhooks.courier import Courier, delivery_turns, webhook_reach

if TYPE_CHECKING:
    from antiphon.agents.execution import AgentWorker
    from antiphon.telemetry.otel.collector import Traces


class BackgroundPart(Protocol):
    """A part that works on its own."""

    def start(self) -> None:
        """Start to work, in the running event loop."""
        ...

    async def close(self) -> None:
        """Stop, whether it was started or not."""
        ...


@dataclass(slots=True, eq=False)
class Application:
    """The parts of one process, in use; `close` ends them."""

    parts: Parts
    gateway: Gateway
    endpoints: Webhooks
    backends: LiveBackends
    courier: Courier
    ingester: Ingester
    worker: Worker
    background: list[BackgroundPart]
    """The parts that `start` starts."""
    listing: asyncio.Task[None]
    """The first requests for the models of all backends."""
    traces: "Traces | None"
    closing: AsyncExitStack
    """Closes all parts, the newest first."""

    def start(self) -> None:
        """Start background responses, webhook deliveries, backend polling and the deletion of
        expired data.
        """
        for part in self.background:
            part.start()

    def watch_loop(self, blame: Blame = nothing_known) -> None:
        """Measure from now on how long the event loop is blocked: for a process that owns its
        loop.
        """
        watchdog = LoopWatchdog(self.parts.measures.loop_stalls.observe, blame)
        watchdog.start()
        self.closing.callback(watchdog.close)

    async def drain(self) -> None:
        """Accept no new work, and return background work to the queue.

        Responses that clients wait for continue.
        """
        self.parts.process.drain()
        await self.courier.close()
        await self.ingester.close()
        await self.worker.release_jobs()

    def abort(self) -> None:
        """Fail every response that a client waits for, and abort every replay."""
        self.parts.process.abort()

    async def close(self) -> None:
        """Release everything; all saved data is durable."""
        await self.closing.aclose()


def assemble(
    base: Foundation,
    tools: ToolParts,
    backends: Sequence[Backend],
    listing: asyncio.Task[None],
    traces: "Traces | None",
    closing: AsyncExitStack,
    agents: "AgentWorker | None" = None,
) -> Application:
    """Return the application of these parts.

    `closing` closes the store; all that is made here is closed before it.
    """
    parts = parts_of(base, tools)
    settings = base.settings
    _close_at_end(closing, base, parts)
    profiles = ProfileKeeper(base.store, base.models, base.now, probes=settings.probe == "auto")
    live = LiveBackends(backends, base.models, profiles)
    closing.push_async_callback(live.close)
    closing.push_async_callback(_cancel, listing)
    reach = webhook_reach(allows_private=settings.webhook_private_addresses, resolve=base.resolve)
    turns = base.shared.add("webhook_deliveries", delivery_turns())
    courier = Courier(base.store, base.now, reach, turns=turns, count=base.measures.webhooks.add)
    worker = Worker(parts.jobs, settings.background_jobs, settings.background_jobs_per_tenant)
    if agents is not None:
        agents.join(worker)
    ingester = Ingester(parts.ingestion)
    background: list[BackgroundPart] = [*_upkeep(base, parts), profiles, worker, ingester, courier]
    for part in background:
        closing.push_async_callback(part.close)
    closing.callback(base.process.drain)
    per_tenant = settings.webhook_endpoints_per_tenant
    return Application(
        parts,
        Gateway(parts),
        Webhooks(base.store, courier, base.new_id, base.now, reach, per_tenant),
        live,
        courier,
        ingester,
        worker,
        background,
        listing,
        traces,
        closing,
    )


def _close_at_end(closing: AsyncExitStack, base: Foundation, parts: Parts) -> None:
    closing.callback(base.offload.close)
    if parts.run.facts is not None:
        closing.push_async_callback(parts.run.facts.close)
    closing.push_async_callback(base.meter.close)
    closing.push_async_callback(parts.images.close)
    closing.push_async_callback(parts.run.toolset.close)


def _upkeep(base: Foundation, parts: Parts) -> Sequence[BackgroundPart]:
    """Return what keeps the store and the knowledge of the backends up to date."""
    settings = base.settings

    async def delete_blobs(stale: Sequence[str]) -> None:
        await parts.objects.files.get().delete_blobs(stale)

    return [
        *([Summing(base.store)] if settings.facts else []),
        Cleaner(base.store, settings.purge_fraction, parts.upkeep, base.retention, delete_blobs),
        *([Poll(base.models, settings.check_interval)] if settings.check_interval else []),
    ]


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
