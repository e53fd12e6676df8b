"""Maps models to backends: looked up when the backends or their lists change, not with each
request.
"""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antiphon.errors import BackendError, ClientError, closest_name, log
from antiphon.ids import Clock
from antiphon.protocol.presets import Preset
from antiphon.translation.dialects.dialect import Api, Dialect
from antiphon.translation.dialects.profile import NOTHING_KNOWN, ModelProfile
from antiphon.translation.dialects.table import find_dialect
from antiphon.upstream.backend import Backend, Listing
from antiphon.upstream.backend_state import BackendState, ModelTarget
from antiphon.upstream.candidates import Candidates
from antiphon.upstream.context_window import context_window
from antiphon.upstream.options import ANY, BackendOptions
from antiphon.upstream.permitted import is_permitted
from antiphon.upstream.retry_policy import unanswered

STALE_AFTER = 5.0
"""Seconds after which an unlisted model is looked up again: it may just have been pulled."""

INSISTED_ON = re.compile(r"gpt-|o\d|codex-|chatgpt-")
"""Prefixes of model names from which clients derive the capabilities of a model."""

UNREACHED = 503
"""Status of the error for an unreachable backend."""

MOST_REASONS = 3
"""Backends with an error in one message."""

OWN_FAULT = 500
"""From this status on the backend failed; below, it processed the request, and is reachable."""

MAX_TARGETS = 1000
"""Models that are cached: if a backend lists none, clients can invent names."""

PROBE_TIMEOUT = 5.0
"""Timeout of a server's answer to a probe, in seconds."""

UNDERSTOOD = frozenset({400, 422})
"""It complained about the missing model and input: so it supports the endpoint."""

REPORTING = "llamacpp"
"""The family with a report that decides how the first request is sent: see `probing.reports`."""

NO_TOOLS = (
    "The chat template of the model '%s' at the backend '%s' renders no tools, "
    "so the prompt describes them."
)

NO_ANSWER = frozenset({401, 403, 408, 429})
"""The answer was inconclusive, and it is probed again; also after a failure."""


MOST_NAMED = 10
"""Models that an error names."""


