"""The whole server on a port of this process's loop."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass
from ipaddress import ip_network

import aiohttp
from msgspec.structs import replace
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from antiphon import ids
from antiphon.access.metering import MAX_RESPONSES
from antiphon.agents.execution import AgentWorker
from antiphon.agents.registration import Agent
from antiphon.build.application import Application, assemble
from antiphon.build.code import open_sandbox
from antiphon.build.foundation import Foundation
from antiphon.build.observers import observers_of
from antiphon.build.parts import ToolParts, parts_of
from antiphon.build.tools import outside_tools_of
from antiphon.config import Settings
from antiphon.gateway.parts import Parts
from antiphon.http_server.host import UvicornHost
from antiphon.objects.webhooks import Webhooks
from antiphon.outbound.ssrf import Resolve
from antiphon.server.application import create_app
from antiphon.server.limits import ServerLimits
from antiphon.server.watchers import WatchAccess
from antiphon.sharing.memory import Memory
from antiphon.storage.open import open_store
from antiphon.storage.store import Store
from antiphon.telemetry.metrics import Measures, ModelNames
from antiphon.telemetry.otel.collector import Traces
from antiphon.tools.registry import Toolset
from antiphon.upstream.backend import Backend
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from tests.support.prompt import PromptServer
from tests.support.waiting import let_others_run

Trace = Callable[[ModelNames], Traces]


@dataclass
class RunningServer:
    """A running server: its base URL, its parts, an SDK client and a plain HTTP client."""

    url: str
    parts: Parts
    sdk: AsyncOpenAI
    http: aiohttp.ClientSession
    host: UvicornHost
    endpoints: Webhooks
    application: Application
    base: Foundation

    async def built_with(self, settings: Settings) -> Parts:
        """Parts with other settings, on the same store: for the tools that the server then runs."""
        base = copy(self.base)
        base.settings = settings
        return parts_of(
            base, ToolParts(outside_tools_of(settings, {}), await open_sandbox(settings, {}))
        )

    async def post(self, path: str, **kwargs: object) -> tuple[int, dict[str, object]]:
        """POST and return status and JSON."""
        async with self.http.post(self.url + path, **kwargs) as response:  # type: ignore[arg-type]
            return response.status, await response.json()

    async def get(self, path: str) -> tuple[int, dict[str, object]]:
        """GET and return status and JSON."""
        async with self.http.get(self.url + path) as response:
            return response.status, await response.json()


NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Loading the world's would be most of what a server of one test costs, and nothing here is
encrypted.
"""


class PromptHost(PromptServer, UvicornHost):
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
    limits: ServerLimits | None = None,
    memory: int = Memory().size,
    max_responses: int = MAX_RESPONSES,
    retention: int = 30 * 86_400,
    facts: bool = True,
    bodies: bool = False,
    console: bool = True,
    settings: Settings | None = None,
    resolve: Resolve | None = None,
    has_tools: bool = False,
    agents: Sequence[Agent] = (),
) -> AsyncIterator[RunningServer]:
    """Serve these backends, count in `measures`, and `trace`; everything is closed at the end. The
    server runs the `agents` itself.

    Only with `has_tools` does the server run the hosted tools of the settings.
    """
    bounds = limits or ServerLimits()
    settings = replace(
        settings or Settings(),
        facts=facts,
        console_bodies=bodies,
        metrics=measures is not None,
        max_responses=max_responses,
        webhook_private_addresses=allows_private,
    )
    opened = await open_store(store) if isinstance(store, str) else store
    models = ModelRegistry(backends, ids.now, dialects, shares, fallback)
    counted = measures or Measures()
    observers, traces = observers_of(settings, models, counted, trace)
    closing = AsyncExitStack()
    if traces is not None:
        closing.push_async_callback(traces.close)
    closing.push_async_callback(opened.close)
    base = Foundation(
        settings,
        models,
        opened,
        measures=counted,
        observers=observers,
        resolve=resolve,
    )
    base.memory = Memory(memory, bounds.body)
    base.retention = retention
    tools = ToolParts(
        outside_tools_of(settings, {}), await open_sandbox(settings, {}) if has_tools else None
    )
    listing = asyncio.create_task(let_others_run())
    worker = AgentWorker(agents, runs_models=True) if agents else None
    application = assemble(base, tools, backends, listing, traces, closing, worker)
    application.background = [application.worker, application.ingester, application.courier]
    if not has_tools:
        application.parts.run.toolset = Toolset()
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    app = create_app(
        application.gateway,
        application.endpoints,
        has_websocket=has_websocket,
        limits=limits,
        access=ACCESS,
        has_console=console,
    )
    if traces is not None:
        app = traces.around(app)
    host = PromptHost(
        app, application, grace, limits=bounds, memory=memory, has_websocket=has_websocket
    )
    application.start()
    serving = asyncio.create_task(host.serve([listener]))
    await host.listening.wait()
    sdk = AsyncOpenAI(
        base_url=url,
        api_key="sk-test",
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(verify=NO_AUTHORITIES),
    )
    try:
        async with aiohttp.ClientSession() as http:
            yield RunningServer(
                url, application.parts, sdk, http, host, application.endpoints, application, base
            )
    finally:
        await sdk.close()
        host.should_exit = host.force_exit = True
        with suppress(asyncio.CancelledError):
            await serving
        await application.close()
