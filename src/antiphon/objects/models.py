"""`/v1/models`: the models of all backends, and what is known about each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from antiphon.access.limits import allows
from antiphon.errors import ClientError
from antiphon.objects.pages import LONGEST_ID, JsonObject
from antiphon.storage.records.tenants import ApiKey
from antiphon.upstream.registry import ModelRegistry

FindKey = Callable[[], Awaitable[ApiKey | None]]
"""Returns the API key of a request, None if it has none."""


class Offers(Protocol):
    """The agents that workers serve."""

    names: Mapping[str, Any]


class ModelAbilities(NamedTuple):
    """What coding agents need to know of a model."""

    context_window: int | None
    """Maximum tokens of prompt and answer together, None if unknown."""
    sees_images: bool | None
    """Whether it accepts images or has them described, None if that is unknown."""
    verdict: str
    """A sentence about whether coding agents can use it; empty if that was not measured."""


class Models:
    """The models of a registry.

    `describes_images` returns whether images are described for models without vision.
    """

    def __init__(
        self,
        registry: ModelRegistry,
        describes_images: Callable[[], bool],
        agents: Offers | None = None,
    ) -> None:
        self._registry = registry
        self._agents = agents
        self._describes_images = describes_images

    async def list(self, find_key: FindKey) -> Sequence[JsonObject]:
        """Return the models that a key allows, from the current list; all of them without a key."""
        await self._registry.refresh()
        key = await find_key()
        listed = self._listed()
        return (
            listed
            if key is None
            else [model for model in listed if allows(key.limits, model["id"])]
        )

    async def retrieve(self, name: str, find_key: FindKey) -> JsonObject:
        """Return a model that a key allows.

        Raises `ClientError` (404) if there is no such model.
        """
        model = next((model for model in await self.list(find_key) if model["id"] == name), None)
        if model is None:
            text = f"The model '{name[:LONGEST_ID]}' does not exist."
            raise ClientError(text, status=404, code="model_not_found", param="model")
        return model

    def names(self) -> Sequence[str]:
        """Return the models as the backends listed them last: no backend is called."""
        return [model["id"] for model in self._listed()]

    def _listed(self) -> Sequence[JsonObject]:
        """Return the agents, and the models of backends without the names of agents."""
        models = self._registry.list()
        if self._agents is None or not self._agents.names:
            return models
        names = self._agents.names
        return [*map(_listed_agent, names), *(one for one in models if one["id"] not in names)]

    def abilities(self, name: str) -> ModelAbilities:
        """Return what is known about a model."""
        from antiphon.upstream.probing.measurement import least  # noqa: PLC0415 - for coding agents alone

        registry = self._registry
        return ModelAbilities(
            registry.context_window(name),
            True if self._describes_images() else registry.sees_images(name),
            least(registry.profiles(name)),
        )

    @property
    def have_prices(self) -> bool:
        """Whether any model has prices in the settings."""
        backends = self._registry.backends
        return any(
            one.prices is not None for backend in backends for one in backend.options.configured
        )


def _listed_agent(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "antiphon-agent"}
