"""SIGHUP: reads the settings file again, and applies its backends."""

import asyncio
import signal
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from antiphon.build import Application, check_backends
from antiphon.config import Settings
from antiphon.errors import ConfigError, log
from antiphon.storage.open import creates_file

Read = Callable[[], Settings]
"""Reads the settings from the same sources as at the start."""

PAUSE = 0.1
"""Seconds between two reads; all signals in between count as one."""

TAKEN_OVER = {"backends", "fallback", "models"}
"""Settings that change without a restart."""


class Current:
    """The current settings of the server: those of its start, with the changes since.

    The supervisor of the workers has them too, and a worker that replaces a dead one starts with
    them.
    """

    def __init__(self, settings: Settings, read: Read) -> None:
        self.settings = settings
        self._read = read
        self.creates_store = creates_file(settings.store)
        """Whether the file of the store did not exist before the start."""
        self.waiting: list[str] = []
        """Settings that changed since the start and need a restart."""

    def renew(self) -> bool:
        """Apply the settings as they are now.

        If they are invalid, keep the old ones and log the reason.
        """
        try:
            settings = self._read()
            self._check(settings)
        except ConfigError as error:
            log.error("The settings were not reloaded. %s", error)
            return False
        fields = (name for name in Settings.__struct_fields__ if name not in TAKEN_OVER)
        self.waiting = [
            name for name in fields if getattr(settings, name) != getattr(self.settings, name)
        ]
        self.settings = replace(
            self.settings, **{name: getattr(settings, name) for name in TAKEN_OVER}
        )
        return True

    def _check(self, settings: Settings) -> None:
        if self.settings.backends and not settings.backends:
            # Backends found on this machine, or the demo, must not replace them: a file is empty
            # while it is written.
            raise ConfigError(
                "The settings no longer name a backend. Name one, or restart the server to search "
                "for backends."
            )
        check_backends(settings)


class Reread:
    """Applies changed settings at each signal.

    A worker creates it first, so that no signal is lost, including earlier ones. All signals that
    arrive during a read cause one more read.
    """

    def __init__(self, current: Current) -> None:
        self._current = current
        self._wanted = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._wanted.set)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    async def run(self, application: Application) -> None:
        """Apply changes at every signal, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._current.renew():
                try:
                    await self._take_over(application)
                except ConfigError as error:  # such as a missing certificate file
                    log.error("The settings were not reloaded. %s", error)
            await asyncio.sleep(PAUSE)

    def close(self) -> None:
        """Block signals again until the process ends: no handler exists after the loop has
        ended.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})

    async def _take_over(self, application: Application) -> None:
        before = {backend.name for backend in application.backends.current}
        await application.backends.reload(self._current.settings)
        now = {backend.name for backend in application.backends.current}
        changes = f"{_listed('; added: ', now - before)}{_listed('; removed: ', before - now)}"
        log.info("The settings were reloaded: %d backends%s.", len(now), changes)
        if self._current.waiting:
            log.warning(
                "Restart the server to apply these settings: %s.", ", ".join(self._current.waiting)
            )


def _listed(title: str, names: Iterable[str]) -> str:
    return title + ", ".join(sorted(names)) if names else ""