class ModelRegistry:
    """The models of all backends; several can serve the same model.

    `dialects` names a backend's dialect if the operator configured one, `options` the other
    configuration. `fallback` names the models that can replace another. `clock` is monotonic, in
    seconds.
    """

    def __init__(
        self,
        backends: Sequence[Backend],
        now: Clock,
        dialects: Mapping[str, str] | None = None,
        options: Mapping[str, BackendOptions] | None = None,
        fallback: Mapping[str, Sequence[str]] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.clock = clock
        self._now = now
        self.backends: list[BackendState] = []
        self.known: dict[str, Candidates] = {}
        """The results of `candidates`, by the model's name; dropped whenever a backend changes."""
        self.next_poll: float | None = None
        """When the backends are polled next, by `clock`; None if they are not polled."""
        self.assign(backends, dialects, options, fallback)
        self._refreshes = 0
        self._seen: list[BackendState] = []
        """The backends of which the models were listed last."""
        self._refreshing = asyncio.Lock()

    def assign(
        self,
        backends: Sequence[Backend],
        dialects: Mapping[str, str] | None = None,
        options: Mapping[str, BackendOptions] | None = None,
        fallback: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Serve these backends from now on.

        The state of a backend with the same name is retained.
        """
        self._refreshed = float("-inf")
        self._configured = dict(dialects or {})
        self._fallback = dict(fallback or {})
        known = {state.name: state for state in self.backends}
        options = options or {}
        self.backends = [
            self._assigned(one, options.get(one.name, BackendOptions()), known.get(one.name))
            for one in backends
        ]
        self._forget()

    def _assigned(
        self, backend: Backend, options: BackendOptions, state: BackendState | None
    ) -> BackendState:
        if state is None:
            return BackendState(
                backend, self._dialect(backend, Listing()), options, self.known.clear
            )
        is_new = state.backend is not backend or state.name in self._configured
        dialect = self._dialect(backend, Listing()) if is_new else None
        state.update(backend=backend, dialect=dialect, options=options)
        return state

    async def refresh(self) -> None:
        """List the models of every backend, in parallel.

        A concurrent call shares the result, unless that began before the backends were assigned.
        """
        before = self._refreshes
        async with self._refreshing:
            backends = self.backends
            if self._refreshes != before and self._seen is backends:
                return
            await asyncio.gather(*map(self.poll, backends))
            self._refreshes += 1
            self._seen = backends
            if backends is self.backends:
                self._refreshed = self._now()

    async def find(self, model: str) -> ModelTarget:
        """Return one target that serves a model. Raises what `candidates` raises."""
        return (await self.candidates(model))[0]

    async def candidates(self, model: str) -> Candidates:
        """Return the targets of a model, then those of its fallback models; at least one.

        Raises `ClientError` (400, `model_not_found`) for a name that no backend lists: it names
        those that the key of the request allows. Raises `BackendError` (503) if no backend could be
        queried.
        """
        known = self.known.get(model)
        return known if known is not None else await self._resolve(model)

    async def _resolve(self, model: str) -> Candidates:
        found = self._found(model)
        if not found and self._now() - self._refreshed > STALE_AFTER:
            await self.refresh()
            found = self._found(model)
        if not found and (silent := self._silent()):
            found = [self._target(silent, silent.options.base_of(model), model)]
        if not found:
            raise self._none_for(model)
        self.known[model] = candidates = Candidates.of(found, self._preset(model))
        return candidates

    def serves(self, name: str) -> bool:
        """Whether a request for this model would be sent to a backend, by the current state."""
        return bool(self._serving(name)) or self._silent() is not None

    def accepts(self, name: str) -> bool:
        """Whether any backend may accept the parameter of this name, which is not in the API."""
        return any(state.may_take(name) for state in self.backends)

    def list(self) -> list[dict[str, Any]]:
        """Return every model once, as `{id, object, created, owned_by}`."""
        seen: dict[str, dict[str, Any]] = {}
        for state in self.backends:
            for model in state.offers():
                seen.setdefault(model["id"], _model_object(model))
        return list(seen.values())

    def context_window(self, name: str) -> int | None:
        """Return the smallest context window among the backends that serve a model, in tokens; None
        if unknown.

        `name` is the name that clients use.
        """
        serving = [
            (state, called) for state in self.backends if (called := state.called(name)) is not None
        ]
        windows = [context_window(state, called, name) for state, called in serving]
        return min((window for window in windows if window is not None), default=None)

    def sees_images(self, name: str) -> bool | None:
        """Whether a model accepts images at each backend that serves it, None if that is unknown.

        `name` is the name that clients use.
        """
        known = {profile.vision for profile in self.profiles(name)}
        return False if False in known else True if known == {True} else None

    def profiles(self, name: str) -> Sequence[ModelProfile]:
        """Return the facts about a model at each backend that serves it.

        `name` is the name that clients use.
        """
        serving = [
            (state, called) for state in self.backends if (called := state.called(name)) is not None
        ]
        return [state.profile_of(called, name) for state, called in serving]

    async def poll(self, state: BackendState) -> None:
        """List a backend's models; not while it is busy if it accepts one request at a time: its
        list can wait.

        Requests wait for the list without a place in the queue: listing is fast, and a backend that
        seems full for that moment would lose its conversations to others.
        """
        if not state.dialect.one_at_a_time:
            await self._send_request(state)
        elif not state.slots.in_use:
            state.listing = listed = asyncio.Event()
            try:
                await self._send_request(state)
            finally:
                state.listing = None
                listed.set()

    async def _send_request(self, state: BackendState) -> None:
        """Detect the dialect and the API of a backend, unless another has its name by then."""
        backend = state.backend
        try:
            listing = await backend.list_models()
        except BackendError as error:
            if state.backend is backend:
                self.missed(state, error)
            return
        if state.backend is not backend:
            return
        state.checked_at = self.clock()
        state.health.seen()
        state.error = ""
        state.public_error = ""
        state.is_reached = True
        models = [model for model in listing.models if isinstance(model.get("id"), str)]
        state.update(dialect=self._dialect(backend, listing), models=models)
        if state.is_probed and state.probed is None:
            found = await probe(backend)
            if found is not None and state.backend is backend:
                state.update(probed=found)
        if state.may_be_native and state.speaks_natively is None:
            from antiphon.upstream.ollama import speaks_natively  # noqa: PLC0415 - for servers of Ollama alone

            is_native = await speaks_natively(backend)
            if is_native is not None and state.backend is backend:
                state.update(speaks_natively=is_native)
        if state.dialect.name == REPORTING:
            await self._request_tools(state)

    async def _request_tools(self, state: BackendState) -> None:
        """Query how the only model of a backend is offered tools, unless that is known."""
        from antiphon.upstream.probing.reports import form_of_tools  # noqa: PLC0415 - for servers of llama.cpp alone

        backend = state.backend
        models = state.models
        listed = models[0] if len(models) == 1 else {}
        described = (listed.get("id"), listed.get("meta"))
        if described == state.stated_for:
            return
        found = await form_of_tools(backend, listed) if listed else NOTHING_KNOWN
        if found is None or state.backend is not backend:
            return
        state.stated_for = described
        stated = {} if found == NOTHING_KNOWN else {listed["id"]: found}
        if stated != state.stated:
            state.update(stated=stated)
        if stated:
            log.info(NO_TOOLS, listed["id"], state.name)

    def missed(self, state: BackendState, error: BackendError) -> None:
        """Record that a backend's models could not be listed."""
        state.checked_at = self.clock()
        state.error = str(error)
        state.public_error = error.message
        state.is_reached = error.status != UNREACHED
        state.stated_for = None  # it may return with another template
        if 400 <= error.status < OWN_FAULT:
            state.health.seen()  # it has no list, but answers
            return
        state.health.missed()
        if error.status == UNREACHED:
            state.health.failed(unanswered(error), error, self.clock())

    def _found(self, model: str) -> Sequence[ModelTarget]:
        return [
            target for name in (model, *self._fallbacks_of(model)) for target in self._serving(name)
        ]

    def _preset(self, name: str) -> Preset | None:
        found = (state.options.presets.get(name) for state in self.backends)
        return next((preset for preset in found if preset is not None), None)

    def _fallbacks_of(self, model: str) -> Sequence[str]:
        """Return the models that can replace a model; a preset has those of its base."""
        preset = self._preset(model)
        base = model if preset is None else preset.base
        return self._fallback.get(model) or self._fallback.get(base, ())

    def _serving(self, model: str) -> Sequence[ModelTarget]:
        """Return the targets that name the model; else those that accept any name."""
        named = [
            (state, name) for state in self.backends if (name := state.called(model)) is not None
        ]
        if not named:
            named = [
                (state, state.options.base_of(model))
                for state in self.backends
                if ANY in state.options.models
            ]
        if not named and (only := self._insisted_on(model)):
            named = [(only, only.options.base_of(model))]
        return [self._target(state, name, model) for state, name in named]

    def _target(self, state: BackendState, model: str, name: str) -> ModelTarget:
        if sum(len(each.targets) for each in self.backends) >= MAX_TARGETS:
            self._forget()
            for each in self.backends:
                each.lessons.clear()
        return state.target(model, name)

    def _forget(self) -> None:
        """Drop the cached targets of models; they are looked up again."""
        for state in self.backends:
            state.targets.clear()
        self.known.clear()

    def _dialect(self, backend: Backend, listing: Listing) -> Dialect:
        owners = {
            model["owned_by"] for model in listing.models if isinstance(model.get("owned_by"), str)
        }
        return find_dialect(backend.url, owners, listing.server, self._configured.get(backend.name))

    def _silent(self) -> BackendState | None:
        """Return the only backend, if it answers but does not list its models: it serves any
        name.
        """
        if len(self.backends) != 1 or self.backends[0].models:
            return None
        return self.backends[0]

    def _insisted_on(self, model: str) -> BackendState | None:
        """Return the only backend, for a name that clients send to any server.

        Codex offers its patch tool only to models with OpenAI's names, and llama.cpp accepts any
        name; a backend that does not know the name reports that itself.
        """
        only = self.backends[0] if len(self.backends) == 1 else None
        is_suitable = (
            only is not None and only.models and only.backend.url and INSISTED_ON.match(model)
        )
        return only if is_suitable else None

    def _none_for(self, model: str) -> Exception:
        if self.backends and all(state.error for state in self.backends):
            return self._none_listed()
        return model_not_found(model, [one["id"] for one in self.list() if is_permitted(one["id"])])

    def _none_listed(self) -> BackendError:
        """Return the error if no backend could list its models: with the reasons of the first
        few.
        """
        first = self.backends[:MOST_REASONS]
        text = f"None of the {len(self.backends)} backends could list its models."
        message, detail = (
            " ".join([text, *reasons])
            for reasons in ([one.public_error for one in first], [one.error for one in first])
        )
        return BackendError(message, status=503, detail=detail)


def model_not_found(model: str, names: Iterable[str] = ()) -> ClientError:
    """Return the error for a model that does not exist, or that this key cannot use (specification
    section 13).

    `names` are models that the client can know; the error suggests one that was probably intended,
    and names the first.
    """
    names = list(names)
    near = closest_name(model, names)
    hint = f" Did you mean '{near}'?" if near else ""
    text = f"The requested model '{model[:100]}' does not exist.{hint}{_listed(names)}"
    return ClientError(text, code="model_not_found", param="model")


def _listed(names: Sequence[str]) -> str:
    """Return a sentence, after a space, with the first names; empty without names."""
    if not names:
        return ""
    first = ", ".join(f"'{name[:100]}'" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f" Available models: {first}{f' and {more} more' if more > 0 else ''}."


async def probe(backend: Backend) -> Api | None:
    """Return the API of a server, using a request that it must reject (lesson L57); None if
    inconclusive.
    """
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            reply = await backend.post("/responses", b"{}")
            await reply.close()
    except (BackendError, TimeoutError):
        return None
    if reply.status in NO_ANSWER or (reply.status >= 500 and reply.status != 501):
        return None
    return "responses" if reply.status in UNDERSTOOD else "chat"


def _model_object(model: dict[str, Any]) -> dict[str, Any]:
    created = model.get("created")
    owner = model.get("owned_by")
    return {
        "id": model["id"],
        "object": "model",
        "created": created if isinstance(created, int) else 0,
        "owned_by": owner if owner and isinstance(owner, str) else "unknown",
    }
