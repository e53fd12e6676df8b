"""The state of one backend: what it reports, its current load, and the outcome of its requests."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from antiphon.errors import log
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.sharing.scheduler import FairScheduler
from antiphon.translation.dialects.dialect import Api, Dialect
from antiphon.translation.dialects.model_families import for_model
from antiphon.translation.dialects.profile import NOTHING_KNOWN, ModelProfile
from antiphon.translation.dialects.table import CLAUDE, DIALECTS, GENERIC, MESSAGES
from antiphon.translation.ollama.request import CHAT, PASSTHROUGH
from antiphon.translation.to_chat_completions.defaults import ModelDefaults, combined
from antiphon.translation.to_responses.request import extras
from antiphon.upstream.backend import Backend
from antiphon.upstream.health import Health
from antiphon.upstream.identity import BackendIdentity
from antiphon.upstream.lessons import EVERYONE, Lessons
from antiphon.upstream.options import (
    ANY,
    LATEST,
    BackendOptions,
    ChatPath,
    ModelOptions,
    is_listed,
)
from antiphon.upstream.prices import Prices

if TYPE_CHECKING:
    from antiphon.upstream.messages import MessagesBackend
    from antiphon.upstream.ollama import OllamaBackend

NOT_REQUESTED = "not queried yet"
"""Replaces the error until the list of models has been received."""

CHAT_COMPLETIONS = "/chat/completions"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The backend's last report outside the API. None for values that it does not report."""

    loaded: frozenset[str] | None = None
    """Models in its memory."""
    free: int | None = None
    """Free slots, as the backend counts them."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the windows of loaded models, by the backend's own names; Ollama only."""

    def has_loaded(self, model: str) -> bool:
        """Whether this model is loaded; true if the backend does not report that."""
        return self.loaded is None or is_listed(model, self.loaded)


NO_REPORT = LoadReport()


@dataclass(slots=True)
class PromptCounts:
    """How much of the prompts of sessions the backend's prefix cache could reuse."""

    size: int = 0
    """Bytes of these prompts."""
    reused: int = 0
    """Bytes of them that were at the same place in the prompt of the previous turn."""
    breaks: int = 0
    """Prompts that did not continue the prompt of the previous turn."""
    last_break: str = ""
    """The first part that had changed in the newest of these."""


