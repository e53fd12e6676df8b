"""Builds the application from the settings."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from antiphon import ids
from antiphon.access.api_keys import KeyMemory
from antiphon.access.keyring import CIPHERS, Keyring, read_key
from antiphon.access.spending import warn_of_unpriced
from antiphon.build.application import Application, assemble
from antiphon.build.backends import backends_of
from antiphon.build.files import check_files
from antiphon.build.foundation import Foundation
from antiphon.build.images import check_images, images_key
from antiphon.build.keys import open_keyring
from antiphon.build.observers import observers_of
from antiphon.build.parts import ToolParts
from antiphon.build.tools import outside_tools_of
from antiphon.build.tracing import tracing_of
from antiphon.config import Settings
from antiphon.errors import StoreError
from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.outbound.ssrf import Resolve
from antiphon.packages import require_module
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.large_reads import shared_reads
from antiphon.storage.open import open_store
from antiphon.storage.store import Store
from antiphon.telemetry.metrics import Measures
from antiphon.upstream.backend import Backend
from antiphon.upstream.registry import ModelRegistry

if TYPE_CHECKING:
    from antiphon.agents.execution import AgentWorker
    from antiphon.build.code import CodeSandbox

FIRST_POLL = 0.8
"""Seconds that start-up waits for the lists of models; slower backends are listed after they
answer.
"""


async def build(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    key_memory: KeyMemory | None = None,
    *,
    backends: Sequence[Backend] = (),
    agents: "AgentWorker | None" = None,
) -> Application:
    """Return the application of these settings. Raises `ConfigError`.

    Without a backend in the settings, `backends` are used, or else those found on this machine.
    `agents` are those that this process serves.
    `key_memory` outlives this process: if it says that API keys existed, requests need one from the
    beginning.
    """
    environment = os.environ if environment is None else environment
    keys = _seal_keys(settings)
    check_files(settings)
    begin_traces = tracing_of(settings, environment)
    shared = SharedResources()
    measures = Measures()
    resolve = Lookups(shared.add("dns_lookups", lookup_turns()))
    tools = await _open_tools(settings, environment, shared, resolve, measures)
    line = await backends_of(settings, environment, own=backends)
    async with AsyncExitStack() as closing:
        models = ModelRegistry(
            line.backends, ids.now, line.dialects, line.shares, settings.fallback
        )
        observers, traces = observers_of(settings, models, measures, begin_traces)
        if traces is not None:
            closing.push_async_callback(traces.close)
        reads = shared.add("reads", shared_reads())
        store, keyring = await _open_store(settings, keys, reads, closing)
        listing = asyncio.create_task(models.refresh())
        await asyncio.wait({listing}, timeout=FIRST_POLL)
        base = Foundation(
            settings,
            models,
            store,
            keyring,
            shared=shared,
            measures=measures,
            observers=observers,
            reads=reads,
            resolve=resolve,
        )
        application = assemble(base, tools, line.backends, listing, traces, closing, agents)
        if key_memory is not None:
            await application.parts.keys.remember_in(key_memory)
        with suppress(StoreError):  # a server starts without the warning
            await warn_of_unpriced(store, models)
        with suppress(StoreError):  # a server starts without them
            await application.backends.profiles.load()
        application.closing = closing.pop_all()
    return application


def _seal_keys(settings: Settings) -> Sequence[bytes]:
    keys = [read_key(key) for key in settings.seal_keys]
    if keys:
        require_module(CIPHERS, "The setting seal_keys")
    return keys


async def _open_tools(
    settings: Settings,
    environment: Mapping[str, str],
    shared: SharedResources,
    resolve: Resolve,
    measures: Measures,
) -> ToolParts:
    """Return the programs and servers that tools use.

    Raises `ConfigError` before a store is opened.
    """
    sandbox = await _open_sandbox(settings, environment) if settings.code_sandbox else None
    check_images(settings)
    outside = outside_tools_of(settings, environment, shared, resolve, measures)
    return ToolParts(outside, sandbox, images_key(settings, environment))


async def _open_sandbox(settings: Settings, environment: Mapping[str, str]) -> "CodeSandbox | None":
    from antiphon.build.code import open_sandbox  # noqa: PLC0415 - only for servers that run code

    return await open_sandbox(settings, environment)


async def _open_store(
    settings: Settings,
    keys: Sequence[bytes],
    reads: FairScheduler,
    closing: AsyncExitStack,
) -> tuple[Store, Keyring]:
    store = await open_store(settings.store, settings.store_connections, reads, is_written=True)
    closing.push_async_callback(store.close)
    keyring = await open_keyring(store, keys)
    with suppress(StoreError):  # from the first request on, data expires by the store's clock
        await store.clock_skew()
    return store, keyring
