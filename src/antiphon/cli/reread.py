"""SIGHUP: the file of settings is read again, and its backends are taken over."""

import asyncio
import signal
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from antiphon.application import Application, check_backends
from antiphon.config import Settings
from antiphon.errors import ConfigError, log
from antiphon.storage.open import creates_file

Read = Callable[[], Settings]
"""Reads the settings from where they were read first."""

PAUSE = 0.1
"""Seconds between two readings; all signals in between count as one."""

TAKEN_OVER = {"backends", "fallback", "models"}
"""Settings that need no new start."""


class Current:
    """The settings that the server runs by: those of its start, with what was taken over since.

    The process that watches the workers has them too, and one that takes a dead worker's place begins with them.
    """

    def __init__(self, settings: Settings, read: Read) -> None:
        self.settings = settings
        self._read = read
        self.creates_store = creates_file(settings.store)
        """Whether the store's file was not there before the start."""
        self.waiting: list[str] = []
        """Settings that were changed since the start, and need a new one."""

    def renew(self) -> bool:
        """Take over what is said now. Where that has a mistake all stays as it was, and a line in the log says why."""
        try:
            settings = self._read()
            self._check(settings)
        except ConfigError as error:
            log.error("The settings stay as they were. %s", error)
            return False
        fields = (name for name in Settings.__struct_fields__ if name not in TAKEN_OVER)
        self.waiting = [name for name in fields if getattr(settings, name) != getattr(self.settings, name)]
        self.settings = replace(self.settings, **{name: getattr(settings, name) for name in TAKEN_OVER})
        return True

    def _check(self, settings: Settings) -> None:
        if self.settings.backends and not settings.backends:
            # Whoever is found near, or the demo, must not answer in their place: a file is empty while it is written.
            raise ConfigError("No backend is named any more. Name one, or start anew to have the server look around.")
        check_backends(settings)


class Reread:
    """Has the house take over what has changed.

    A worker creates it first, so that no signal is lost, not even those sent before. However many signals arrive while
    the settings are read, they are read once more.
    """

    def __init__(self, current: Current) -> None:
        self._current = current
        self._wanted = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._wanted.set)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    async def run(self, house: Application) -> None:
        """Take over at every signal, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._current.renew():
                try:
                    await self._take_over(house)
                except ConfigError as error:  # such as a file that it names and that is gone
                    log.error("The settings stay as they were. %s", error)
            await asyncio.sleep(PAUSE)

    def close(self) -> None:
        """Block signals again until the process ends: nothing handles them once the loop has ended."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})

    async def _take_over(self, house: Application) -> None:
        before = {backend.name for backend in house.backends}
        await house.reload_backends(self._current.settings)
        now = {backend.name for backend in house.backends}
        changes = f"{_listed('; added: ', now - before)}{_listed('; removed: ', before - now)}"
        log.info("The settings were read again: %d backends%s.", len(now), changes)
        if self._current.waiting:
            log.warning("These settings are taken over by the next start: %s.", ", ".join(self._current.waiting))


def _listed(title: str, names: Iterable[str]) -> str:
    return title + ", ".join(sorted(names)) if names else ""
