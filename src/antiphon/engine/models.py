"""Which model is served by which backend, and what has been learned about it."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.backends.base import Backend, Listing
from antiphon.chat.dialects import Dialect, tell_dialect
from antiphon.errors import BackendError, ClientError
from antiphon.ids import Clock

STALE_AFTER = 5.0
"""Seconds after which a model that is not listed is looked for again: somebody may just have pulled it."""

INSISTED_ON = re.compile(r"gpt-|o\d|codex-|chatgpt-")
"""How names begin by which clients know what a model can do."""

MAX_TARGETS = 1000
"""Models that are remembered: where a backend lists none, clients make up names."""


@dataclass(slots=True)
class Target:
    """A model at a backend. `refused` and `preopened` are learned from its answers, and kept as long as this object."""

    backend: Backend
    dialect: Dialect
    model: str
    refused: set[str] = field(default_factory=set)
    """Chat parameters that it said it does not take."""
    preopened: bool = False
    """Its template opens `<think>`."""


@dataclass(slots=True)
class Served:
    """One backend as it was last seen."""

    backend: Backend
    dialect: Dialect
    models: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    """Why its models could not be listed; empty where they were."""


class Models:
    """The models of all backends. Where two list the same name, the backend named first serves it.

    `dialects` names a backend's dialect where the operator configured one.
    """

    def __init__(self, backends: Sequence[Backend], now: Clock, dialects: Mapping[str, str] | None = None) -> None:
        self._now = now
        self._configured = dict(dialects or {})
        self.served = [
            Served(backend, self._dialect(backend, Listing()), error="not asked yet") for backend in backends
        ]
        self._targets: dict[tuple[str, str], Target] = {}
        self._routes: dict[str, Target] = {}
        self._refreshed = float("-inf")
        self._refreshes = 0
        self._refreshing = asyncio.Lock()

    async def refresh(self) -> None:
        """Ask every backend for its models, side by side. Who comes while others are asking shares their answer."""
        before = self._refreshes
        async with self._refreshing:
            if self._refreshes != before:
                return
            await asyncio.gather(*map(self._ask, self.served))
            self._refreshed = self._now()
            self._refreshes += 1

    async def find(self, model: str) -> Target:
        """Return where a model is served.

        Raises `ClientError` (400, `model_not_found`) for a name that no backend lists, and `BackendError` (503)
        where no backend could be asked.
        """
        target = self._routes.get(model)
        if target is not None:
            return target
        served = self._listing(model) or self._insisted_on(model)
        if served is None and self._now() - self._refreshed > STALE_AFTER:
            await self.refresh()
            served = self._listing(model) or self._insisted_on(model)
        if served is None:
            served = self._silent()
        if served is None:
            raise self._not_found(model)
        target = self._routes[model] = self._target(served, model)
        return target

    def list(self) -> list[dict[str, Any]]:
        """Return every model once, as `{id, object, created, owned_by}`."""
        seen: dict[str, dict[str, Any]] = {}
        for served in self.served:
            for model in served.models:
                seen.setdefault(model["id"], _model_object(model))
        return list(seen.values())

    async def _ask(self, served: Served) -> None:
        try:
            listing = await served.backend.list_models()
        except BackendError as error:
            served.error = error.message
            return
        served.models = [model for model in listing.models if isinstance(model.get("id"), str)]
        served.error = ""
        served.dialect = self._dialect(served.backend, listing)
        self._routes.clear()

    def _target(self, served: Served, model: str) -> Target:
        """Return what is known of a model at a backend; what was learned outlives a new listing."""
        if len(self._targets) >= MAX_TARGETS:
            self._targets.clear()
            self._routes.clear()
        target = self._targets.setdefault((served.backend.name, model), Target(served.backend, served.dialect, model))
        target.dialect = served.dialect
        return target

    def _dialect(self, backend: Backend, listing: Listing) -> Dialect:
        owners = {model["owned_by"] for model in listing.models if isinstance(model.get("owned_by"), str)}
        return tell_dialect(backend.url, owners, listing.server, self._configured.get(backend.name))

    def _listing(self, model: str) -> Served | None:
        # Ollama lists `llama3:latest` and answers to `llama3`.
        names = {model, f"{model}:latest"}
        return next((served for served in self.served if any(m["id"] in names for m in served.models)), None)

    def _silent(self) -> Served | None:
        """The only backend there is, where it answers but does not list its models: then it is asked for any."""
        if len(self.served) != 1 or self.served[0].models:
            return None
        return self.served[0]

    def _insisted_on(self, model: str) -> Served | None:
        """The only backend there is, for a name that clients insist on whatever serves it.

        Codex offers its patch tool to models of OpenAI's names alone, and llama.cpp answers to any name; a backend
        that does not know the name says so itself.
        """
        only = self.served[0] if len(self.served) == 1 else None
        is_asked = only is not None and only.models and only.backend.url and INSISTED_ON.match(model)
        return only if is_asked else None

    def _not_found(self, model: str) -> Exception:
        if self.served and all(served.error for served in self.served):
            return BackendError("No model backend can be reached.", status=503)
        return ClientError(
            f"The requested model '{model[:100]}' does not exist.", code="model_not_found", param="model"
        )


def _model_object(model: dict[str, Any]) -> dict[str, Any]:
    created, owner = model.get("created"), model.get("owned_by")
    return {
        "id": model["id"],
        "object": "model",
        "created": created if isinstance(created, int) else 0,
        "owned_by": owner if owner and isinstance(owner, str) else "unknown",
    }
