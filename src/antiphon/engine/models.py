"""Which model is served by which backend, and what has been learned about it."""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.engine.probe import probe
from antiphon.engine.routing.served import ANY, Served, Share
from antiphon.engine.routing.verdict import unanswered
from antiphon.errors import BackendError, ClientError
from antiphon.ids import Clock
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.translation.dialects import Api, Dialect, tell_dialect
from antiphon.translation.to_responses.request import extras
from antiphon.upstream.backend import Backend, Listing

STALE_AFTER = 5.0
"""Seconds after which a model that is not listed is looked for again: somebody may just have pulled it."""

INSISTED_ON = re.compile(r"gpt-|o\d|codex-|chatgpt-")
"""How names begin by which clients know what a model can do."""

UNREACHED = 503
"""Status of the error for a backend where nobody answers."""

MAX_TARGETS = 1000
"""Models that are remembered: where a backend lists none, clients make up names."""


@dataclass(slots=True, eq=False)
class Target:
    """A model at a backend. `refused` and `preopened` are learned from its answers, and kept as long as this object."""

    served: Served
    model: str
    """What the backend calls it."""
    name: str
    """What clients call it."""
    refused: set[str] = field(default_factory=set)
    """Parameters that it said it does not take, and types of tools and items of which its Responses API said so."""
    preopened: bool = False
    """Its template opens `<think>`."""

    @property
    def backend(self) -> Backend:
        """Who serves it."""
        return self.served.backend

    @property
    def dialect(self) -> Dialect:
        """The family of who serves it."""
        return self.served.dialect

    def api_for(self, request: CreateResponse, items: Iterable[InputItem]) -> Api:
        """Return the API to ask for this: Chat for what a Responses API that was only probed has refused."""
        if self.served.api == "responses" and self.refused and self.served.is_probed:
            return "chat" if self.refused & extras(request, items) else "responses"
        return self.served.api


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
        self._candidates: dict[str, Sequence[Target]] = {}
        self._generation = 0
        """How often the backends were assigned."""
        self.assign(backends, dialects, shares, fallback)
        self._refreshes = 0
        self._seen = 0
        """The generation that was looked at last."""
        self._refreshing = asyncio.Lock()

    def assign(
        self,
        backends: Sequence[Backend],
        dialects: Mapping[str, str] | None = None,
        shares: Mapping[str, Share] | None = None,
        fallback: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Serve these backends from now on. What is known of one that stays, by its name, stays."""
        self._generation += 1
        self._refreshed = float("-inf")
        self._configured = dict(dialects or {})
        self._fallback = dict(fallback or {})
        known = {served.name: served for served in self.served}
        shares = shares or {}
        self.served = [self._assigned(one, shares.get(one.name, Share()), known.get(one.name)) for one in backends]
        self._targets.clear()
        self._candidates.clear()

    def _assigned(self, backend: Backend, share: Share, served: Served | None) -> Served:
        if served is None:
            return Served(backend, self._dialect(backend, Listing()), share)
        served.reassign(share)
        if served.backend is not backend:
            served.probed = None
        if served.backend is not backend or served.name in self._configured:
            served.backend, served.dialect = backend, self._dialect(backend, Listing())
        return served

    async def refresh(self) -> None:
        """Ask every backend for its models, side by side.

        Who comes while others are asking shares their answer, unless they began before the backends were assigned.
        """
        before = self._refreshes
        async with self._refreshing:
            if self._refreshes != before and self._seen == self._generation:
                return
            generation = self._generation
            await asyncio.gather(*map(self._look_at, self.served))
            self._refreshes += 1
            self._seen = generation
            if generation == self._generation:
                self._refreshed = self._now()

    async def find(self, model: str) -> Target:
        """Return one place where a model is served. Raises what `candidates` raises."""
        return (await self.candidates(model))[0]

    async def candidates(self, model: str) -> Sequence[Target]:
        """Return where a model is served, then where those are that may answer in its place; at least one.

        Raises `ClientError` (400, `model_not_found`) for a name that no backend lists, and `BackendError` (503)
        where no backend could be asked.
        """
        known = self._candidates.get(model)
        if known is not None:
            return known
        found = self._found(model)
        if not found and self._now() - self._refreshed > STALE_AFTER:
            await self.refresh()
            found = self._found(model)
        if not found and (silent := self._silent()):
            found = (self._target(silent, model, model),)
        if not found:
            raise self._none_for(model)
        self._candidates[model] = found
        return found

    def list(self) -> list[dict[str, Any]]:
        """Return every model once, as `{id, object, created, owned_by}`."""
        seen: dict[str, dict[str, Any]] = {}
        for served in self.served:
            for model in served.offers():
                seen.setdefault(model["id"], _model_object(model))
        return list(seen.values())

    async def _look_at(self, served: Served) -> None:
        """List a backend's models; not of one that is busy and takes one thing at a time: what it lists can wait."""
        if not served.dialect.one_at_a_time:
            await self._ask(served)
        elif not served.slots.in_flight:
            await served.slots.enter(is_patient=True)
            try:
                await self._ask(served)
            finally:
                served.slots.leave()

    async def _ask(self, served: Served) -> None:
        """Learn what a backend tells of itself, unless another has its name by then."""
        backend = served.backend
        try:
            listing = await backend.list_models()
        except BackendError as error:
            if served.backend is backend:
                self._missed(served, error)
            return
        if served.backend is not backend:
            return
        served.health.seen()
        served.models = [model for model in listing.models if isinstance(model.get("id"), str)]
        served.error = ""
        served.dialect = self._dialect(backend, listing)
        self._candidates.clear()
        if served.is_probed and served.probed is None:
            told = await probe(backend)
            if served.backend is backend:
                served.probed = told

    def _missed(self, served: Served, error: BackendError) -> None:
        """Note that a backend could not be asked for its models."""
        served.error = error.message
        if error.status == UNREACHED:
            served.health.failed(unanswered(error), error, self.clock())

    def _found(self, model: str) -> Sequence[Target]:
        return [target for name in (model, *self._fallback.get(model, ())) for target in self._serving(name)]

    def _serving(self, model: str) -> Sequence[Target]:
        """Return the model wherever it is named; else at those that take any name."""
        named = [(served, name) for served in self.served if (name := served.called(model)) is not None]
        if not named:
            named = [(served, model) for served in self.served if ANY in served.share.models]
        if not named and (only := self._insisted_on(model)):
            named = [(only, model)]
        return [self._target(served, name, model) for served, name in named]

    def _target(self, served: Served, model: str, name: str) -> Target:
        """Return what is known of a model at a backend; what was learned outlives a new listing."""
        if len(self._targets) >= MAX_TARGETS:
            self._targets.clear()
            self._candidates.clear()
        return self._targets.setdefault((served.name, name), Target(served, model, name))

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
