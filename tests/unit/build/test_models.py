"""What the settings say of models, as options of their backends; and what they may not say."""

from typing import Any

import pytest

from antiphon.build.models import (
    check_models,
    check_references,
    hidden_models,
    options_of,
    unknown_models,
)
from antiphon.config import BackendConfig, ModelConfig, Settings
from antiphon.config.models import PriceConfig
from antiphon.errors import ConfigError
from antiphon.protocol.tools import WebSearchTool
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.upstream.options import ModelOptions
from antiphon.upstream.prices import Prices
from tests.support.parts import Listed
from tests.unit.upstream.test_registry import models


def flaw(*models: ModelConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        check_models(models, ["gpu", "cpu"])
    return caught.value.message


def test_facts_become_a_profile_and_the_rest_defaults() -> None:
    config = ModelConfig(
        name="m",
        context_window=8192,
        tools="prompt",
        stop=["x"],
        parameters={"top_k": 1},
        efforts={"low": {"b": 1}},
    )

    assert options_of([config], "gpu") == [
        ModelOptions(
            "m",
            ModelProfile(context_window=8192, tools="prompt"),
            ModelDefaults(parameters={"top_k": 1, "stop": ["x"]}, efforts={"low": {"b": 1}}),
        )
    ]


def test_a_model_with_facts_alone_has_no_defaults() -> None:
    assert options_of([ModelConfig(name="m", vision=False)], "gpu")[0].defaults is None


def test_a_backend_gets_what_is_about_it_and_about_every_backend_the_general_first() -> None:
    models = [
        ModelConfig(name="a", backend="gpu"),
        ModelConfig(name="b"),
        ModelConfig(name="c", backend="cpu"),
        ModelConfig(name="*", backend="gpu"),
        ModelConfig(name="*"),
    ]

    assert [one.name for one in options_of(models, "gpu")] == ["*", "*", "b", "a"]
    assert [one.name for one in options_of(models, "cpu")] == ["*", "b", "c"]


def test_settings_that_fit_pass() -> None:
    check_models(
        [ModelConfig(name="m", backend="gpu"), ModelConfig(name="m"), ModelConfig(name="*")],
        ["gpu"],
    )


def test_an_unknown_backend_is_named_with_those_that_exist() -> None:
    stated = flaw(ModelConfig(name="m", backend="gpo"))

    assert stated == (
        "The model 'm' names the backend 'gpo', which does not exist. Did you mean 'gpu'? The "
        "backends are: cpu, gpu."
    )


LISTED = [
    BackendConfig(url="http://a/v1", name="gpu", models=["qwen3"], aliases={"fast": "qwen3"}),
    BackendConfig(url="http://b/v1", name="cpu", models=["llava"]),
]


@pytest.mark.parametrize(
    ("wrong", "setting", "hint"),
    [
        ({"vision": "lava"}, "`vision` names the model 'lava'", " Did you mean 'llava'?"),
        ({"vision": "gpo/llava"}, "`vision` names the model 'gpo/llava'", ""),
        ({"cache_embeddings": "xyz"}, "`cache_embeddings` names the model 'xyz'", ""),
        ({"search_embeddings": "xyz"}, "`search_embeddings` names the model 'xyz'", ""),
        (
            {"fallback": {"fast": ["qwen33"]}},
            "`fallback` names the model 'qwen33'",
            " Did you mean 'qwen3'?",
        ),
    ],
)
def test_a_model_that_no_backend_can_have_is_rejected(
    wrong: dict[str, Any], setting: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_references(Settings(backends=LISTED, **wrong))

    assert caught.value.message.startswith(f"{setting}, which no backend serves.{hint}")
    assert caught.value.message.endswith(" The models are: fast, llava, qwen3.")


@pytest.mark.parametrize("vision", ["", "llava", "fast", "gpu/anything"])
def test_a_model_that_a_backend_may_have_passes(vision: str) -> None:
    check_references(Settings(backends=LISTED, vision=vision))
    check_references(Settings(backends=[*LISTED, BackendConfig(url="http://c/v1")], vision="typo"))
    check_references(
        Settings(backends=[*LISTED, BackendConfig(url="http://c/v1", models="*")], vision="typo")
    )
    check_references(Settings(vision="typo"))


async def test_a_model_in_no_list_is_reported_once_all_backends_listed_theirs() -> None:
    a = Listed("a", ["qwen3"])
    b = Listed("b", None)
    registry = models(a, b)
    settings = Settings(vision="qwen", fallback={"x": ["qwen3"]})
    await registry.refresh()
    assert unknown_models(settings, registry) == []

    b.models = ["llava"]
    await registry.refresh()
    assert unknown_models(settings, registry) == [
        "`vision` names the model 'qwen', which no backend lists. Did you mean 'qwen3'?"
    ]


async def test_a_model_with_the_name_of_an_agent_is_reported() -> None:
    registry = models(Listed("a", ["qwen3", "refunds"]), Listed("b", ["qwen3"]))
    await registry.refresh()

    assert hidden_models(["other"], registry) == []
    [sentence] = hidden_models(["refunds"], registry)
    assert "'refunds' of the backend 'a'" in sentence


async def test_the_image_model_is_searched_among_the_backends_unless_it_has_its_own_server() -> (
    None
):
    registry = models(Listed("a", ["flux"]))
    await registry.refresh()

    assert unknown_models(Settings(images_model="flux-dev"), registry) == [
        "`images_model` names the model 'flux-dev', which no backend lists. Did you mean 'flux'?"
    ]
    elsewhere = Settings(images_model="flux-dev", images_backend="http://127.0.0.1:9/v1")
    assert unknown_models(elsewhere, registry) == []


def test_two_tables_about_the_same_model_are_rejected() -> None:
    assert "are about 'm' at the backend 'gpu'" in flaw(*[ModelConfig(name="m", backend="gpu")] * 2)
    assert "are about 'm'. Write one." in flaw(*[ModelConfig(name="m")] * 2)


def test_a_model_without_a_name_is_rejected() -> None:
    assert "empty `name`" in flaw(ModelConfig(name=""))


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"parameters": {"messages": []}}, "'messages' in `parameters`"),
        ({"parameters": {"max_tokens": 5}}, "'max_tokens' in `parameters`"),
        ({"parameters": {"stop": "x"}}, "'stop' in `parameters`: `stop` has a key of its own"),
        ({"efforts": {"low": {"stream": True}}}, "'stream' in `efforts.low`"),
    ],
)
def test_a_parameter_that_is_not_the_models_is_rejected(config: dict[str, Any], place: str) -> None:
    assert place in flaw(ModelConfig(name="m", **config))


