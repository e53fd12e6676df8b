"""A server uses the profiles in its store, drops those of models that changed, and probes models
where it is to.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from antiphon.jobs.profiles import (
    CHECK_EVERY,
    LONGEST_PROBE,
    TRY_AGAIN,
    ProfileKeeper,
    store_measurement,
)
from antiphon.storage.operations import lessons, profiles
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.probing.measurement import Measurement
from antiphon.upstream.registry import ModelRegistry
from tests.support.changed_stores import replace_operation
from tests.support.parts import NOW
from tests.support.probed_model import ProbedModel
from tests.support.waiting import let_others_run

TAGS = {"models": [{"name": "m:latest", "digest": "d1"}]}


@dataclass
class Deployment:
    """A keeper with a store, and a registry of one backend."""

    store: SqliteStore
    registry: ModelRegistry
    keeper: ProfileKeeper
    backend: HttpBackend
    clock: list[float] = field(default_factory=lambda: [0.0])

    async def put(self, profile: ModelProfile, digest: str = "d1", model: str = "m") -> None:
        await store_measurement(
            self.store,
            self.backend,
            model,
            Measurement(profile=profile, digest=digest),
            lambda: NOW,
        )

    async def target(self) -> ModelTarget:
        return await self.registry.find("m")

    async def later(self, seconds: float = CHECK_EVERY) -> None:
        self.clock[0] += seconds
        await self.keeper.poll_once()


@asynccontextmanager
async def deployment(
    model: ProbedModel, *, probes: bool = False, dialect: str = "ollama"
) -> AsyncIterator[Deployment]:
    clock = [0.0]
    async with model.serve() as url:
        backend = HttpBackend("b", url)
        registry = ModelRegistry([backend], lambda: NOW, {"b": dialect}, clock=lambda: clock[0])
        await registry.refresh()
        store = SqliteStore.open("sqlite://", now=lambda: NOW)
        keeper = ProfileKeeper(store, registry, lambda: NOW, probes=probes)
        try:
            yield Deployment(store, registry, keeper, backend, clock)
        finally:
            await keeper.close()
            await store.close()
            await backend.close()


async def test_a_stored_profile_is_used_after_the_next_poll() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS})) as one:
        target = await one.target()
        await one.put(ModelProfile(context_window=8192))
        await one.keeper.poll_once()

        assert target.profile == ModelProfile(context_window=8192)


async def test_a_profile_that_is_deleted_is_used_no_more() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS})) as one:
        await one.put(ModelProfile(context_window=8192))
        await one.keeper.poll_once()
        await one.store.write(profiles.delete, one.backend.url, "m")
        await one.keeper.poll_once()

        assert (await one.target()).profile is None


async def test_a_model_at_another_place_has_another_profile() -> None:
    async with deployment(ProbedModel()) as one:
        body = Measurement(profile=ModelProfile(context_window=8192)).encode()
        await one.store.write(
            profiles.put, StoredProfile("http://elsewhere/v1", "m", "", body, NOW)
        )
        await one.keeper.poll_once()

        assert (await one.target()).profile is None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"profile": {"vision": "much"}}'])
async def test_a_profile_that_cannot_be_read_is_not_used(body: bytes) -> None:
    async with deployment(ProbedModel()) as one:
        await one.store.write(profiles.put, StoredProfile(one.backend.url, "m", "", body, NOW))
        await one.keeper.poll_once()

        assert (await one.target()).profile is None


async def test_the_profile_of_a_model_that_has_changed_is_not_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ProbedModel(stated={"/api/tags": TAGS})
    async with deployment(model) as one:
        target = await one.target()
        await one.put(ModelProfile(context_window=8192))
        await one.keeper.poll_once()
        model.stated = {"/api/tags": {"models": [{"name": "m", "digest": "d2"}]}}

        await one.put(ModelProfile(context_window=512), model="other")
        await one.keeper.load()
        with caplog.at_level(logging.WARNING):
            await one.later()
            assert target.profile is None
            assert one.registry.backends[0].measured.keys() == {"other"}
            await one.later()

        assert target.profile is None
        (record,) = caplog.records
        assert "'m' at the backend 'b' has changed " in record.getMessage()
        assert record.getMessage().endswith(" Run `antiphon models probe m`.")
        assert model.requests == []

        await one.put(ModelProfile(context_window=4096), "d2")
        await one.later()
        assert target.profile == ModelProfile(context_window=4096)


async def test_the_profile_of_a_model_that_is_again_what_it_was_is_used_again() -> None:
    model = ProbedModel(stated={"/api/tags": TAGS})
    async with deployment(model) as one:
        target = await one.target()
        await one.put(ModelProfile(context_window=8192))
        model.stated = {"/api/tags": {"models": [{"name": "m", "digest": "d2"}]}}
        await one.later()
        assert target.profile is None
        model.stated = {"/api/tags": TAGS}
        await one.later()
        await one.later()

        assert target.profile == ModelProfile(context_window=8192)


async def test_a_closed_keeper_does_not_poll() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS})) as one:
        before = asyncio.all_tasks()
        one.keeper.start()
        await let_others_run()
        assert asyncio.all_tasks() > before
        await one.keeper.close()

        assert asyncio.all_tasks() <= before


async def test_a_model_is_not_probed_again_at_once() -> None:
    model = ProbedModel(stated={"/api/tags": TAGS})
    async with deployment(model) as one:
        await one.target()
        await one.put(ModelProfile(context_window=8192))
        await one.keeper.poll_once()
        requests_before = len(model.requested)
        await one.keeper.poll_once()

        assert len(model.requested) == requests_before


async def test_without_profiles_and_without_auto_no_backend_is_probed() -> None:
    model = ProbedModel()
    async with deployment(model) as one:
        await one.target()
        requested = list(model.requested)
        await one.keeper.poll_once()

        assert (model.requested, model.requests) == (requested, [])


# With `auto`.


async def test_a_model_is_probed_after_its_first_use_and_not_before() -> None:
    model = ProbedModel(holds=False, stated={"/api/tags": TAGS})
    async with deployment(model, probes=True) as one:
        await one.keeper.poll_once()
        assert model.requests == []

        target = await one.target()
        await one.keeper.poll_once()

        assert target.profile is not None
        assert (target.profile.json_held, target.profile.tools) == (False, "native")
        (record,) = await one.store.read(profiles.every)
        assert (record.model, record.digest, record.probed_at) == ("m", "d1", NOW)


async def test_other_processes_know_from_the_store_which_model_is_being_probed() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS}), probes=True) as one:
        await one.target()
        bodies = list[bool]()

        async def spied(profile: StoredProfile) -> None:
            bodies.append(bool(profile.body))
            await put(profile)

        put = replace_operation(one.store, profiles.put, spied)
        await one.keeper.poll_once()

        assert bodies == [False, True]


async def test_a_model_is_probed_once() -> None:
    model = ProbedModel(stated={"/api/tags": TAGS})
    async with deployment(model, probes=True) as one:
        await one.target()
        await one.keeper.poll_once()
        count = len(model.requests)
        await one.later()

        assert len(model.requests) == count > 0


async def test_a_model_that_has_changed_is_probed_again() -> None:
    model = ProbedModel(stated={"/api/tags": TAGS})
    async with deployment(model, probes=True) as one:
        target = await one.target()
        await one.keeper.poll_once()
        model.stated = {"/api/tags": {"models": [{"name": "m", "digest": "d2"}]}}
        model.vision = True
        await one.later()

        assert target.profile is not None
        assert target.profile.vision is True


@pytest.mark.parametrize(
    ("dialect", "stated"),
    [("groq", {}), ("ollama", {"/api/show": {"remote_host": "https://ollama.com:443"}})],
    ids=["service", "cloud model"],
)
async def test_what_may_cost_money_is_never_probed_unasked(
    dialect: str, stated: dict[str, Any]
) -> None:
    model = ProbedModel(stated=stated)
    async with deployment(model, probes=True, dialect=dialect) as one:
        await one.target()
        await one.keeper.poll_once()

        assert model.requests == []


@pytest.mark.parametrize(("age", "is_probed"), [(60, False), (LONGEST_PROBE + 1, True)])
async def test_a_model_that_another_process_probes_is_left_to_that_one(
    age: int, is_probed: bool
) -> None:
    model = ProbedModel()
    async with deployment(model, probes=True) as one:
        await one.target()
        await one.store.write(profiles.put, StoredProfile(one.backend.url, "m", "", b"", NOW - age))
        await one.keeper.poll_once()

        assert bool(model.requests) is is_probed


async def test_a_probing_that_fails_leaves_nothing_and_is_tried_again_later() -> None:
    model = ProbedModel(broken={"prime": 503})
    async with deployment(model, probes=True) as one:
        await one.target()
        await one.keeper.poll_once()
        assert await one.store.read(profiles.every) == []

        model.broken = {}
        await one.later(TRY_AGAIN - 1)
        assert await one.store.read(profiles.every) == []
        await one.later(1)
        assert len(await one.store.read(profiles.every)) == 1


async def test_a_lesson_survives_a_restart_and_reaches_other_processes() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS})) as one:
        (await one.target()).learn("top_p", "No top_p.")
        (await one.target()).learn("tools.plain:1", "No.", "someone")
        await one.keeper.close()

        other = ModelRegistry([one.backend], lambda: NOW, {"b": "ollama"})
        (await other.find("m")).learn("top_k", "No top_k.")
        await ProfileKeeper(one.store, other, time.time).load()
        assert len(await one.store.read(lessons.every, 0)) == 3

        found = other.backends[0].lessons_of("m")
        assert (found.of("someone"), found.of("other")) == (
            {"top_p", "top_k", "tools.plain:1"},
            {"top_p", "top_k"},
        )
        assert {lesson.stated for lesson in found.known} == {"No top_p.", "No top_k.", "No."}


async def test_a_deleted_lesson_is_forgotten_at_the_next_poll() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS})) as one:
        target = await one.target()
        target.learn("top_p", "")
        await one.keeper.poll_once()
        assert target.lessons.refused == {"top_p"}

        assert await one.store.write(lessons.delete, one.backend.url, "m") == 1
        await one.keeper.poll_once()

        assert target.lessons.refused == frozenset()


async def test_lessons_that_cannot_be_stored_hold_in_this_process() -> None:
    async with deployment(ProbedModel(stated={"/api/tags": TAGS})) as one:
        target = await one.target()
        target.learn("top_p", "")
        await one.store.close()

        await one.keeper.close()

        assert target.lessons.refused == {"top_p"}
