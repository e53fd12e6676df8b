"""SIGHUP: the file of settings is read again, and its backends are taken over."""

import asyncio
import signal
from collections.abc import Callable

from msgspec.structs import replace

from antiphon.config import Settings
from antiphon.errors import ConfigError, log
from antiphon.wiring import House

Read = Callable[[], Settings]
"""Reads the settings from where they were read first."""

TAKEN_OVER = {"backends", "fallback"}
"""Settings that need no new start."""


class Reread:
    """Takes over what has changed; a file with a mistake is refused, with the old settings kept.

    Made before anything else that a process does: no signal is lost from then on. `settings` are those to begin with.
    """

    def __init__(self, settings: Settings, read: Read) -> None:
        self._read = read
        self._wanted = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._wanted.set)
        self.settings = _newest(settings, read)

    async def run(self, house: House) -> None:
        """Take over at every signal, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self._take_over(house)

    async def _take_over(self, house: House) -> None:
        try:
            settings = self._read()
            await house.reassign(settings)
        except ConfigError as error:
            log.error("The settings stay as they were. %s", error)
            return
        later = [name for name in self._changed(settings) if name not in TAKEN_OVER]
        self.settings = settings
        log.warning("The settings were read again: %d backends.", len(house.backends))
        if later:
            log.warning("These settings are taken over by the next start: %s.", ", ".join(later))

    def _changed(self, settings: Settings) -> list[str]:
        fields = Settings.__struct_fields__
        return [name for name in fields if getattr(settings, name) != getattr(self.settings, name)]


def _newest(settings: Settings, read: Read) -> Settings:
    """Return the settings with what the others took over since: one that takes a dead worker's place was told none."""
    try:
        newest = read()
    except ConfigError:
        return settings
    return replace(settings, **{name: getattr(newest, name) for name in TAKEN_OVER})
