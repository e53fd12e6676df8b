"""Settings become parts: the only file that knows them all."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from antiphon import ids
from antiphon.backends.base import Backend
from antiphon.backends.demo import DemoBackend
from antiphon.backends.discover import discover, named_by_environment
from antiphon.backends.http import HttpBackend
from antiphon.config import Settings, check_url, clean_key, key_of
from antiphon.engine.engine import Engine
from antiphon.engine.measuring import Measuring, ModelNames, timed
from antiphon.engine.models import Models
from antiphon.engine.worker import Worker
from antiphon.errors import ConfigError
from antiphon.keyring import Keyring, new_key, read_key
from antiphon.measures import Measures
from antiphon.store.base import Store
from antiphon.store.sqlite import SqliteStore
from antiphon.webhooks.courier import Courier
from antiphon.webhooks.endpoints import Endpoints

FIRST_LOOK = 0.8
"""Seconds that start-up waits for the lists of models; slower backends are listed when they answer."""


@dataclass(slots=True)
class House:
    """The parts of one server, in use; `close` ends them."""

    engine: Engine
    backends: Sequence[Backend]
    worker: Worker
    courier: Courier
    endpoints: Endpoints
    listing: asyncio.Task[None]

    def start(self) -> None:
        """Begin to make background responses, and to deliver webhooks."""
        self.worker.start()
        self.courier.start()

    async def wind_down(self) -> None:
        """Take no new work, and put background work back into the queue. What clients wait for goes on."""
        self.engine.wind_down()
        await self.courier.close()
        await self.worker.hand_back()

    def cut_off(self) -> None:
        """Have every response that a client waits for fail, and break off every replay."""
        self.engine.cut_off()

    async def close(self) -> None:
        """Release everything; what was saved is on disk."""
        await self.wind_down()
        await self.worker.close()
        self.listing.cancel()
        with suppress(asyncio.CancelledError):
            await self.listing
        for backend in self.backends:
            await backend.close()
        await self.engine.store.close()


async def build(settings: Settings, environment: Mapping[str, str] | None = None) -> House:
    """Return the parts that these settings ask for. Raises `ConfigError`."""
    environment = os.environ if environment is None else environment
    keys = [read_key(key) for key in settings.seal_keys]
    backends, dialects = await _backends(settings, environment)
    measures = Measures()
    store = timed(await open_store(settings.store, settings.store_connections), measures)
    models = Models(backends, ids.now, dialects)
    listing = asyncio.create_task(models.refresh())
    await asyncio.wait({listing}, timeout=FIRST_LOOK)
    engine = Engine(
        models,
        store,
        ids.new_id,
        ids.now,
        settings.retention_days * 86_400,
        keyring=await open_keyring(store, keys),
        strict_tools=settings.strict_tools,
        strict_seals=settings.strict_seals,
        measures=measures,
    )
    if settings.metrics:
        engine.observers.add(Measuring(measures, ModelNames(models)))
    worker = Worker(engine, settings.background_jobs, settings.background_jobs_per_tenant)
    takes_private = settings.webhook_private_addresses
    courier = Courier(store, ids.now, takes_private=takes_private, count=measures.webhooks.add)
    endpoints = Endpoints(store, courier, ids.new_id, ids.now, takes_private)
    return House(engine, backends, worker, courier, endpoints, listing)


async def open_store(url: str, connections: int = 10) -> Store:
    """Return the store at a URL. Raises `ConfigError` where it cannot be used."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return SqliteStore.open(url)
    if scheme in ("postgresql", "postgres"):
        from antiphon.store.postgres import PostgresStore  # noqa: PLC0415 - who has none need not load its driver

        return await PostgresStore.open(url, connections=connections)
    raise ConfigError(
        f"The store '{scheme}:…' is not known. Use sqlite:///path/to/file.db, postgresql://user@host/database, "
        "or sqlite:// for memory."
    )


async def open_keyring(store: Store, keys: Sequence[bytes] = ()) -> Keyring:
    """Return the keys that are configured; the last is one that the servers of this store share."""
    return Keyring([*keys, await store.secret("seal", new_key())])


async def _backends(settings: Settings, environment: Mapping[str, str]) -> tuple[list[Backend], dict[str, str]]:
    if not settings.backends:
        return await _found(settings, environment), {}
    backends: list[Backend] = []
    dialects = {}
    for configured in settings.backends:
        name = _free_name(configured.name or urlsplit(configured.url).netloc, backends)
        backends.append(_http(settings, name, configured.url, key_of(configured, environment)))
        if configured.dialect:
            dialects[name] = configured.dialect
    return backends, dialects


async def _found(settings: Settings, environment: Mapping[str, str]) -> list[Backend]:
    """Nothing was configured: look around, and serve the demo where nobody is."""
    backends: list[Backend] = []
    named = named_by_environment(environment)
    if named is not None and not _is_this_server(named[0], settings):
        check_url(named[0])
        backends.append(_http(settings, "openai", named[0], clean_key(environment, "OPENAI_API_KEY")))
    backends += [_http(settings, name, url, "") for name, url in await discover() if not _is_this_server(url, settings)]
    return backends or [DemoBackend()]


def _http(settings: Settings, name: str, url: str, key: str) -> HttpBackend:
    return HttpBackend(
        name,
        url,
        key,
        connect_timeout=settings.connect_timeout,
        first_byte_timeout=settings.first_byte_timeout,
        idle_timeout=settings.idle_timeout,
    )


def _free_name(name: str, backends: Sequence[Backend]) -> str:
    taken = {backend.name for backend in backends}
    if name not in taken:
        return name
    return next(free for number in range(2, len(taken) + 3) if (free := f"{name}-{number}") not in taken)


def _is_this_server(url: str, settings: Settings) -> bool:
    """Whether `OPENAI_BASE_URL` points here: clients on this machine may have been told so by the same variable."""
    parts = urlsplit(url)
    return parts.port == settings.port and parts.hostname in {"127.0.0.1", "localhost", "::1", settings.host}
