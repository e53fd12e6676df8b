"""Reads, measures and prints the profiles of models for the commands."""

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from rich.console import Console

from antiphon.build import build
from antiphon.cli.error_output import complain, did_you_mean
from antiphon.config import Settings
from antiphon.errors import AntiphonError, ConfigError, StoreError
from antiphon.jobs import lessons
from antiphon.jobs.profiles import measured, store_measurement
from antiphon.storage.open import creates_file, open_store
from antiphon.storage.operations import lessons as stored_lessons
from antiphon.storage.operations import profiles as stored_profiles
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.store import Store
from antiphon.translation.dialects.profile import FACTS, NOTHING_KNOWN, ModelProfile
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.upstream.backend import place_of
from antiphon.upstream.backend_state import BackendState, ModelTarget
from antiphon.upstream.lessons import LIFE, Lesson
from antiphon.upstream.probing.consent import is_free
from antiphon.upstream.probing.interview import Interview, stated
from antiphon.upstream.probing.measurement import Measurement, summary, verdict
from antiphon.upstream.probing.window import LARGEST, MOST_STEPS

UNKNOWN = {
    "context_window": "not stated by the backend; --measure-window measures it",
    "stable_template": "not stated by the backend; llama.cpp states it",
}
"""The reason why a fact is unknown if no request to the model can measure it."""


STATED = "/props"
"""The origin of the facts that llama.cpp reports before any probe."""

CALLS = ("parallel_calls", "forced_calls", "streamed_calls", "text_calls")
"""Facts about native calls."""


