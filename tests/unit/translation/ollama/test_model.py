"""What Ollama states about a model, and which window it is loaded with."""

from typing import Any

import pytest

from antiphon.translation.ollama.model import (
    ANSWER,
    FIRST,
    OllamaModel,
    enough,
    next_window,
    read_model,
)

SHOW = {
    "parameters": "temperature 0.6\nnum_ctx                        16384\n",
    "model_info": {"qwen3.context_length": 40_960, "qwen3.block_count": 28},
    "capabilities": ["completion", "tools"],
}
PS = {
    "models": [
        {"name": "other:latest", "context_length": 512},
        {"name": "m:latest", "context_length": 8192},
    ]
}


def test_windows_and_capabilities_are_read() -> None:
    model = read_model("m", SHOW, PS)

    assert (model.trained, model.modelfile, model.loaded) == (40_960, 16_384, 8_192)
    assert (model.thinks, model.is_remote) == (False, False)


@pytest.mark.parametrize(
    "junk", [None, [], "x", {"parameters": 1, "model_info": [], "models": {}, "capabilities": "x"}]
)
def test_anything_else_states_nothing(junk: Any) -> None:
    assert read_model("m", junk, junk) == OllamaModel()
    assert OllamaModel().thinks is None


@pytest.mark.parametrize(
    ("name", "show"),
    [
        ("gpt-oss:120b-cloud", None),
        ("kimi:cloud", None),
        ("m", {"remote_host": "https://ollama.com"}),
    ],
)
def test_a_model_of_ollamas_service_is_remote(name: str, show: Any) -> None:
    assert read_model(name, show, None).is_remote


@pytest.mark.parametrize(
    ("model", "num_ctx", "window", "limit"),
    [
        (OllamaModel(), 65_536, None, 65_536),
        (OllamaModel(trained=40_960), 65_536, None, 40_960),
        (OllamaModel(trained=131_072), 65_536, None, 65_536),
        (OllamaModel(trained=131_072, loaded=131_072), 65_536, None, 131_072),
        (OllamaModel(trained=131_072, modelfile=100_000), 65_536, None, 100_000),
        (OllamaModel(trained=131_072, loaded=131_072), 65_536, 32_768, 32_768),
        (OllamaModel(trained=8_192), 65_536, 32_768, 8_192),
    ],
)
def test_the_largest_window_is_the_operators_and_never_beyond_the_models(
    model: OllamaModel, num_ctx: int, window: int | None, limit: int
) -> None:
    assert model.limit(num_ctx, window) == limit


@pytest.mark.parametrize(
    ("needed", "reserved", "limit", "window"),
    [
        (100, 0, 65_536, FIRST),
        (FIRST, 0, 65_536, FIRST),
        (FIRST + 1, 0, 65_536, 16_384),
        (20_000, 0, 65_536, 32_768),
        (20_000, 0, 24_000, 24_000),
        (100, 32_768, 65_536, 32_768),  # it never shrinks
        (100, 4_096, 65_536, FIRST),
        (40_000, 33_000, 65_536, 65_536),
        (100_000, 0, 65_536, 65_536),
        (100, 32_768, 8_192, 32_768),
        (100, 0, 2_048, 2_048),
    ],
)
def test_windows_grow_in_powers_of_two(needed: int, reserved: int, limit: int, window: int) -> None:
    assert next_window(needed, reserved, limit) == window


def test_a_window_holds_the_prompt_with_a_margin_and_the_answer() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "x" * 40_000}]}

    assert 10_000 * 5 // 4 + ANSWER < enough(body) < 13_000 + ANSWER
    assert enough({**body, "max_tokens": 9_000}) == enough(body) - ANSWER + 9_000
