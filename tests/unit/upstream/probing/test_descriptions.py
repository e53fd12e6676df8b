"""What each family states about a model, in the shapes that their servers send."""

from typing import Any

import pytest

from antiphon.translation.dialects.profile import NOTHING_KNOWN, ModelProfile
from antiphon.upstream.probing.descriptions import (
    END,
    LLAMACPP_FIRST,
    LLAMACPP_NEXT,
    LLAMACPP_PROPS,
    LMSTUDIO_MODELS,
    OLLAMA_PS,
    OLLAMA_SHOW,
    OLLAMA_TAGS,
    describe,
    is_remote,
)

# Shapes: Ollama's docs/api.md, "Show Model Information", "List Local Models" and "List Running
# Models".
SHOW = {
    "parameters": 'stop                           "<|im_end|>"\nnum_ctx                        '
    "8192\ntemperature 0.6",
    "template": "{{ .Prompt }}",
    "details": {"family": "qwen3", "quantization_level": "Q4_K_M"},
    "model_info": {
        "general.architecture": "qwen3",
        "qwen3.context_length": 40960,
        "qwen3.block_count": 36,
    },
    "capabilities": ["completion", "tools", "thinking"],
}
TAGS = {
    "models": [
        {"name": "other", "digest": "f00"},
        {"name": "qwen3:latest", "digest": "500a1f067a9f"},
    ]
}
PS = {
    "models": [
        {
            "name": "qwen3:latest",
            "model": "qwen3:latest",
            "digest": "500a1f067a9f",
            "context_length": 4096,
        }
    ]
}

# Shape: llama.cpp's tools/server/README.md, "GET /props".
PROPS = {
    "default_generation_settings": {"id": 0, "n_ctx": 32768, "params": {}},
    "total_slots": 4,
    "model_path": "/models/qwen3-8b.gguf",
    "chat_template": "{%- if tools %}",
    "modalities": {"vision": False, "audio": False},
    "build_info": "b6324",
}

# Shape: LM Studio's page "REST API v0", "GET /api/v0/models".
LMSTUDIO = {
    "data": [
        {
            "id": "qwen2-vl-7b-instruct",
            "object": "model",
            "type": "vlm",
            "publisher": "mlx-community",
            "arch": "qwen2_vl",
            "compatibility_type": "mlx",
            "quantization": "4bit",
            "state": "loaded",
            "max_context_length": 32768,
            "loaded_context_length": 4096,
        },
        {
            "id": "cold",
            "type": "llm",
            "arch": "llama",
            "state": "not-loaded",
            "max_context_length": 131072,
        },
    ]
}

# Shape: vLLM's vllm/entrypoints/openai/protocol.py, `ModelCard`.
CARD = {
    "id": "qwen",
    "owned_by": "vllm",
    "root": "Qwen/Qwen3-8B",
    "parent": None,
    "max_model_len": 40960,
}


def test_ollama_states_the_window_of_a_loaded_model_and_its_digest() -> None:
    found = describe("ollama", "qwen3", {}, {OLLAMA_SHOW: SHOW, OLLAMA_TAGS: TAGS, OLLAMA_PS: PS})

    assert found.profile == ModelProfile(context_window=4096, vision=False)
    assert found.digest == "500a1f067a9f"
    assert found.sources == {"context_window": "/api/ps", "vision": "/api/show"}


def test_ollama_states_the_configured_window_of_a_model_that_is_not_loaded() -> None:
    found = describe(
        "ollama", "qwen3", {}, {OLLAMA_SHOW: SHOW, OLLAMA_TAGS: TAGS, OLLAMA_PS: {"models": []}}
    )

    assert (found.profile.context_window, found.sources["context_window"]) == (8192, "/api/show")


def test_the_window_that_a_model_was_trained_for_is_not_the_one_that_ollama_uses() -> None:
    show = {**SHOW, "parameters": 'stop "x"'}

    assert describe("ollama", "qwen3", {}, {OLLAMA_SHOW: show}).profile.context_window is None


def test_a_window_is_no_larger_than_the_one_that_the_model_was_trained_for() -> None:
    show = {**SHOW, "model_info": {"qwen3.context_length": 2048}}

    assert describe("ollama", "qwen3", {}, {OLLAMA_SHOW: show}).profile.context_window == 2048


def test_a_model_of_ollama_without_tools_needs_them_in_the_prompt() -> None:
    show = {**SHOW, "capabilities": ["completion", "vision"]}
    found = describe("ollama", "qwen3", {}, {OLLAMA_SHOW: show})

    assert (found.profile.tools, found.profile.vision) == ("prompt", True)


def test_llamacpp_states_the_window_of_a_slot_and_a_digest_that_changes_with_file_and_template() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    found = describe("llamacpp", "m", {"meta": {"n_params": 8}}, {LLAMACPP_PROPS: PROPS})
    others: list[dict[str, Any]] = [
        {**PROPS, "model_path": "/other.gguf"},
        {**PROPS, "chat_template": "x"},
    ]
    digests = {
        describe("llamacpp", "m", {"meta": {"n_params": 8}}, {LLAMACPP_PROPS: one}).digest
        for one in others
    }

    assert found.profile == ModelProfile(context_window=32768, vision=False)
    assert len({found.digest, *digests}) == 3
    assert (
        found.digest
        == describe("llamacpp", "m", {"meta": {"n_params": 8}}, {LLAMACPP_PROPS: PROPS}).digest
    )


