import asyncio
import math

import pytest

from antiphon.errors import BackendError, ClientError
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.backend import Backend, Listing
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.registry import STALE_AFTER, ModelRegistry
from tests.support.parts import Listed
from tests.support.waiting import let_others_run


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def models(*backends: Listed, now: Clock | None = None, **dialects: str) -> ModelRegistry:
    return ModelRegistry(backends, now or Clock(), dialects)


async def test_each_model_is_found_at_its_backend() -> None:
    known = models(Listed("a", ["x", "y"]), Listed("b", ["z"]))

    assert [(await known.find(name)).backend.name for name in "xyz"] == ["a", "a", "b"]
    assert [model["id"] for model in known.list()] == ["x", "y", "z"]


async def test_of_two_backends_with_the_same_model_the_first_serves_it() -> None:
    known = models(Listed("a", ["x"]), Listed("b", ["x"]))

    assert (await known.find("x")).backend.name == "a"
    assert known.list() == [{"id": "x", "object": "model", "created": 0, "owned_by": "a"}]


async def test_a_name_without_its_tag_is_the_latest() -> None:
    target = await models(Listed("a", ["llama3:latest"])).find("llama3")

    assert (target.backend.name, target.model) == ("a", "llama3")


async def test_an_unknown_model_is_the_clients_mistake() -> None:
    with pytest.raises(ClientError) as caught:
        await models(Listed("a", ["x"]), Listed("b", None)).find("q" * 400)

    assert (caught.value.status, caught.value.code, caught.value.param) == (
        400,
        "model_not_found",
        "model",
    )
    assert len(caught.value.message) < 200


async def test_where_no_backend_can_be_reached_it_is_not() -> None:
    with pytest.raises(BackendError) as caught:
        await models(Listed("a", None), Listed("b", None)).find("x")
    assert caught.value.status == 503


@pytest.mark.parametrize("listing", [None, []], ids=["unreachable", "lists nothing"])
async def test_the_only_backend_is_called_for_any_model_while_it_lists_none(
    listing: list[str] | None,
) -> None:
    assert (await models(Listed("a", listing)).find("x")).backend.name == "a"


async def test_a_new_model_is_found_after_a_while_without_a_search_at_every_request() -> None:
    backend = Listed("a", ["x"])
    now = Clock()
    known = models(backend, now=now)
    await known.refresh()
    backend.models = ["x", "new"]

    with pytest.raises(ClientError):
        await known.find("new")
    assert backend.requested == 1

    now.now += STALE_AFTER + 1
    assert (await known.find("new")).model == "new"
    assert backend.requested == 2


async def test_a_removed_model_is_unknown_after_the_next_poll() -> None:
    backend = Listed("a", ["x", "y"])
    known = models(backend)
    await known.find("y")
    backend.models = ["x"]
    await known.refresh()

    with pytest.raises(ClientError):
        await known.find("y")


async def test_a_backend_that_goes_away_keeps_its_models_for_a_better_error_than_unknown() -> None:
    backend = Listed("a", ["x"])
    known = models(backend, Listed("b", ["y"]))
    await known.refresh()
    backend.models = None
    await known.refresh()

    assert (await known.find("x")).backend.name == "a"
    assert known.backends[0].error == "Backend 'a' is unreachable: connection refused."


async def test_lessons_about_a_model_outlive_a_new_poll() -> None:
    known = models(Listed("a", ["x"]))
    (await known.find("x")).lessons.learn("top_p")
    await known.refresh()

    assert (await known.find("x")).lessons.refused == {"top_p"}


async def test_each_backend_has_its_own_dialect_detected_or_configured() -> None:
    known = models(
        Listed("a", ["x"], "https://api.groq.com/openai/v1"), Listed("b", ["y"]), b="vllm"
    )

    assert ((await known.find("x")).dialect.name, (await known.find("y")).dialect.name) == (
        "groq",
        "vllm",
    )


async def test_a_backend_keeps_its_detected_dialect_until_another_backend_takes_its_name() -> None:
    vllm = Listed("vllm", ["x"])
    known = models(vllm)
    await known.refresh()
    known.assign([vllm])
    assert (await known.find("x")).dialect.name == "vllm"

    known.assign([Listed("vllm", ["x"])])
    assert known.backends[0].dialect.name == "generic"


async def test_backends_are_called_concurrently_and_once_for_all_waiters() -> None:
    started = asyncio.Semaphore(0)
    go = asyncio.Event()

    class Slow(Listed):
        async def list_models(self) -> Listing:
            started.release()
            await go.wait()
            return await super().list_models()

    first = Slow("a", ["x"])
    second = Slow("b", ["y"])
    known = models(first, second)
    waiting = [asyncio.create_task(known.refresh()) for _ in range(10)]
    async with asyncio.timeout(30):
        await started.acquire()
        await started.acquire()
        go.set()
        await asyncio.gather(*waiting)

    assert (first.requested, second.requested) == (1, 1)


class Slow(Listed):
    """A backend that lists its models when it is told to."""

    def __init__(self, name: str, models: list[str] | None) -> None:
        super().__init__(name, models)
        self.is_requested, self.go = asyncio.Event(), asyncio.Event()

    async def list_models(self) -> Listing:
        self.is_requested.set()
        await self.go.wait()
        return await super().list_models()


async def test_a_poll_after_an_assignment_of_backends_does_not_share_an_earlier_poll() -> None:
    old = Slow("a", ["x"])
    new = Listed("b", ["y"])
    known = models(old)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(known.refresh())
        await old.is_requested.wait()
        known.assign([new])
        later = [group.create_task(known.refresh()) for _ in range(3)]
        await let_others_run()
        old.go.set()
        await asyncio.gather(*later)

    assert (await known.find("y")).backend is new
    assert new.requested == 1


