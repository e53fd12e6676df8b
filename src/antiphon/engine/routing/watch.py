"""Looks after the backends beside all requests: are they there, what have they loaded, is a slot free."""

import asyncio
from contextlib import suppress

from antiphon.engine.models import Models
from antiphon.engine.routing.served import Served
from antiphon.engine.routing.sightings import NOTHING, PLACES, Sighting
from antiphon.errors import BackendError, log

LARGEST = 4 * 1024 * 1024
"""Bytes of what a backend tells of itself that are read."""


class Watch:
    """Looks at all backends every `interval` seconds, from `start` to `close`."""

    def __init__(self, models: Models, interval: float) -> None:
        self._models = models
        self._interval = interval
        self._task: asyncio.Task[None] | None = None
        self._gone: set[str] = set()
        """Backends of which the log says last that they are not there."""

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Look no longer."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        """Look once: ask every backend for its models and for what it has loaded, side by side."""
        await self._models.refresh()
        self._tell()
        await asyncio.gather(*map(_sight, self._models.served))

    def _tell(self) -> None:
        """Say which backends are gone and which are back since the last look."""
        missed = {served.name: bool(served.error) for served in self._models.served}
        gone = {name for name, is_missed in missed.items() if is_missed}
        for name in sorted(gone - self._gone):
            log.warning("The backend '%s' could not be asked for its models; its status says why.", name)
        for name in sorted(self._gone & missed.keys() - gone):
            log.info("The backend '%s' is there again.", name)
        self._gone = gone

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception as error:
                log.error("A fault in Antiphon", exc_info=error)
            await asyncio.sleep(self._interval)


async def _sight(served: Served) -> None:
    served.sighting = await _seen(served) if served.dialect.name in PLACES else NOTHING


async def _seen(served: Served) -> Sighting:
    path, read = PLACES[served.dialect.name]
    try:
        reply = await served.backend.get(path)
        try:
            return read(await reply.read(LARGEST)) if reply.status == 200 else NOTHING
        finally:
            await reply.close()
    except BackendError:
        return NOTHING
