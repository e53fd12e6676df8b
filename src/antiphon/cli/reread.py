"""SIGHUP: the file of settings is read again, and its backends are taken over."""

import asyncio
from collections.abc import Callable

from antiphon.config import Settings
from antiphon.errors import ConfigError, log
from antiphon.wiring import House

Read = Callable[[], Settings]
"""Reads the settings from where they were read first."""

TAKEN_OVER = {"backends", "fallback"}
"""Settings that need no new start."""


class Reread:
    """Takes over what has changed; a file with a mistake is refused, with the old settings kept."""

    def __init__(self, house: House, settings: Settings, read: Read) -> None:
        self._house = house
        self._settings = settings
        self._read = read
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False

    def begin(self) -> None:
        """Read the settings; where that is being done, once more afterwards."""
        self._is_wanted = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._is_wanted:
            self._is_wanted = False
            await self.take_over()

    async def take_over(self) -> None:
        """Read the settings once."""
        try:
            settings = self._read()
            await self._house.reassign(settings)
        except ConfigError as error:
            log.error("The settings stay as they were. %s", error)
            return
        later = [name for name in self._changed(settings) if name not in TAKEN_OVER]
        self._settings = settings
        log.warning("The settings were read again: %d backends.", len(self._house.backends))
        if later:
            log.warning("These settings are taken over by the next start: %s.", ", ".join(later))

    def _changed(self, settings: Settings) -> list[str]:
        fields = Settings.__struct_fields__
        return [name for name in fields if getattr(settings, name) != getattr(self._settings, name)]