async def test_the_models_of_a_new_backend_are_listed_at_once_whatever_the_last_poll() -> None:
    known = models(Listed("a", ["x"]))
    await known.refresh()
    known.assign([Listed("b", ["y"]), Listed("c", ["z"])])

    assert (await known.find("y")).backend.name == "b"


@pytest.mark.parametrize("listing", [["old"], None], ids=["lists", "fails"])
async def test_reports_of_a_replaced_backend_are_not_attributed_to_its_successor(
    listing: list[str] | None,
) -> None:
    old = Slow("a", listing)
    new = Listed("a", ["new"])
    known = models(old)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        poll = group.create_task(known.refresh())
        await old.is_requested.wait()
        known.assign([new])
        old.go.set()
        await poll

    (backend,) = known.backends
    assert (backend.backend, backend.models, backend.error, backend.health.failures) == (
        new,
        [],
        "not queried yet",
        0,
    )


async def test_what_a_probe_finds_of_a_backend_that_another_has_replaced_is_not_taken_for_the_others(  # noqa: E501 - one text, or a row of a table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share = {"a": BackendOptions(api="auto")}
    old = Listed("a", ["x"])
    new = Listed("a", ["x"])
    known = ModelRegistry([old], Clock(), options=share)

    async def replaced(_: Backend) -> str:
        known.assign([new], options=share)
        return "responses"

    monkeypatch.setattr("antiphon.upstream.registry.probe", replaced)
    await known.refresh()

    assert known.backends[0].is_probed
    assert known.backends[0].probed is None


async def test_what_is_no_model_in_a_list_is_passed_over() -> None:
    class Odd(Listed):
        async def list_models(self) -> Listing:
            return Listing(
                [{"id": 7}, {}, {"id": "x", "created": "now", "owned_by": {"name": "me"}}]
            )

    known = models(Odd("a", []))
    await known.refresh()

    assert known.list() == [{"id": "x", "object": "model", "created": 0, "owned_by": "unknown"}]


async def test_names_that_clients_make_up_do_not_pile_up() -> None:
    known = models(Listed("a", []))
    for number in range(5000):
        (await known.find(f"made-up-{number}")).lessons.learn("top_k")

    state = known.backends[0]
    assert max(len(stored) for stored in (known.known, state.targets, state.lessons)) < 2500


async def test_a_name_that_clients_insist_on_is_left_to_the_only_backend_there_is() -> None:
    assert (await models(Listed("a", ["llama"])).find("gpt-5.5")).backend.name == "a"
    for known in (
        models(Listed("a", ["x"]), Listed("b", ["y"])),
        models(Listed("demo", ["demo"], url="")),
    ):
        with pytest.raises(ClientError):
            await known.find("gpt-5.5")


async def test_a_sequential_backend_is_not_queried_for_its_models_while_it_answers() -> None:
    backend = Listed("a", ["x"])
    known = models(backend, a="llama-cpp-python")
    slots = known.backends[0].slots
    await known.refresh()

    await slots.enter()
    await known.refresh()
    assert (backend.requested, slots.free, known.backends[0].error) == (1, 0, "")

    slots.leave()
    await known.refresh()
    assert (backend.requested, slots.free) == (2, 1)


async def test_the_concurrency_follows_the_measured_speed_of_the_backend() -> None:
    backend = Listed("me", ["x"])
    known = models(backend)
    slots = known.backends[0].slots
    assert slots.free == math.inf

    await known.refresh()
    assert slots.free == 1

    known.assign([backend], {"me": "generic"}, {"me": BackendOptions(concurrency=4)})
    assert slots.free == 4


async def known(*profiles: ModelProfile | None) -> ModelRegistry:
    """Backends of which all but those without a profile list the model m, with what is configured
    of it.
    """
    listed = [
        Listed(name, ["m" if profile else "n"])
        for name, profile in zip("abc", profiles, strict=False)
    ]
    options = {
        name: BackendOptions(configured=(ModelOptions("m", profile=profile),))
        for name, profile in zip("abc", profiles, strict=False)
        if profile
    }
    created = ModelRegistry(listed, Clock(), options=options)
    await created.refresh()
    return created


@pytest.mark.parametrize(
    ("windows", "smallest"),
    [([8, 4], 4), ([4, 8], 4), ([None, 8], 8), ([None, None], None), ([], None)],
)
async def test_the_window_of_a_model_is_the_smallest_of_those_that_are_known(
    windows: list[int | None], smallest: int | None
) -> None:
    created = await known(*(ModelProfile(context_window=window) for window in windows), None)
    assert created.context_window("m") == smallest


@pytest.mark.parametrize(
    ("vision", "sees"),
    [
        ([True, True], True),
        ([True, False], False),
        ([True, None], None),
        ([False, None], False),
        ([None], None),
        ([], None),
    ],
)
async def test_a_model_sees_images_if_it_does_so_at_each_backend(
    vision: list[bool | None], sees: bool | None
) -> None:
    created = await known(*(ModelProfile(vision=one) for one in vision), None)
    assert created.sees_images("m") is sees


async def test_a_parameter_is_accepted_if_one_backend_takes_it_or_may() -> None:
    options = {
        name: BackendOptions(passthrough=frozenset(own))
        for name, own in {"a": ["seed"], "b": ["top_k"]}.items()
    }
    created = ModelRegistry([Listed("a", ["m"]), Listed("b", ["m"])], Clock(), options=options)
    assert created.accepts("other"), "neither was reached"
    await created.refresh()

    assert [created.accepts(name) for name in ("seed", "top_k", "other")] == [True, True, False]
