"""The backends of a running process, which new settings replace."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from antiphon.build.backends import backends_of
from antiphon.config import Settings
from antiphon.errors import StoreError
from antiphon.jobs.profiles import ProfileKeeper
from antiphon.upstream.backend import Backend
from antiphon.upstream.registry import ModelRegistry


class LiveBackends:
    """The backends in use, with the registry and the profiles of their models."""

    def __init__(
        self, current: Sequence[Backend], models: ModelRegistry, profiles: ProfileKeeper
    ) -> None:
        self.current = current
        self._models = models
        self.profiles = profiles
        self._replaced: list[Backend] = []
        """Backends that receive no new requests; some answers may still be in flight."""

    async def reload(
        self, settings: Settings, environment: Mapping[str, str] | None = None
    ) -> None:
        """Apply the backends of new settings; running requests finish with the old ones.

        Raises `ConfigError`.

        Other changes take effect at the next start.
        """
        environment = os.environ if environment is None else environment
        line = await backends_of(settings, environment, self.current)
        stored = set(map(id, line.backends))
        self._replaced += [one for one in self.current if id(one) not in stored]
        self._models.assign(line.backends, line.dialects, line.shares, settings.fallback)
        self.current = line.backends
        await self._models.refresh()
        with suppress(StoreError):  # the next look comes
            await self.profiles.load()

    async def close(self) -> None:
        """Close the connections to all backends."""
        for backend in (*self.current, *self._replaced):
            await backend.close()
