"""The parts of a program that uses Antiphon as a library."""

import asyncio
from dataclasses import dataclass, field

from antiphon import ids
from antiphon.application.keys import open_keyring
from antiphon.application.tools import toolset_of
from antiphon.config import Settings
from antiphon.jobs.worker import Worker
from antiphon.runs.engine import Engine
from antiphon.storage.open import open_store
from antiphon.tools.registry import Toolset
from antiphon.upstream.backend import Backend
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.registry import ModelRegistry


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