class KnownModel(Struct, frozen=True, kw_only=True):
    """The known facts about a model at one backend."""

    backend: str
    url: str
    model: str
    """The backend's name of the model."""
    profile: ModelProfile
    """The configured facts, or else the measured ones."""
    measured: Measurement | None
    probed_at: int
    """Seconds since the epoch; 0 for a model that was not probed."""
    defaults: ModelDefaults | None
    lessons: Sequence[Lesson] = ()
    """What the backend's refusals taught."""
    stated: ModelProfile = NOTHING_KNOWN
    """The facts that the backend reports before any probe."""
    is_scripted: bool = False
    """Whether it is the scripted model `demo`."""

    def heading(self) -> str:
        """Return a line with the model and the time of its probe."""
        at = datetime.fromtimestamp(self.probed_at, UTC)
        digest = (
            f", digest {self.measured.digest[:12]}"
            if self.measured and self.measured.digest
            else ""
        )
        probed = f"probed {at:%Y-%m-%d %H:%M} UTC{digest}" if self.probed_at else "not probed"
        return f"{self.model} at {self.backend} ({self.url}): {probed}"

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield each fact with its value and origin, then the configured defaults for requests."""
        found, evidence = (
            (self.measured.profile, self.measured.evidence)
            if self.measured
            else (NOTHING_KNOWN, {})
        )
        for name in FACTS:
            value = getattr(self.profile, name)
            is_stated = value == getattr(self.stated, name)
            origin = (
                evidence.get(name, "")
                if value == getattr(found, name)
                else STATED
                if is_stated
                else "settings"
            )
            yield (
                (name, "unknown", self._why_unknown(name))
                if value is None
                else (name, _displayed(value), origin)
            )
        for name, value in to_builtins(self.defaults or ModelDefaults()).items():
            if value:
                yield name, _displayed(value), "settings"
        for one in self.lessons:
            recipient = f" for the tenant {one.tenant}" if one.tenant else ""
            at = datetime.fromtimestamp(one.learned_at, UTC)
            yield (
                f"lesson{recipient}",
                one.name,
                f"{at:%Y-%m-%d %H:%M} UTC: {one.stated or 'refused'}",
            )

    def _why_unknown(self, fact: str) -> str:
        """Return why a fact is unknown."""
        if not self.probed_at:
            return "not probed"
        if fact == "thinking_control" and self.profile.thinking == "none":
            return "the model shows no thinking"
        if why := UNKNOWN.get(fact):
            return why
        if fact in CALLS and self.profile.tools == "prompt":
            return "tools are described in the prompt"
        return (
            "the scripted model ignores instructions"
            if self.is_scripted
            else "no conclusive answer"
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        displayed: dict[str, Any] = {"backend": self.backend, "url": self.url, "model": self.model}
        displayed |= {"profile": self.profile.known(), "probed_at": self.probed_at or None}
        displayed |= {"verdict": verdict(self.profile) or None}
        one = self.measured
        return displayed | {
            "digest": one.digest or None if one else None,
            "evidence": dict(one.evidence) if one else {},
            "requests": one.requests if one else 0,
            "tokens": one.tokens if one else 0,
            "lessons": to_builtins(self.lessons),
        }


def in_memory(settings: Settings) -> Settings:
    """Return the settings for a command that reads the backends only."""
    return replace(settings, store="sqlite://")


class StoredModels(NamedTuple):
    """What a store knows about models."""

    profiles: Sequence[StoredProfile] = ()
    lessons: Sequence[StoredLesson] = ()


async def stored(settings: Settings) -> StoredModels:
    """Return what the store knows; nothing if it does not exist or cannot be read."""
    if creates_file(settings.store):
        return StoredModels()
    try:
        store = await open_store(settings.store)
        try:
            return StoredModels(
                await store.read(stored_profiles.every),
                await store.read(stored_lessons.every, int(time.time()) - LIFE),
            )
        finally:
            await store.close()
    except (ConfigError, StoreError) as error:
        complain(f"The profiles of models cannot be read: {error}")
        return StoredModels()


def use(states: Sequence[BackendState], found: StoredModels) -> None:
    """Apply the stored profiles and lessons to the backends."""
    lessons.use(states, found.lessons)
    for state in states:
        records = found.profiles
        state.update(
            measured={model: one.profile for model, one in measured(records, state.backend).items()}
        )


def line(state: BackendState, name: str) -> str:
    """Return the known facts about a model on one line; empty if nothing is known."""
    target = _target(state, name)
    return summary(target.profile) if target.profile else ""


def taught(state: BackendState, name: str) -> str:
    """Return the names of the lessons about a model, on one line."""
    return ", ".join(dict.fromkeys(one.name for one in _target(state, name).lessons.known))


async def known(settings: Settings, model: str | None, backend: str) -> list[KnownModel]:
    """Return the facts about a model, or about every model with a profile.

    Raises `ConfigError` if it is unknown.
    """
    records = await stored(settings)
    application = await build(in_memory(settings))
    try:
        await application.listing
        states = application.parts.models.backends
        use(states, records)
        if model is not None:
            return [_known(target, records) for target in _serving(states, model, backend)]
        chosen = [state for state in states if not backend or state.name == backend]
        pairs = [
            (state, name) for state in chosen for name in sorted({*state.measured, *_taught(state)})
        ]
        return [_known(ModelTarget(state, name, name), records) for state, name in pairs]
    finally:
        await application.close()


async def probe(
    settings: Settings, model: str, backend: str, console: Console, *, measures: bool, paid: bool
) -> list[KnownModel]:
    """Probe a model at each backend that serves it, and store the results. Raises `AntiphonError`.

    A backend that may cost money is skipped, unless `paid` is set.
    """
    application = await build(settings)
    try:
        await application.listing
        store = application.parts.store
        states = application.parts.models.backends
        found = _serving(states, model, backend)
        chosen = [target for target in found if paid or await _is_free(target)]
        for target in found:
            if target not in chosen:
                console.print(
                    f"Not probed: {target.state.name} ({target.backend.url}) may cost money. "
                    "Pass --paid.",
                    soft_wrap=True,
                )
        if not chosen:
            raise ConfigError(
                f"Every backend of the model '{model}' may cost money. Pass --paid to probe it."
            )
        return [await _probe(store, target, console, measures=measures) for target in chosen]
    finally:
        await application.close()


async def forget(settings: Settings, model: str, backend: str) -> tuple[int, int]:
    """Delete the profiles of a model and the lessons about it, and return their numbers.

    Raises `ConfigError` and `StoreError`.
    """
    store = await open_store(settings.store)
    try:
        application = await build(in_memory(settings))
        try:
            await application.listing
            targets = _serving(application.parts.models.backends, model, backend)
        finally:
            await application.close()
        places = [(place_of(one.backend), one.model) for one in targets]
        profiles = sum([await store.write(stored_profiles.delete, *place) for place in places])
        return profiles, sum([await store.write(stored_lessons.delete, *place) for place in places])
    finally:
        await store.close()


def _taught(state: BackendState) -> list[str]:
    """Return the models about which the backend's refusals taught something."""
    return [model for model, lessons in state.lessons.items() if lessons.known]