class BackendState:
    """The state of one backend, identified by the backend's name: it survives a reload of the
    settings.

    Slots, health, counters and `load` are updated in place. All other changes go through `update`,
    which computes the values that depend on them: `name`, `label`, `is_probed`, `api`,
    `passthrough`, the number of slots, and the same values of each target. It then calls
    `on_change`, so that nothing computed from an earlier state is used.
    """

    name: str
    """The operator's name for it."""
    label: str
    """Its name in responses to clients."""
    is_probed: bool
    """Whether only the server itself can report its API."""
    api: Api
    """The API in which it is called: as configured, else of its family, else as a probe found."""
    caller: Backend
    """The object that calls its models: the backend, `native` or `messages`."""
    chat_path: str
    """The path of Chat requests at `caller`."""
    passthrough: frozenset[str]
    """Parameters that are forwarded to it although the API does not have them."""

    def __init__(
        self,
        backend: Backend,
        dialect: Dialect,
        options: BackendOptions,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self.backend = backend
        self._family = dialect
        """Its dialect, before the configured options are applied."""
        self.dialect = dialect
        self.options = options
        self.probed: Api | None = None
        """The API that a probe of the server found."""
        self.speaks_natively: bool | None = None
        """Whether the server has Ollama's native API, None until it has answered."""
        self.native: OllamaBackend | None = None
        """The backend through that API, if it is used."""
        self.messages: MessagesBackend | None = None
        """The backend through Anthropic's Messages API, if it is used."""
        self.models: list[dict[str, Any]] = []
        """The models that it listed last."""
        self._listed: dict[str, Mapping[str, Any]] = {}
        """Its entries for the models that `listed` has searched for, by the names that it uses
        itself.
        """
        self.stated: Mapping[str, ModelProfile] = {}
        """What it reports about its models without a probe, by the names that it uses itself."""
        self.stated_for: object = None
        """The listed model that this is about; None if the backend must be queried."""
        self.measured: Mapping[str, ModelProfile] = {}
        """The results of probes of its models, by the same names."""
        self.targets: dict[str, ModelTarget] = {}
        """The known facts about its models, by the names that clients use."""
        self.lessons: dict[str, Lessons] = {}
        """What its refusals taught about its models, by the names that it uses itself."""
        self._followers: WeakSet[ModelTarget] = WeakSet()
        """These, and those that a response still uses although the registry dropped them."""
        self.slots = FairScheduler()
        """Its requests in progress and waiting, tenant by tenant."""
        self.listing: asyncio.Event | None = None
        """Set once it has listed its models: a backend with one slot is sent no request
        meanwhile.
        """
        self.health = Health()
        self.load = NO_REPORT
        self.error = NOT_REQUESTED
        """Why its models could not be listed, worded for the operator; empty if they were."""
        self.public_error = self.error
        """The same, worded for clients."""
        self.checked_at: float | None = None
        """When its models were last queried, by the registry's clock; None before that."""
        self.is_reached = False
        """Whether it answered HTTP at the last poll, even with an error."""
        self.requested = 0
        """Requests that it received; each call of a response counts."""
        self.failed = 0
        """Requests that failed because of the backend."""
        self.prompts = PromptCounts()
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
        speaks_natively: bool | None = None,
        stated: Mapping[str, ModelProfile] | None = None,
        measured: Mapping[str, ModelProfile] | None = None,
    ) -> None:
        """Change the given values.

        Requests in flight keep their slots; another backend is probed again.
        """
        if backend is not None and backend is not self.backend:
            self.backend = backend
            self.probed = None
            self.speaks_natively = None
            self.native = None
            self.messages = None
            self.stated = {}
            self.stated_for = None
        self._family = dialect or self._family
        if options is not None and (options.num_ctx, options.keep_alive) != (
            self.options.num_ctx,
            self.options.keep_alive,
        ):
            self.native = None
        self.options = options or self.options
        self.probed = probed or self.probed
        if speaks_natively is not None:
            self.speaks_natively = speaks_natively
        if models is not None:
            self.models = models
            self._listed = {}
        if stated is not None:
            self.stated = stated
        if measured is not None:
            self.measured = measured
        self._compute()
        self._on_change()

    def _compute(self) -> None:
        options = self.options
        dialect = _family_for(options.api, self._family)
        if options.check_answers is not None and options.check_answers != dialect.checks_answers:
            dialect = replace(dialect, checks_answers=options.check_answers)
        self.dialect = dialect
        is_native = options.api == "ollama" or (self.may_be_native and bool(self.speaks_natively))
        wanted = dialect.api if options.api == "auto" else options.api
        self.native = (self.native or self._natively()) if is_native else None
        self.messages = (self.messages or self._by_messages()) if wanted == "messages" else None
        self.caller = self.native or self.messages or self.backend
        self.chat_path = CHAT if self.native else CHAT_COMPLETIONS
        self.name = self.backend.name
        self.label = options.label or self.name
        self.is_probed = wanted == "probe"
        self.api = (
            "responses"
            if wanted == "responses" or (self.is_probed and self.probed == "responses")
            else "chat"
        )
        known = PASSTHROUGH if is_native else dialect.passthrough
        self.passthrough = known if options.passthrough is None else options.passthrough
        concurrency = 1 if dialect.one_at_a_time else options.concurrency
        self.slots.resize(concurrency, options.queue, options.tenant_concurrency)
        for target in self._followers:
            target.follow()

    @property
    def identity(self) -> BackendIdentity:
        """Its identity in errors."""
        return BackendIdentity(self.name, self.backend.url, self.label, self.options.key_env)

    @property
    def may_be_native(self) -> bool:
        """Whether it is called through Ollama's native API if it has it."""
        return self.options.api == "auto" and self.dialect.name == "ollama"

    def _natively(self) -> "OllamaBackend":
        from antiphon.upstream.ollama import OllamaBackend  # noqa: PLC0415 - for servers of Ollama alone

        options = self.options
        return OllamaBackend(
            self.backend,
            options.num_ctx,
            options.keep_alive,
            self.configured_window,
            self.reported_window,
        )

    def _by_messages(self) -> "MessagesBackend":
        from antiphon.upstream.messages import MessagesBackend  # noqa: PLC0415 - for servers of Messages alone

        return MessagesBackend(self.backend, self.listed)

    def listed(self, model: str) -> Mapping[str, Any]:
        """Return the object of a model in the list of models, by the backend's name; empty if it
        is not there.
        """
        found = self._listed.get(model)
        if found is None:
            entries = (one for one in self.models if is_listed(model, [str(one.get("id"))]))
            found = self._listed[model] = next(entries, {})
        return found

    def configured_window(self, model: str) -> int | None:
        """Return the window that the operator configured for a model, by the backend's name of
        it.
        """
        windows = (
            one.profile.context_window
            for one in self.options.configured
            if one.is_for(model, model)
        )
        return next((window for window in reversed([*windows]) if window is not None), None)

    def profile_of(self, model: str, name: str) -> ModelProfile:
        """Return the facts about a model: as configured, else as measured, else as the backend
        reports them.

        `model` is the name that the backend uses itself, `name` the one that clients use.
        """
        measured = self.measured.get(model) or self.measured.get(model + LATEST)
        found = self.stated.get(model, NOTHING_KNOWN).under(measured)
        for one in self.configured_for(model, name):
            found = found.under(one.profile)
        return found

    def configured_for(self, model: str, name: str) -> Iterator[ModelOptions]:
        """Yield the configured facts about a model; those for its exact name come last, and take
        precedence.
        """
        base = self.options.base_of(name)
        for one in sorted(self.options.configured, key=lambda one: one.name == name):
            if one.is_for(model, name) or one.name == base:
                yield one

    def reported_window(self, model: str) -> int:
        """Return the window of the loaded model at the last poll; 0 if it was not loaded."""
        windows = self.load.windows
        return windows.get(model) or windows.get(model + LATEST, 0)

    def target(self, model: str, name: str) -> "ModelTarget":
        """Return the state of a model; lessons learned about it survive a new list of models."""
        known = self.targets.get(name)
        if known is None:
            known = self.targets[name] = ModelTarget(self, model, name)
            self._followers.add(known)
        return known

    def lessons_of(self, model: str) -> Lessons:
        """Return the lessons about a model, by the backend's own name."""
        return self.lessons.get(model) or self.lessons.setdefault(model, Lessons())

    def may_take(self, parameter: str) -> bool:
        """Whether it accepts a parameter that is not in the API, or might: it was not reached
        yet.
        """
        return parameter in self.passthrough or (
            not self.is_reached and self.dialect.name == GENERIC
        )

    def called(self, name: str) -> str | None:
        """Return this backend's name for the model, None if it does not serve it."""
        options = self.options
        if name in options.presets:
            name = options.presets[name].base
        if name in options.aliases:
            return options.aliases[name]
        if named := options.models - {ANY}:
            return name if name in named else None
        return name if is_listed(name, (model["id"] for model in self.models)) else None

    def offers(self) -> list[dict[str, Any]]:
        """Return the models that clients can list."""
        named = self.options.models - {ANY}
        listed = {model["id"]: model for model in self.models if not named or model["id"] in named}
        presets = [name for name in self.options.presets if self.called(name) is not None]
        more = [
            {"id": name}
            for name in dict.fromkeys((*self.options.aliases, *sorted(named), *presets))
            if name not in listed
        ]
        return [*listed.values(), *more]