@pytest.mark.parametrize(
    ("caps", "tools"),
    [
        ({"supports_tools": False}, "prompt"),
        ({"supports_tools": True}, None),
        ({}, None),
        (None, None),
    ],
    ids=["without tools", "with tools", "no word", "no report"],
)
def test_a_template_of_llamacpp_that_renders_no_tools_needs_them_in_the_prompt(
    caps: Any, tools: str | None
) -> None:
    found = describe("llamacpp", "m", {}, {LLAMACPP_PROPS: PROPS | {"chat_template_caps": caps}})

    assert (found.profile.tools, found.sources.get("tools")) == (tools, "/props" if tools else None)


@pytest.mark.parametrize(
    ("meta", "props"),
    [({"n_params": 8}, None), ({"n_params": 8}, {}), (None, PROPS)],
    ids=["no answer", "an empty answer", "the list of a server that still loads"],
)
def test_a_llamacpp_that_does_not_answer_has_not_changed(meta: Any, props: Any) -> None:
    assert describe("llamacpp", "m", {"meta": meta}, {LLAMACPP_PROPS: props}).digest == ""


def test_lmstudio_states_the_window_of_a_loaded_model_alone() -> None:
    loaded = describe("lmstudio", "qwen2-vl-7b-instruct", {}, {LMSTUDIO_MODELS: LMSTUDIO})
    cold = describe("lmstudio", "cold", {}, {LMSTUDIO_MODELS: LMSTUDIO})

    assert loaded.profile == ModelProfile(context_window=4096, vision=True)
    assert cold.profile == ModelProfile(vision=False)
    assert loaded.digest
    assert loaded.digest != cold.digest


@pytest.mark.parametrize("dialect", ["vllm", "sglang"])
def test_vllm_states_the_window_in_its_list_of_models(dialect: str) -> None:
    found = describe(dialect, "qwen", CARD, {})

    assert found.profile == ModelProfile(context_window=40960)
    assert found.sources == {"context_window": "/models, max_model_len"}
    assert found.digest != describe(dialect, "qwen", {**CARD, "root": "Qwen/Qwen3-4B"}, {}).digest


def test_any_list_of_models_may_state_a_window() -> None:
    assert (
        describe("openrouter", "m", {"context_length": 200_000}, {}).profile.context_window
        == 200_000
    )


@pytest.mark.parametrize("dialect", ["ollama", "llamacpp", "lmstudio", "vllm", "generic"])
@pytest.mark.parametrize(
    "junk", [None, [], "x", 7, {"models": 7, "data": "x"}, {"models": [None, 3], "data": [[]]}]
)
def test_what_is_of_another_shape_states_nothing(dialect: str, junk: Any) -> None:
    answers = dict.fromkeys(
        (OLLAMA_SHOW, OLLAMA_TAGS, OLLAMA_PS, LLAMACPP_PROPS, LMSTUDIO_MODELS), junk
    )
    found = describe(
        dialect, "m", {"max_model_len": True, "context_length": -1, "meta": 3}, answers
    )

    assert found.profile == NOTHING_KNOWN


@pytest.mark.parametrize(
    ("model", "show", "is_it"),
    [
        ("gpt-oss:120b-cloud", {}, True),
        ("deepseek-v3.1:cloud", {}, True),
        ("mine", {"remote_host": "https://ollama.com:443"}, True),
        ("qwen3", SHOW, False),
        ("cloudy", None, False),
    ],
)
def test_a_model_that_ollamas_service_answers_for_is_remote(
    model: str, show: Any, is_it: bool
) -> None:
    assert is_remote(model, {OLLAMA_SHOW: show}) is is_it


def written(*messages: str) -> dict[str, str]:
    return {"prompt": "".join(f"<|{message}|>" for message in messages) + "<|assistant|>"}


# Shape: llama.cpp's tools/server/README.md, "POST /apply-template". Qwen3's template drops earlier
# reasoning.
@pytest.mark.parametrize(
    ("first", "after", "is_stable"),
    [
        (
            written("q", "think", "call", END),
            written("q", "think", "call", END, "In port.", "And now?"),
            True,
        ),
        (
            written("q", "think", "call", END),
            written("q", "call", END, "In port.", "And now?"),
            False,
        ),
        (written("q"), written("q", "In port.", "And now?"), None),
        (written("q", END), None, None),
        (None, None, None),
        ({"prompt": 1}, ["x"], None),
    ],
)
def test_llamacpp_shows_whether_a_template_writes_earlier_turns_as_before(
    first: Any, after: Any, is_stable: bool | None
) -> None:
    found = describe(
        "llamacpp", "m", {}, {LLAMACPP_PROPS: PROPS, LLAMACPP_FIRST: first, LLAMACPP_NEXT: after}
    )

    assert found.profile.stable_template is is_stable
    assert found.sources.get("stable_template") == (
        None if is_stable is None else "/apply-template"
    )
