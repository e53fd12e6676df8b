"""One backend: its options, what it says of itself, what it does now, and how its requests ended."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakSet

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.sharing.scheduler import FairScheduler
from antiphon.translation.dialects.dialect import Api, Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_responses.request import extras
from antiphon.upstream.backend import Backend
from antiphon.upstream.health import Health

ANY = "*"
"""Among a backend's models: any name that is requested."""

LATEST = ":latest"


def is_listed(model: str, listed: Iterable[str]) -> bool:
    """Whether the model is among these. Ollama lists `llama3:latest` and answers to `llama3`."""
    return any(name in (model, model + LATEST) for name in listed)


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """How an operator configured a backend."""

    models: frozenset[str] = frozenset()
    """Names that it serves, `*` for any; empty for those that it lists."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names that clients use, and what the backend calls the model itself."""
    weight: float = 1.0
    concurrency: int = 0
    """Requests at once; 0 for any number."""
    queue: int = 100
    """Requests that may wait beyond."""
    tenant_concurrency: int = 0
    """Requests of one tenant at once; 0 for as many as `concurrency`."""
    label: str = ""
    """The backend's name in replies to clients; empty for its own name."""
    api: Literal["auto", "chat", "responses"] = "chat"
    """The API in which it is called; `auto` leaves that to its family, or to a probe."""
    cache: bool = False
    """Its answers are cached."""
    passthrough: frozenset[str] | None = None
    """Parameters that are forwarded to it though the API does not have them; None for those of its family."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a backend reported last beside the API. None stands for what it does not report."""

    loaded: frozenset[str] | None = None
    """Models in its memory."""
    free: int | None = None
    """Slots that are free, by its own count."""

    def has_loaded(self, model: str) -> bool:
        """Whether this model is in its memory; true where the backend does not report that."""
        return self.loaded is None or is_listed(model, self.loaded)


NO_REPORT = LoadReport()


class BackendState:
    """The state of one backend, known by the backend's name: it survives a reload of the settings.

    Slots, health, counters and `load` are updated in place. What else changes, changes through `update`, which computes
    what follows from it: `name`, `label`, `is_probed`, `api`, `passthrough`, the number of slots, and the same of each
    target.
    `on_change` is called then, so that nothing computed from an earlier state is used.
    """

    name: str
    """What the operator calls it."""
    label: str
    """Its name in replies to clients."""
    is_probed: bool
    """Whether only the server itself can say in which API to call it."""
    api: Api
    """The API in which it is called: as configured, else as its family says, else as a probe found."""
    passthrough: frozenset[str]
    """Parameters that are forwarded to it though the API does not have them."""

    def __init__(
        self,
        backend: Backend,
        dialect: Dialect,
        options: BackendOptions,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self.backend = backend
        self.dialect = dialect
        self.options = options
        self.probed: Api | None = None
        """The API that a probe of the server found."""
        self.models: list[dict[str, Any]] = []
        """As it listed them last."""
        self.targets: dict[str, Target] = {}
        """What is known of its models, by the name that clients use."""
        self._followers: WeakSet[Target] = WeakSet()
        """These and those that a response still uses though they are forgotten."""
        self.slots = FairScheduler()
        """Requests that it has, and those that wait for it, tenant by tenant."""
        self.listing: asyncio.Event | None = None
        """Set once it has listed its models: one that does one thing at a time is sent no request meanwhile."""
        self.health = Health()
        self.load = NO_REPORT
        self.error = "not asked yet"
        """Why its models could not be listed; empty where they were."""
        self.is_reached = False
        """Whether it answered HTTP when it was polled last, even with an error."""
        self.asked = 0
        """Requests that it received; each call of one response counts."""
        self.failed = 0
        """How many of them failed through its own fault."""
        self.turn = 0.0
        """See `Candidate.turn`."""
        self._on_change = on_change
        self.update()

    def update(
        self,
        *,
        backend: Backend | None = None,
        dialect: Dialect | None = None,
        options: BackendOptions | None = None,
        models: list[dict[str, Any]] | None = None,
        probed: Api | None = None,
    ) -> None:
        """Change what is given. Requests in flight keep their slots; another backend is probed anew."""
        if backend is not None and backend is not self.backend:
            self.backend, self.probed = backend, None
        self.dialect = dialect or self.dialect
        self.options = options or self.options
        self.probed = probed or self.probed
        if models is not None:
            self.models = models
        self._compute()
        self._on_change()

    def _compute(self) -> None:
        options, dialect = self.options, self.dialect
        wanted = dialect.api if options.api == "auto" else options.api
        self.name = self.backend.name
        self.label = options.label or self.name
        self.is_probed = wanted == "probe"
        self.api = (self.probed or "chat") if wanted == "probe" else wanted
        self.passthrough = dialect.passthrough if options.passthrough is None else options.passthrough
        concurrency = 1 if dialect.one_at_a_time else options.concurrency
        self.slots.resize(concurrency, options.queue, options.tenant_concurrency)
        for target in self._followers:
            target.follow()

    def target(self, model: str, name: str) -> "Target":
        """Return what is known of a model; what was learned of it outlives a new list of models."""
        known = self.targets.get(name)
        if known is None:
            known = self.targets[name] = Target(self, model, name)
            self._followers.add(known)
        return known

    def may_take(self, parameter: str) -> bool:
        """Whether it takes a parameter that the API does not have, or can still turn out to: it was not reached yet."""
        return parameter in self.passthrough or (not self.is_reached and self.dialect is DIALECTS["generic"])

    def called(self, name: str) -> str | None:
        """Return what this backend calls the model of this name, None where it does not serve it."""
        options = self.options
        if name in options.aliases:
            return options.aliases[name]
        if named := options.models - {ANY}:
            return name if name in named else None
        return name if is_listed(name, (model["id"] for model in self.models)) else None

    def offers(self) -> list[dict[str, Any]]:
        """Return the models that clients can list."""
        named = self.options.models - {ANY}
        listed = {model["id"]: model for model in self.models if not named or model["id"] in named}
        more = [{"id": name} for name in (*self.options.aliases, *sorted(named)) if name not in listed]
        return [*listed.values(), *more]


class Target:
    """A model at a backend. `refused` and `preopened` are learned from its answers, and kept as long as this object.

    `backend`, `dialect` and `api` are those of its `state`, which keeps them up to date.
    """

    __slots__ = ("__weakref__", "api", "backend", "dialect", "model", "name", "preopened", "refused", "state")

    def __init__(self, state: BackendState, model: str, name: str) -> None:
        self.state = state
        self.model = model
        """What the backend calls it."""
        self.name = name
        """What clients call it."""
        self.refused: set[str] = set()
        """Parameters that the backend rejected, and types of tools and items that its Responses API rejected."""
        self.preopened = False
        """Its template opens `<think>`."""
        self.follow()

    def follow(self) -> None:
        """Take over what its backend's state says."""
        self.backend = self.state.backend
        self.dialect = self.state.dialect
        self.api = self.state.api

    def takes(self, names: Collection[str]) -> bool:
        """Whether parameters of these names, which the API does not have, are forwarded, and were not rejected."""
        return self.state.passthrough.issuperset(names) and self.refused.isdisjoint(names)

    def api_for(self, request: CreateResponse, items: Iterable[InputItem]) -> Api:
        """Return the API for this request: Chat for what a Responses API that was only probed has rejected."""
        if self.refused and self.api == "responses" and self.state.is_probed:
            return "chat" if self.refused & extras(request, items) else "responses"
        return self.api
