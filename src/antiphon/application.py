"""Settings become parts: the only file that knows them all."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon import ids
from antiphon.access.api_keys import KeyMemory
from antiphon.access.keyring import Keyring, new_key, read_key
from antiphon.cache.cache import Room
from antiphon.cache.semantic import Similarity
from antiphon.config import BackendConfig, Settings, check_url, clean_key, key_of
from antiphon.errors import ConfigError, StoreError
from antiphon.jobs.cleaner import Cleaner
from antiphon.jobs.worker import Worker
from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.outbound.ssrf import LookUp, Reach, read_networks
from antiphon.runs.bounds import Bounds
from antiphon.runs.engine import Engine
from antiphon.sharing.resources import SharedResources
from antiphon.storage.contract import Store
from antiphon.storage.open import open_store
from antiphon.storage.sql_store import shared_reads
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.loop_watchdog import LoopWatchdog
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from antiphon.telemetry.store_metrics import timed
from antiphon.tools.mcp.servers import McpServers
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects.table import tell_dialect
from antiphon.upstream.backend import Backend
from antiphon.upstream.backend_state import BackendOptions
from antiphon.upstream.discover import discover, named_by_environment
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.http1.connect import TlsFiles
from antiphon.upstream.poll import Poll
from antiphon.upstream.registry import ModelRegistry
from antiphon.webhooks.courier import Courier, delivery_turns, webhook_reach
from antiphon.webhooks.endpoints import Endpoints

if TYPE_CHECKING:
    from antiphon.telemetry.otel.collector import Traces
    from antiphon.tools.web.tool import WebSearch

FIRST_LOOK = 0.8
"""Seconds that start-up waits for the lists of models; slower backends are listed when they answer."""


@dataclass(slots=True)
class Application:
    """The parts of one server, in use; `close` ends them."""

    engine: Engine
    backends: Sequence[Backend]
    worker: Worker
    courier: Courier
    endpoints: Endpoints
    listing: asyncio.Task[None]
    watch: Poll | None = None
    cleaner: Cleaner | None = None
    traces: "Traces | None" = None
    watchdog: LoopWatchdog | None = None
    _gone: list[Backend] = field(default_factory=list)
    """Backends that are asked no longer; answers of theirs may still be on their way."""

    def start(self) -> None:
        """Begin to make background responses, deliver webhooks, poll the backends and delete what has expired."""
        self.worker.start()
        self.courier.start()
        if self.watchdog is not None:
            self.watchdog.start()
        if self.watch is not None:
            self.watch.start()
        if self.cleaner is not None:
            self.cleaner.start()

    async def reload_backends(self, settings: Settings, environment: Mapping[str, str] | None = None) -> None:
        """Take over the backends of new settings; what is under way ends as it began. Raises `ConfigError`.

        Everything else that differs is taken over by the next start.
        """
        environment = os.environ if environment is None else environment
        line = await _backends(settings, environment, self.backends)
        kept = set(map(id, line.backends))
        self._gone += [one for one in self.backends if id(one) not in kept]
        self.engine.models.assign(line.backends, line.dialects, line.shares, settings.fallback)
        self.backends = line.backends
        await self.engine.models.refresh()

    async def drain(self) -> None:
        """Take no new work, and put background work back into the queue. What clients wait for goes on."""
        self.engine.drain()
        await self.courier.close()
        await self.worker.release_jobs()

    def abort(self) -> None:
        """Have every response that a client waits for fail, and break off every replay."""
        self.engine.abort()

    async def close(self) -> None:
        """Release everything; what was saved is on disk."""
        await self.drain()
        await self.worker.close()
        self.listing.cancel()
        with suppress(asyncio.CancelledError):
            await self.listing
        if self.watch is not None:
            await self.watch.close()
        if self.cleaner is not None:
            await self.cleaner.close()
        for backend in (*self.backends, *self._gone):
            await backend.close()
        await self.engine.toolset.close()
        await self.engine.meter.close()
        self.engine.offload.close()
        if self.watchdog is not None:
            self.watchdog.close()
        await self.engine.store.close()
        if self.traces is not None:
            await self.traces.close()


async def build(
    settings: Settings, environment: Mapping[str, str] | None = None, key_memory: KeyMemory | None = None
) -> Application:
    """Return the parts that these settings ask for. Raises `ConfigError`.

    `key_memory` outlives this process: where it says that API keys existed, requests need one from the beginning.
    """
    environment = os.environ if environment is None else environment
    keys = [read_key(key) for key in settings.seal_keys]
    begin_traces = _tracing(settings, environment)
    shared = SharedResources()
    look_up = Lookups(shared.add("dns_lookups", lookup_turns()))
    measures = Measures()
    toolset = toolset_of(settings, environment, shared, look_up, measures)
    line = await _backends(settings, environment)
    reads = shared.add("reads", shared_reads())
    store = timed(await open_store(settings.store, settings.store_connections, reads, is_written=True), measures)
    try:
        keyring = await open_keyring(store, keys)
        with suppress(StoreError):  # what is stored from the first request on expires by the store's clock
            await store.clock_skew()
    except BaseException:
        await store.close()
        raise
    models = ModelRegistry(line.backends, ids.now, line.dialects, line.shares, settings.fallback)
    listing = asyncio.create_task(models.refresh())
    await asyncio.wait({listing}, timeout=FIRST_LOOK)
    engine = Engine(
        models,
        store,
        ids.new_id,
        ids.now,
        settings.retention_days * 86_400,
        toolset=toolset,
        keyring=keyring,
        strict_tools=settings.strict_tools,
        strict_seals=settings.strict_seals,
        measures=measures,
        room=_room(settings),
        queue_per_tenant=settings.background_queue_per_tenant,
        shared=shared,
        max_responses=settings.max_responses,
        bounds=_bounds(settings),
        reads=reads,
    )
    if key_memory is not None:
        await engine.api_keys.remember_in(key_memory)
    engine.observers.add(AccessLog())
    names = ModelNames(models)
    if settings.metrics:
        engine.observers.add(ResponseMetrics(measures, names, time.monotonic))
    traces = begin_traces(names) if begin_traces else None
    if traces is not None:
        engine.observers.add(traces.observer)
    worker = Worker(engine, settings.background_jobs, settings.background_jobs_per_tenant)
    reach = webhook_reach(takes_private=settings.webhook_private_addresses, look_up=look_up)
    deliveries = shared.add("webhook_deliveries", delivery_turns())
    courier = Courier(store, ids.now, reach, turns=deliveries, count=measures.webhooks.add)
    endpoints = Endpoints(store, courier, ids.new_id, ids.now, reach, settings.webhook_endpoints_per_tenant)
    watch = Poll(models, settings.check_interval) if settings.check_interval else None
    cleaner = Cleaner(store, settings.purge_fraction, engine.upkeep)
    watchdog = LoopWatchdog(measures.loop_stalls.observe)
    return Application(engine, line.backends, worker, courier, endpoints, listing, watch, cleaner, traces, watchdog)


@dataclass(slots=True)
class LibraryParts:
    """The parts of a server in a program of its own, without HTTP: they are made at first use."""

    backend: Backend
    url: str
    toolset: Toolset
    _worker: Worker | None = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self) -> Engine:
        """Open the store at first use. Raises `ConfigError` where it cannot be used."""
        async with self._opening:
            if self._worker is None:
                store = await open_store(self.url, is_written=True)
                try:
                    keyring = await open_keyring(store)
                except BaseException:  # a caller that no longer waits must not leave a store behind
                    await store.close()
                    raise
                models = ModelRegistry([self.backend], ids.now)
                self._worker = Worker(Engine(models, store, ids.new_id, ids.now, keyring=keyring, toolset=self.toolset))
                self._worker.start()
            return self._worker.engine

    async def close(self) -> None:
        """Release connections and the store."""
        await self.backend.close()
        await self.toolset.close()
        if self._worker is not None:
            await self._worker.close()
            self._worker.engine.offload.close()
            await self._worker.engine.store.close()


def library_parts(backend: str | Backend | None, key: str, store: str, settings: Settings) -> LibraryParts:
    """Return the parts of a library: `backend` is a URL, a backend, or None for the demo. Raises `ConfigError`."""
    if backend is None:
        from antiphon.upstream.demo.backend import DemoBackend  # noqa: PLC0415 - no program with a backend needs it

        backend = DemoBackend()
    elif isinstance(backend, str):
        backend = HttpBackend("backend", backend, key)
    return LibraryParts(backend, store, toolset_of(settings))


def toolset_of(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    shared: SharedResources | None = None,
    look_up: LookUp | None = None,
    measures: Measures | None = None,
) -> Toolset:
    """Return the tools that these settings have a server run, which report what tenants share to `shared`.

    `look_up` finds the addresses of names, `measures` counts. Raises `ConfigError` where a key is missing.
    """
    environment = os.environ if environment is None else environment
    shared, measures = shared or SharedResources(), measures or Measures()
    look_up = look_up or Lookups(shared.add("dns_lookups", lookup_turns()))
    reach = Reach(read_networks(settings.outgoing_networks), look_up=look_up)
    servers = McpServers(
        settings.mcp_servers,
        reach,
        list_ttl=settings.mcp_list_ttl,
        timeout=settings.mcp_tool_timeout,
        environment=environment,
        shared=shared,
        count_left_out=lambda flaw, count: measures.mcp_left_out.add(flaw, by=count),
    )
    web = web_search_of(settings, environment, reach, shared)
    return Toolset(web_search=web, mcp=servers, rounds=settings.tool_rounds, seconds=settings.tool_time)


def _tracing(settings: Settings, environment: Mapping[str, str]) -> "Callable[[ModelNames], Traces] | None":
    """Return how traces begin, None where nobody collects them. Raises `ConfigError` where they cannot be made."""
    url = collector_of(settings.trace_endpoint, environment)
    if not url:
        return None
    try:
        from antiphon.telemetry.otel.collector import traces_to  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise ConfigError(
            f"Traces are to go to {url}, for which a package is missing: pip install 'antiphon[otel]'."
        ) from error
    return partial(traces_to, url, content=settings.trace_content)


def collector_of(endpoint: str, environment: Mapping[str, str]) -> str:
    """Return the URL to which traces go, by the setting, else by the variables of OpenTelemetry; empty for nowhere."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return ""
    if not endpoint and (url := environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return url
    base = endpoint or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return f"{base.rstrip('/')}/v1/traces" if base else ""


def web_search_of(
    settings: Settings, environment: Mapping[str, str], reach: Reach, shared: SharedResources | None = None
) -> "WebSearch | None":
    """Return the tool that searches the web, None where nobody does. Raises `ConfigError` where its key is missing.

    `reach` says where pages may be; the provider is where the settings say.
    """
    if not settings.web_search:
        return None
    from antiphon.outbound.fetch import Fetcher  # noqa: PLC0415 - as the next
    from antiphon.tools.web import engine, providers, tool  # noqa: PLC0415 - who has none need not load it

    is_url = "://" in settings.web_search
    provider = providers.PROVIDERS["searxng" if is_url else settings.web_search]
    key_env = settings.web_search_key_env or provider.key_env
    key = clean_key(environment, key_env) if key_env else ""
    if key_env and not key:
        raise ConfigError(
            f"The web search takes its key from {key_env}, which is not set. Set it, or name another variable as "
            "web_search_key_env."
        )
    place = settings.web_search_url or (settings.web_search if is_url else "")
    shared = shared or SharedResources()
    turns = shared.add("web_searches", engine.search_turns())
    asked = engine.SearchEngine(provider, url=place, key=key, timeout=settings.web_search_timeout, turns=turns)
    return tool.WebSearch(asked, Fetcher(reach), results=settings.web_search_results, shared=shared)


def _bounds(settings: Settings) -> Bounds:
    return Bounds(
        settings.max_items,
        settings.max_history_items,
        settings.max_history_bytes,
        settings.max_conversation_items,
        settings.max_conversation_bytes,
        settings.max_stored_bytes,
    )


def _room(settings: Settings) -> Room:
    name = settings.cache_embeddings
    similarity = Similarity(name, settings.cache_similarity) if name else None
    longest = settings.retention_days * 86_400
    return Room(settings.cache_ttl, longest, settings.cache_size * 1024 * 1024, similarity)


async def open_keyring(store: Store, keys: Sequence[bytes] = ()) -> Keyring:
    """Return the keys that are configured; the last is one that the servers of this store share."""
    return Keyring([*keys, await store.secret("seal", new_key())])


@dataclass(slots=True)
class _BackendSet:
    """The backends that settings ask for, and what was said of each by its name."""

    backends: list[Backend] = field(default_factory=list)
    dialects: dict[str, str] = field(default_factory=dict)
    shares: dict[str, BackendOptions] = field(default_factory=dict)


async def _backends(settings: Settings, environment: Mapping[str, str], before: Sequence[Backend] = ()) -> _BackendSet:
    """Return the backends that are wanted, among them those of `before` that are the same."""
    if settings.backends:
        return _configured(settings, environment, before)
    found = await _found(settings, environment)
    return _BackendSet(found, shares={backend.name: BackendOptions(api="auto") for backend in found})


def check_backends(settings: Settings, environment: Mapping[str, str] | None = None) -> None:
    """Raise `ConfigError` where the backends that are named cannot be asked as they are."""
    _configured(settings, os.environ if environment is None else environment)


def _configured(settings: Settings, environment: Mapping[str, str], before: Sequence[Backend] = ()) -> _BackendSet:
    line = _BackendSet()
    for number, configured in enumerate(settings.backends, 1):
        name = _free_name(configured.name or urlsplit(configured.url).netloc, line.backends)
        made = _http(settings, environment, name, configured.url, key_of(configured, environment), configured)
        line.backends.append(next((one for one in before if made.is_like(one)), made))
        line.shares[name] = _share(configured, number)
        if configured.dialect:
            tell_dialect("", set(), "", configured.dialect)  # one that there is not is refused
            line.dialects[name] = configured.dialect
    return line


def _share(configured: BackendConfig, number: int) -> BackendOptions:
    """Return what a backend is to do. One without a name is called by its place: clients learn no address."""
    names = ["*"] if configured.models == "*" else configured.models
    return BackendOptions(
        frozenset(names),
        configured.aliases,
        configured.weight,
        configured.concurrency,
        configured.queue,
        configured.tenant_concurrency,
        configured.name or f"backend-{number}",
        api=configured.api,
        cache=configured.cache,
    )


async def _found(settings: Settings, environment: Mapping[str, str]) -> list[Backend]:
    """Nothing was configured: look around, and serve the demo where nobody is."""
    backends: list[Backend] = []
    named = named_by_environment(environment)
    if named is not None and not _is_this_server(named[0], settings):
        check_url(named[0])
        key = clean_key(environment, "OPENAI_API_KEY")
        backends.append(_http(settings, environment, "openai", named[0], key, BackendConfig(url=named[0])))
    backends += [
        _http(settings, environment, name, url, "", BackendConfig(url=url))
        for name, url in await discover()
        if not _is_this_server(url, settings)
    ]
    if backends:
        return backends
    from antiphon.upstream.demo.backend import DemoBackend  # noqa: PLC0415 - no server with a backend needs it

    return [DemoBackend()]


def _http(
    settings: Settings, environment: Mapping[str, str], name: str, url: str, key: str, configured: BackendConfig
) -> HttpBackend:
    timeouts = {
        limit: getattr(configured, limit) or getattr(settings, limit)
        for limit in ("connect_timeout", "first_byte_timeout", "idle_timeout")
    }
    files = (configured.ca_file, configured.client_cert, configured.client_key)
    tls = TlsFiles(*(str(Path(file).expanduser()) if file else "" for file in files))
    return HttpBackend(name, url, key, tls=tls, proxy=configured.proxy, environment=environment, **timeouts)


def _free_name(name: str, backends: Sequence[Backend]) -> str:
    taken = {backend.name for backend in backends}
    if name not in taken:
        return name
    return next(free for number in range(2, len(taken) + 3) if (free := f"{name}-{number}") not in taken)


def _is_this_server(url: str, settings: Settings) -> bool:
    """Whether `OPENAI_BASE_URL` points here: clients on this machine may have been told so by the same variable."""
    parts = urlsplit(url)
    return parts.port == settings.port and parts.hostname in {"127.0.0.1", "localhost", "::1", settings.host}
