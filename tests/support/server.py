"""The whole server on a port of this process's loop."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network

import aiohttp
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from antiphon import ids
from antiphon.access.metering import MAX_RESPONSES
from antiphon.build import Application
from antiphon.build.attachments import read_attachments
from antiphon.build.files import open_files
from antiphon.build.images import read_image
from antiphon.build.search import open_embeddings, open_search
from antiphon.config import Settings
from antiphon.http_server.host import Host
from antiphon.jobs.ingester import Ingester
from antiphon.jobs.worker import Worker
from antiphon.objects.webhooks import Webhooks
from antiphon.outbound.ssrf import LookUp
from antiphon.recording.facts_writer import FactsWriter
from antiphon.runs.engine import Engine
from antiphon.server.application import create_app
from antiphon.server.limits import Limits
from antiphon.server.watchers import WatchAccess
from antiphon.sharing.memory import Memory
from antiphon.storage.open import open_store
from antiphon.storage.store import Store
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from antiphon.telemetry.otel.collector import Traces
from antiphon.telemetry.store_metrics import observe_store
from antiphon.telemetry.timeline import Timeline
from antiphon.upstream.backend import Backend
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.webhooks.courier import Courier, webhook_reach
from tests.support.prompt import PromptServer
from tests.support.waiting import let_others_run

Trace = Callable[[ModelNames], Traces]


@dataclass
class Served:
    """A running server: its base URL, its parts, an SDK client and a plain HTTP client."""

    url: str
    engine: Engine
    sdk: AsyncOpenAI
    http: aiohttp.ClientSession
    host: Host
    endpoints: Webhooks
    house: Application

    async def post(self, path: str, **kwargs: object) -> tuple[int, dict[str, object]]:
        """POST and return status and JSON."""
        async with self.http.post(self.url + path, **kwargs) as response:  # type: ignore[arg-type]
            return response.status, await response.json()

    async def get(self, path: str) -> tuple[int, dict[str, object]]:
        """GET and return status and JSON."""
        async with self.http.get(self.url + path) as response:
            return response.status, await response.json()


NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Loading the world's would be most of what a server of one test costs, and nothing here is encrypted."""


class PromptHost(PromptServer, Host):
    """Our server, which ends at once."""


ACCESS = WatchAccess(networks=[ip_network("127.0.0.0/8")])
"""The tests may read the metrics, of servers with API keys too."""


@asynccontextmanager
async def serve(
    *backends: Backend,
    store: str | Store = "sqlite://",
    dialects: dict[str, str] | None = None,
    grace: float = 0.0,
    allows_private: bool = True,
    has_websocket: bool = True,
    measures: Measures | None = None,
    trace: Trace | None = None,
    shares: dict[str, BackendOptions] | None = None,
    fallback: dict[str, list[str]] | None = None,
    limits: Limits | None = None,
    memory: int = Memory().size,
    max_responses: int = MAX_RESPONSES,
    retention: int = 30 * 86_400,
    facts: bool = True,
    bodies: bool = False,
    console: bool = True,
    settings: Settings | None = None,
    look_up: LookUp | None = None,
) -> AsyncIterator[Served]:
    """Serve these backends, count in `measures`, and `trace`; everything is closed at the end."""
    opened = await open_store(store) if isinstance(store, str) else store
    models = ModelRegistry(backends, ids.now, dialects, shares, fallback)
    engine = Engine(models, opened, ids.new_id, ids.now, retention, max_responses=max_responses)
    engine.memory = Memory(memory, (limits or Limits()).body)
    engine.open_files = partial(open_files, engine, settings or Settings())
    engine.observers.add(AccessLog())
    if measures is not None:
        observe_store(opened, measures)
        engine.measures = measures
        engine.observers.add(ResponseMetrics(measures, ModelNames(models), time.monotonic))
    if facts:
        engine.facts = FactsWriter(opened)
        engine.observers.add(Timeline(keeps_bodies=bodies))
    traces = trace(ModelNames(models)) if trace else None
    if traces is not None:
        engine.observers.add(traces.observer)
    read_attachments(engine, settings or Settings(), look_up)
    engine.open_search = partial(open_search, engine)
    engine.read_image = partial(read_image, engine)
    engine.open_embeddings = partial(open_embeddings, engine, (settings or Settings()).search_embeddings_batch)
    engine.chunk_tokens = (settings or Settings()).search_chunk_tokens
    reach = webhook_reach(allows_private=allows_private)
    courier = Courier(opened, ids.now, reach, count=engine.measures.webhooks.add)
    endpoints = Webhooks(opened, courier, ids.new_id, ids.now, reach)
    house = Application(engine, backends, Worker(engine), courier, endpoints, asyncio.create_task(let_others_run()))
    house.ingester = Ingester(engine)
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    app = create_app(engine, endpoints, has_websocket=has_websocket, limits=limits, access=ACCESS, has_console=console)
    if traces is not None:
        house.traces, app = traces, traces.around(app)
    host = PromptHost(app, house, grace, limits=limits or Limits(), memory=memory, has_websocket=has_websocket)
    house.start()
    serving = asyncio.create_task(host.serve([listener]))
    await host.listening.wait()
    sdk = AsyncOpenAI(
        base_url=url, api_key="sk-test", max_retries=0, http_client=DefaultAsyncHttpxClient(verify=NO_AUTHORITIES)
    )
    try:
        async with aiohttp.ClientSession() as http:
            yield Served(url, engine, sdk, http, host, endpoints, house)
    finally:
        await sdk.close()
        host.should_exit = host.force_exit = True
        with suppress(asyncio.CancelledError):
            await serving
        await house.close()
