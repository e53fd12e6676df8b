"""Which model is served by which backend, and what has been learned about it."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.backends.base import Backend, Listing
from antiphon.chat.dialects import Dialect, tell_dialect
from antiphon.engine.routing.station import ANY, Share, Station
from antiphon.engine.routing.verdict import Verdict
from antiphon.errors import BackendError, ClientError
from antiphon.ids import Clock

STALE_AFTER = 5.0
"""Seconds after which a model that is not listed is looked for again: somebody may just have pulled it."""

INSISTED_ON = re.compile(r"gpt-|o\d|codex-|chatgpt-")
"""How names begin by which clients know what a model can do."""

UNREACHED = 503
"""Status of the error for a backend where nobody answers."""

MAX_TARGETS = 1000
"""Models that are remembered: where a backend lists none, clients make up names."""


@dataclass(slots=True)
class Target:
    """A model at a backend. `refused` and `preopened` are learned from its answers, and kept as long as this object."""

    backend: Backend
    dialect: Dialect
    model: str
    """What the backend calls it."""
    name: str = ""
    """What clients call it."""
    station: Station = field(default_factory=lambda: Station("", Share()))
    refused: set[str] = field(default_factory=set)
    """Chat parameters that it said it does not take."""
    preopened: bool = False
    """Its template opens `<think>`."""


Groups = list[list[Target]]
"""Where a model is served, then where each of those is that may answer in its place; no list is empty."""


@dataclass(slots=True)
class Served:
    """One backend as it was last seen."""

    backend: Backend
    dialect: Dialect
    station: Station
    models: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    """Why its models could not be listed; empty where they were."""

    def called(self, name: str) -> str | None:
        """Return what this backend calls the model of this name, None where it does not say that it has it."""
        share = self.station.share
        if name in share.aliases:
            return share.aliases[name]
        if share.models - {ANY}:
            return name if name in share.models else None
        # Ollama lists `llama3:latest` and answers to `llama3`.
        names = {name, f"{name}:latest"}
        return name if any(model["id"] in names for model in self.models) else None

    def offers(self) -> list[dict[str, Any]]:
        """Return the models that clients are told of."""
        share = self.station.share
        named = [*share.aliases, *sorted(share.models - {ANY})]
        listed = {model["id"]: model for model in self.models}
        if share.models - {ANY}:
            listed = {name: model for name, model in listed.items() if name in share.models}
        return [*listed.values(), *({"id": name} for name in named if name not in listed)]


class Models:
    """The models of all backends; several may serve the same.

    `dialects` names a backend's dialect where the operator configured one, `shares` what else was said of it.
    `fallback` names the models that may answer in another's place. `clock` never goes back, in seconds.
    """

    def __init__(
        self,
        backends: Sequence[Backend],
        now: Clock,
        dialects: Mapping[str, str] | None = None,
        shares: Mapping[str, Share] | None = None,
        fallback: Mapping[str, Sequence[str]] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.clock = clock
        self._now = now
        self.served: list[Served] = []
        self._targets: dict[tuple[str, str], Target] = {}
        self._routes: dict[str, Groups] = {}
        self.assign(backends, dialects, shares, fallback)
        self._refreshed = float("-inf")
        self._refreshes = 0
        self._refreshing = asyncio.Lock()

    def assign(
        self,
        backends: Sequence[Backend],
        dialects: Mapping[str, str] | None = None,
        shares: Mapping[str, Share] | None = None,
        fallback: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Serve these backends from now on. What is known of one that stays, by its name, stays."""
        self._configured = dict(dialects or {})
        self._fallback = dict(fallback or {})
        known = {served.backend.name: served for served in self.served}
        served = [self._served(backend, (shares or {}).get(backend.name, Share()), known) for backend in backends]
        self.served = served
        self._targets.clear()
        self._routes.clear()

    def _served(self, backend: Backend, share: Share, known: Mapping[str, Served]) -> Served:
        before = known.get(backend.name)
        if before is None:
            station = Station(backend.name, share)
            return Served(backend, self._dialect(backend, Listing()), station, error="not asked yet")
        before.station.reassign(share)
        dialect = before.dialect if before.backend is backend else self._dialect(backend, Listing())
        if backend.name in self._configured:
            dialect = self._dialect(backend, Listing())
        return Served(backend, dialect, before.station, before.models, before.error)

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
        """Return one place where a model is served. Raises what `candidates` raises."""
        return (await self.candidates(model))[0][0]

    async def candidates(self, model: str) -> Groups:
        """Return where a model may be answered.

        Raises `ClientError` (400, `model_not_found`) for a name that no backend lists, and `BackendError` (503)
        where no backend could be asked.
        """
        known = self._routes.get(model)
        if known is not None:
            return known
        groups = self._groups(model)
        if not groups and self._now() - self._refreshed > STALE_AFTER:
            await self.refresh()
            groups = self._groups(model)
        if not groups and (silent := self._silent()):
            groups = [[self._target(silent, model, model)]]
        if not groups:
            raise self._none_for(model)
        self._routes[model] = groups
        return groups

    def list(self) -> list[dict[str, Any]]:
        """Return every model once, as `{id, object, created, owned_by}`."""
        seen: dict[str, dict[str, Any]] = {}
        for served in self.served:
            for model in served.offers():
                seen.setdefault(model["id"], _model_object(model))
        return list(seen.values())

    async def _ask(self, served: Served) -> None:
        try:
            listing = await served.backend.list_models()
        except BackendError as error:
            served.error = error.message
            if error.status == UNREACHED:
                served.station.health.failed(Verdict(counts=True), error, self.clock(), is_gone=True)
            return
        served.station.health.seen()
        served.models = [model for model in listing.models if isinstance(model.get("id"), str)]
        served.error = ""
        served.dialect = self._dialect(served.backend, listing)
        self._routes.clear()

    def _groups(self, model: str) -> Groups:
        groups = [[*self._serving(name)] for name in (model, *self._fallback.get(model, ()))]
        return [group for group in groups if group]

    def _serving(self, model: str) -> Sequence[Target]:
        """Return the model wherever it is named; else at those that take any name."""
        named = [(served, name) for served in self.served if (name := served.called(model)) is not None]
        if not named:
            named = [(served, model) for served in self.served if ANY in served.station.share.models]
        if not named and (only := self._insisted_on(model)):
            named = [(only, model)]
        return [self._target(served, name, model) for served, name in named]

    def _target(self, served: Served, model: str, name: str) -> Target:
        """Return what is known of a model at a backend; what was learned outlives a new listing."""
        if len(self._targets) >= MAX_TARGETS:
            self._targets.clear()
            self._routes.clear()
        target = self._targets.setdefault(
            (served.backend.name, name), Target(served.backend, served.dialect, model, name, served.station)
        )
        target.dialect = served.dialect
        return target

    def _dialect(self, backend: Backend, listing: Listing) -> Dialect:
        owners = {model["owned_by"] for model in listing.models if isinstance(model.get("owned_by"), str)}
        return tell_dialect(backend.url, owners, listing.server, self._configured.get(backend.name))

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

    def _none_for(self, model: str) -> Exception:
        if self.served and all(served.error for served in self.served):
            return BackendError("No model backend can be reached.", status=503)
        return model_not_found(model)


def model_not_found(model: str) -> ClientError:
    """Return the error for a model that there is not, or not for who asks (specification section 13)."""
    return ClientError(f"The requested model '{model[:100]}' does not exist.", code="model_not_found", param="model")


def _model_object(model: dict[str, Any]) -> dict[str, Any]:
    created, owner = model.get("created"), model.get("owned_by")
    return {
        "id": model["id"],
        "object": "model",
        "created": created if isinstance(created, int) else 0,
        "owned_by": owner if owner and isinstance(owner, str) else "unknown",
    }
