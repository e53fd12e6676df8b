"""Whether this process can serve, for `/readyz`: its store, its API keys and its backends."""

from antiphon.access.api_keys import KnownKeys
from antiphon.storage.probe import StoreProbe
from antiphon.storage.store import Store
from antiphon.upstream.registry import ModelRegistry


class Readiness:
    """What a process needs to serve."""

    def __init__(self, store: Store, keys: KnownKeys, models: ModelRegistry) -> None:
        self._models = models
        self.store_answers = StoreProbe(lambda: store).is_usable
        """Whether the store can be read and written."""
        self.keys_are_usable = keys.are_usable
        """Whether requests can be authenticated: they need no API key, or the store has keys."""

    async def backend_answers(self) -> bool:
        """Whether at least one backend answered HTTP, with any status; polls them if none did."""
        if not any(backend.is_reached for backend in self._models.backends):
            await self._models.refresh()
        return any(backend.is_reached for backend in self._models.backends)
