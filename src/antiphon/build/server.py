"""Builds the parts of a server from the settings."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from antiphon import ids
from antiphon.access.api_keys import KeyMemory
from antiphon.access.keyring import CIPHERS, Keyring, read_key
from antiphon.access.spending import warn_of_unpriced
from antiphon.build.backends import backends_of
from antiphon.build.code import open_sandbox
from antiphon.build.engine import engine_of
from antiphon.build.files import check_files
from antiphon.build.images import images_key, images_of, images_router
from antiphon.build.keys import open_keyring
from antiphon.build.tools import toolset_of
from antiphon.build.tracing import tracing_of
from antiphon.config import Settings
from antiphon.errors import StoreError
from antiphon.jobs.cleaner import Cleaner
from antiphon.jobs.ingester import Ingester
from antiphon.jobs.profiles import ProfileKeeper
from antiphon.jobs.sums import Summing
from antiphon.jobs.worker import Worker
from antiphon.objects.webhooks import Webhooks
from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.packages import require_module
from antiphon.runs.engine import Engine
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.large_reads import shared_reads
from antiphon.storage.open import open_store
from antiphon.storage.store import Store
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.loop_watchdog import LoopWatchdog
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from antiphon.telemetry.store_metrics import observe_store
from antiphon.telemetry.timeline import Timeline
from antiphon.upstream.backend import Backend
from antiphon.upstream.poll import Poll
from antiphon.upstream.registry import ModelRegistry
from antiphon.webhooks.courier import Courier, delivery_turns, webhook_reach

if TYPE_CHECKING:
    from antiphon.telemetry.otel.collector import Traces

FIRST_LOOK = 0.8
"""Seconds that start-up waits for the lists of models; slower backends are listed after they answer."""


@dataclass(slots=True)
class Application:
    """The parts of one server, in use; `close` ends them."""

    engine: Engine
    backends: Sequence[Backend]
    worker: Worker
    courier: Courier
    endpoints: Webhooks
    listing: asyncio.Task[None]
    watch: Poll | None = None
    cleaner: Cleaner | None = None
    summing: Summing | None = None
    traces: "Traces | None" = None
    watchdog: LoopWatchdog | None = None
    profiles: ProfileKeeper | None = None
    ingester: Ingester | None = None
    _gone: list[Backend] = field(default_factory=list)
    """Backends that receive no new requests; some answers may still be in flight."""

    def start(self) -> None:
        """Start background responses, webhook deliveries, backend polling and the deletion of expired data."""
        self.worker.start()
        if self.ingester is not None:
            self.ingester.start()
        self.courier.start()
        if self.profiles is not None:
            self.profiles.start()
        if self.watchdog is not None:
            self.watchdog.start()
        if self.watch is not None:
            self.watch.start()
        if self.cleaner is not None:
            self.cleaner.start()
        if self.summing is not None:
            self.summing.start()

    async def reload_backends(self, settings: Settings, environment: Mapping[str, str] | None = None) -> None:
        """Apply the backends of new settings; running requests finish with the old ones. Raises `ConfigError`.

        Other changes take effect at the next start.
        """
        environment = os.environ if environment is None else environment
        line = await backends_of(settings, environment, self.backends)
        kept = set(map(id, line.backends))
        self._gone += [one for one in self.backends if id(one) not in kept]
        self.engine.models.assign(line.backends, line.dialects, line.shares, settings.fallback)
        self.backends = line.backends
        await self.engine.models.refresh()
        if self.profiles is not None:
            with suppress(StoreError):  # the next look comes
                await self.profiles.load()

    async def drain(self) -> None:
        """Accept no new work, and return background work to the queue. Responses that clients wait for continue."""
        self.engine.drain()
        await self.courier.close()
        if self.ingester is not None:
            await self.ingester.close()
        await self.worker.release_jobs()

    def abort(self) -> None:
        """Fail every response that a client waits for, and abort every replay."""
        self.engine.abort()

    async def close(self) -> None:
        """Release everything; all saved data is durable."""
        await self.drain()
        await self.worker.close()
        if self.profiles is not None:
            await self.profiles.close()
        self.listing.cancel()
        with suppress(asyncio.CancelledError):
            await self.listing
        if self.watch is not None:
            await self.watch.close()
        if self.cleaner is not None:
            await self.cleaner.close()
        if self.summing is not None:
            await self.summing.close()
        for backend in (*self.backends, *self._gone):
            await backend.close()
        await self.engine.toolset.close()
        await self.engine.close_images()
        await self.engine.meter.close()
        if self.engine.facts is not None:
            await self.engine.facts.close()
        self.engine.offload.close()
        if self.watchdog is not None:
            self.watchdog.close()
        await self.engine.store.close()
        if self.traces is not None:
            await self.traces.close()


async def build(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    key_memory: KeyMemory | None = None,
    *,
    backends: Sequence[Backend] = (),
) -> Application:
    """Return the parts of these settings. Raises `ConfigError`.

    Without a backend in the settings, `backends` are used, or else those found on this machine. `key_memory`
    outlives this process: if it says that API keys existed, requests need one from the beginning.
    """
    environment = os.environ if environment is None else environment
    keys = [read_key(key) for key in settings.seal_keys]
    if keys:
        require_module(CIPHERS, "The setting seal_keys")
    check_files(settings)
    begin_traces = tracing_of(settings, environment)
    shared, measures = SharedResources(), Measures()
    look_up = Lookups(shared.add("dns_lookups", lookup_turns()))
    code = await open_sandbox(settings, environment)
    toolset = toolset_of(
        settings,
        environment,
        shared,
        look_up,
        measures,
        search=lambda: engine.search,
        code=code.tools(lambda: engine) if code is not None else None,
        images=images_of(settings, lambda: engine),
    )
    line = await backends_of(settings, environment, own=backends)
    reads = shared.add("reads", shared_reads())
    store, keyring = await _open_store(settings, keys, reads, measures)
    models = ModelRegistry(line.backends, ids.now, line.dialects, line.shares, settings.fallback)
    listing = asyncio.create_task(models.refresh())
    await asyncio.wait({listing}, timeout=FIRST_LOOK)
    engine = engine_of(settings, models, store, toolset, keyring, measures, shared, reads, look_up)
    engine.code_state = code.state if code is not None else None
    engine.open_images = partial(images_router, settings, images_key(settings, environment))
    if key_memory is not None:
        await engine.api_keys.remember_in(key_memory)
    with suppress(StoreError):  # a server starts without the warning
        await warn_of_unpriced(store, models)
    traces = _observe(engine, settings, begin_traces)
    profiles = ProfileKeeper(store, models, ids.now, probes=settings.probe == "auto")
    with suppress(StoreError):  # a server starts without them
        await profiles.load()
    worker = Worker(engine, settings.background_jobs, settings.background_jobs_per_tenant)
    reach = webhook_reach(allows_private=settings.webhook_private_addresses, look_up=look_up)
    deliveries = shared.add("webhook_deliveries", delivery_turns())
    courier = Courier(store, ids.now, reach, turns=deliveries, count=measures.webhooks.add)
    endpoints = Webhooks(store, courier, ids.new_id, ids.now, reach, settings.webhook_endpoints_per_tenant)
    watch = Poll(models, settings.check_interval) if settings.check_interval else None
    delete_blobs = partial(_delete_blobs, engine)
    cleaner = Cleaner(store, settings.purge_fraction, engine.upkeep, engine.retention, delete_blobs)
    watchdog = LoopWatchdog(measures.loop_stalls.observe)
    summing = Summing(store) if settings.facts else None
    return Application(
        engine,
        line.backends,
        worker,
        courier,
        endpoints,
        listing,
        watch,
        cleaner,
        summing,
        traces,
        watchdog,
        profiles,
        Ingester(engine),
    )


async def _delete_blobs(engine: Engine, stale: Sequence[str]) -> None:
    await engine.files.delete_blobs(stale)


async def _open_store(
    settings: Settings, keys: Sequence[bytes], reads: FairScheduler, measures: Measures
) -> tuple[Store, Keyring]:
    store = await open_store(settings.store, settings.store_connections, reads, is_written=True)
    observe_store(store, measures)
    try:
        keyring = await open_keyring(store, keys)
        with suppress(StoreError):  # from the first request on, data expires by the store's clock
            await store.clock_skew()
    except BaseException:
        await store.close()
        raise
    return store, keyring


def _observe(
    engine: Engine, settings: Settings, begin_traces: "Callable[[ModelNames], Traces] | None"
) -> "Traces | None":
    """Log, count and trace the engine's responses, according to the settings."""
    engine.observers.add(AccessLog())
    names = ModelNames(engine.models)
    if engine.facts is not None:
        engine.observers.add(Timeline(keeps_bodies=settings.console_bodies))
    if settings.metrics:
        engine.observers.add(ResponseMetrics(engine.measures, names, time.monotonic))
    if settings.metrics and settings.metrics_tenants:
        from antiphon.telemetry.tenants import TenantMetrics  # noqa: PLC0415 - few servers have them

        engine.observers.add(TenantMetrics(engine.measures, settings.metrics_tenants))
    traces = begin_traces(names) if begin_traces else None
    if traces is not None:
        engine.observers.add(traces.observer)
    return traces
