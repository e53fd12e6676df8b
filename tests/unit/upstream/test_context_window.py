"""The window that a backend states in its list of models."""

from typing import Any

import pytest

from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.backend import Listing
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.registry import ModelRegistry
from tests.support.parts import Listed


class Stating(Listed):
    """A backend that states this of its models."""

    def __init__(self, name: str, **models: dict[str, Any]) -> None:
        super().__init__(name, [*models])
        self.stated = models

    async def list_models(self) -> Listing:
        return Listing([{"id": model, **stated} for model, stated in self.stated.items()])


async def registry(*backends: Listed, **options: BackendOptions) -> ModelRegistry:
    found = ModelRegistry(backends, lambda: 100.0, options=options)
    await found.refresh()
    return found


@pytest.mark.parametrize(
    "stated",
    [
        {"max_model_len": 4096},
        {"context_length": 4096},
        {"context_window": 4096},
        {"max_context_length": 4096},
        {"max_model_len": None, "context_length": 4096},
        {"meta": {"n_ctx": 4096, "n_ctx_train": 32768}},
    ],
)
async def test_it_is_read_from_the_field_of_each_family(stated: dict[str, Any]) -> None:
    assert (await registry(Stating("a", m=stated))).context_window("m") == 4096


@pytest.mark.parametrize(
    "stated",
    [
        *({}, {"max_model_len": "4096"}, {"max_model_len": True}, {"context_window": 0}),
        *(
            {"meta": None},
            {"meta": {"n_ctx": None, "n_ctx_train": 32768}},
            {"meta": [4096]},
            {"meta": {"n_ctx": 0}},
        ),
    ],
)
async def test_it_is_unknown_if_the_backend_does_not_state_it(stated: dict[str, Any]) -> None:
    assert (await registry(Stating("a", m=stated))).context_window("m") is None


async def test_the_smallest_of_several_backends_counts() -> None:
    known = await registry(
        Stating("a", m={"context_length": 8192}),
        Stating("b", m={"context_length": 4096}),
        Stating("c", m={}),
    )
    assert known.context_window("m") == 4096


async def test_an_alias_has_the_window_of_its_model() -> None:
    options = BackendOptions(aliases={"coder": "m"})
    known = await registry(Stating("a", m={"context_length": 8192}), a=options)
    assert known.context_window("coder") == 8192


async def test_a_model_without_a_backend_has_no_context_window() -> None:
    assert (await registry(Stating("a", m={"context_length": 8192}))).context_window("x") is None


async def test_what_is_configured_counts_more() -> None:
    configured = [ModelOptions("m", ModelProfile(context_window=2048))]
    known = await registry(
        Stating("a", m={"context_length": 8192}), a=BackendOptions(configured=configured)
    )
    assert known.context_window("m") == 2048


async def test_what_was_measured_counts_more_than_what_is_stated() -> None:
    known = await registry(Stating("a", m={"context_length": 8192}))
    known.backends[0].update(measured={"m": ModelProfile(context_window=4096)})
    assert known.context_window("m") == 4096


@pytest.mark.parametrize(
    ("first", "second", "seen"), [(True, True, True), (True, None, None), (True, False, False)]
)
async def test_a_model_supports_images_if_each_backend_reports_it(
    first: bool | None, second: bool | None, seen: bool | None
) -> None:
    known = await registry(Stating("a", m={}), Stating("b", m={}))
    for state, vision in zip(known.backends, (first, second), strict=True):
        state.update(measured={"m": ModelProfile(vision=vision)})
    assert known.sees_images("m") is seen


async def test_ollama_has_the_largest_window_that_it_may_load() -> None:
    configured = [ModelOptions("small", ModelProfile(context_window=8192))]
    models: dict[str, dict[str, Any]] = {"m:latest": {}, "small": {}, "big-cloud": {}}
    options = BackendOptions(api="ollama", num_ctx=32_768, configured=configured)
    known = await registry(Stating("a", **models), a=options)
    assert [known.context_window(name) for name in ("m", "small", "big-cloud")] == [
        32_768,
        8192,
        None,
    ]