def _family_for(api: str, family: Dialect) -> Dialect:
    """Return the dialect of a backend that is called by this API: all servers of Messages have one,
    and their Chat Completions API, where they have one, has another.
    """
    if api == "messages":
        return DIALECTS[MESSAGES]
    return DIALECTS[CLAUDE] if api == "chat" and family.name == MESSAGES else family


class ModelTarget:
    """A model at a backend.

    `backend`, `dialect` and `api` are those of its `state`, which updates them; the dialect is that
    of the model, if facts about it are known. `chat_path` is the path of Chat requests at
    `backend`.
    """

    __slots__ = (
        *(
            "__weakref__",
            "api",
            "backend",
            "breaks_schemas",
            "chat_completions",
            "chat_path",
            "defaults",
            "dialect",
            "lessons",
        ),
        *(
            "may_have_window",
            "model",
            "name",
            "preopened",
            "prices",
            "profile",
            "reserved_output",
            "state",
        ),
    )

    def __init__(self, state: BackendState, model: str, name: str) -> None:
        self.state = state
        self.model = model
        """The backend's name for it."""
        self.name = name
        """The clients' name for it."""
        self.lessons = state.lessons_of(model)
        """What the backend's refusals taught about the model, under any name of it."""
        self.profile: ModelProfile | None = None
        """The facts about the model: as configured, else as measured."""
        self.defaults: ModelDefaults | None = None
        """The configured settings for its requests."""
        self.prices: Prices | None = None
        """The price of its tokens; None if the operator configured none."""
        self.reserved_output: int | None = None
        """Tokens to reserve for an answer without a limit; None if nothing is configured."""
        self.chat_completions: ChatPath = "auto"
        """How chat completions reach it."""
        self.preopened = False
        """Its template opens `<think>`."""
        self.breaks_schemas = False
        """Its text violated the schema of a request."""
        self.may_have_window = False
        """Whether `window` may be known."""
        self.follow()

    @property
    def is_loose(self) -> bool:
        """Whether its text may violate a schema: it did so once, or a probe found that the backend
        enforces none.
        """
        return self.breaks_schemas or (self.profile is not None and self.profile.json_held is False)

    def follow(self) -> None:
        """Copy the values of its backend's state."""
        state = self.state
        self.backend = state.caller
        self.chat_path = state.chat_path
        self.dialect = for_model(state.dialect, self.model)
        self.api = state.api
        if state.stated or state.measured or state.options.configured or self.profile is not None:
            self._follow_model()
        self.may_have_window = state.native is not None or self.profile is not None

    def _follow_model(self) -> None:
        """Copy the facts and settings of the model."""
        before = self.profile
        found = self.state.profile_of(self.model, self.name)
        self.defaults = self.prices = self.reserved_output = None
        self.chat_completions = "auto"
        for one in self.state.configured_for(self.model, self.name):
            self.defaults = combined(self.defaults, one.defaults)
            self.prices = one.prices or self.prices
            self.reserved_output = one.reserved_output or self.reserved_output
            self.chat_completions = one.chat_completions or self.chat_completions
        self.profile = found if found != NOTHING_KNOWN else None
        if self.profile is not None:
            self.dialect = self.dialect.profiled(self.profile)
            self.preopened = self.preopened or (before != found and found.thinking == "preopened")

    def learn(self, lesson: str, text: str, tenant: str = EVERYONE) -> None:
        """Send requests for this model as the lesson says from now on; `text` are the backend's
        words.
        """
        self.lessons.learn(lesson, text, tenant)
        log.info(
            "The backend '%s' refused a request for the model '%s'. "
            "Requests are adjusted from now on: %s.",
            self.state.backend.name,
            self.name,
            lesson,
        )

    @property
    def window(self) -> int | None:
        """The maximum tokens of prompt and answer together; None if unknown."""
        if self.state.native is not None:
            return self.state.native.window(self.model)
        return self.profile.context_window if self.profile else None

    def accepts(self, names: Collection[str]) -> bool:
        """Whether parameters with these names, which are not in the API, are forwarded and were not
        rejected.
        """
        return self.state.passthrough.issuperset(names) and self.lessons.refused.isdisjoint(names)

    def api_for(self, request: CreateResponse, items: Iterable[InputItem]) -> Api:
        """Return the API for this request: Chat for content that a probed (not configured)
        Responses API rejected.
        """
        refused = self.lessons.refused
        if refused and self.api == "responses" and self.state.is_probed:
            return "chat" if refused & extras(request, items) else "responses"
        return self.api