def priced(**prices: float) -> ModelOptions:
    return options_of([ModelConfig(name="m", prices=PriceConfig(**prices))], "gpu")[0]


def test_prices_are_read_as_they_are_written() -> None:
    assert priced(input=0.15, output=0.6).prices == Prices(150_000_000, 150_000_000, 600_000_000)
    assert priced(input=0.1, output=0, cached_input=0.025).prices == Prices(
        100_000_000, 25_000_000, 0
    )
    assert options_of([ModelConfig(name="m")], "gpu")[0].prices is None


def test_a_price_with_too_many_digits_is_rejected() -> None:
    with pytest.raises(ConfigError, match=r"'m' has a price.*1e-10 has more than nine digits"):
        priced(input=1e-10, output=1)


def test_a_preset_names_its_base_its_tools_and_its_instructions() -> None:
    config = ModelConfig(
        name="m-search",
        base="m",
        instructions="Search.",
        hosted_tools=[{"type": "web_search"}],
        max_tool_calls=3,
    )

    preset = options_of([config], "gpu")[0].preset

    assert preset is not None
    assert (preset.base, preset.instructions, preset.max_tool_calls) == ("m", "Search.", 3)
    assert preset.tools is not None
    assert [type(tool) for tool in preset.tools] == [WebSearchTool]


@pytest.mark.parametrize(
    ("configs", "named"),
    [
        ([ModelConfig(name="m", instructions="x")], "`instructions` without `base`"),
        ([ModelConfig(name="m", base="m")], "'m' as `base`"),
        ([ModelConfig(name="a", base="*")], "'*' as `base`"),
        ([ModelConfig(name="a", base="b"), ModelConfig(name="b", base="c")], "the preset 'b'"),
    ],
)
def test_a_preset_needs_a_model_as_its_base(configs: list[ModelConfig], named: str) -> None:
    assert named in flaw(*configs)


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        ({"type": "function", "name": "look", "parameters": {}}, "'function'"),
        ({"type": "shell"}, "'shell'"),
        ({"type": "web_serch"}, "web_serch"),
        ({"type": "mcp", "server_label": "dice", "server_url": "https://a/mcp"}, "'dice'"),
    ],
)
def test_a_preset_has_only_tools_that_a_server_runs(tool: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options_of([ModelConfig(name="a", base="m", hosted_tools=[tool])], "gpu")

    assert named in caught.value.message


def test_a_preset_of_a_model_that_no_backend_serves_is_reported() -> None:
    settings = Settings(backends=LISTED, models=[ModelConfig(name="a", base="qwen4")])

    with pytest.raises(ConfigError) as caught:
        check_references(settings)

    assert "'qwen4'" in caught.value.message