def toml(found: Sequence[KnownModel]) -> str:
    """Return tables for the settings file with the measured facts."""
    return "\n".join(_toml_table(one) for one in found if one.measured)


def _toml_table(known: KnownModel) -> str:
    facts = known.measured.profile.known() if known.measured else {}
    lines = [
        "[[models]]",
        f"name = {json.dumps(known.model)}",
        f"backend = {json.dumps(known.backend)}",
    ]
    return (
        "\n".join([*lines, *(f"{name} = {json.dumps(value)}" for name, value in facts.items())])
        + "\n"
    )


async def _probe(
    store: Store, target: ModelTarget, console: Console, *, measures: bool
) -> KnownModel:
    state = target.state
    if state.dialect.one_at_a_time:
        console.print(
            f"{state.name} handles one request at a time, so the probe interrupts other requests "
            "to it.",
            soft_wrap=True,
        )
    if measures:
        console.print(
            f"Measuring the context window sends {state.name} up to {MOST_STEPS + 1} long prompts. "
            f"Each has up to {LARGEST:,} tokens, or as many as the window that the backend states. "
            "This can take minutes, and a paid backend charges for every token.",
            soft_wrap=True,
        )
    with console.status(f"Probing {target.model} at {state.name}…") as status:
        interview = Interview(
            state, target.model, watch=lambda name: status.update(f"Probing {target.model}: {name}")
        )
        found = await interview.run(measures_window=measures)
    await store_measurement(store, state.backend, target.model, found, time.time)
    console.print(
        f"Probed {target.model} at {state.name}: {found.requests} requests, "
        f"{found.tokens:,} tokens.",
        soft_wrap=True,
    )
    records = StoredModels(
        await store.read(stored_profiles.every),
        await store.read(stored_lessons.every, int(time.time()) - LIFE),
    )
    use([state], records)
    return _known(target, records)


def _known(target: ModelTarget, found: StoredModels) -> KnownModel:
    state = target.state
    place = place_of(target.backend)
    records = found.profiles
    target.follow()
    one = next((one for one in records if (one.place, one.model) == (place, target.model)), None)
    return KnownModel(
        backend=state.name,
        url=state.backend.url or "in this process",
        model=target.model,
        profile=target.profile or NOTHING_KNOWN,
        measured=measured(records, state.backend).get(target.model),
        probed_at=one.probed_at if one and one.body else 0,
        defaults=target.defaults,
        lessons=target.lessons.known,
        stated=state.stated.get(target.model, NOTHING_KNOWN),
        is_scripted=state.dialect.name == "demo",
    )


def _serving(states: Sequence[BackendState], model: str, backend: str) -> list[ModelTarget]:
    """Return the model at each backend that serves it.

    Raises `AntiphonError` if no backend serves it.
    """
    if backend and backend not in {state.name for state in states}:
        names = [state.name for state in states]
        raise ConfigError(
            f"Unknown backend '{backend}'.{did_you_mean(backend, names)} The backends are: "
            f"{', '.join(names)}."
        )
    chosen = [state for state in states if not backend or state.name == backend]
    found = [
        ModelTarget(state, called, model)
        for state in chosen
        if (called := state.called(model)) is not None
    ]
    if not found:
        silent = [state.error for state in chosen if state.error]
        names = [one["id"] for state in chosen for one in state.offers()]
        hint = (
            did_you_mean(model, names)
            or " `antiphon models` lists the models. `--backend URL` adds a server."
        )
        reason = f" {' '.join(silent)}" if silent else hint
        raise AntiphonError(f"No backend serves the model '{model}'.{reason}")
    return found


def _target(state: BackendState, name: str) -> ModelTarget:
    return ModelTarget(state, state.options.aliases.get(name, name), name)


async def _is_free(target: ModelTarget) -> bool:
    if not is_free(target.backend.url, target.state.dialect.name):
        return False
    _, is_remote = await stated(target.state, target.model)
    return not is_remote


def _displayed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return value or "none" if isinstance(value, str) else json.dumps(value)
