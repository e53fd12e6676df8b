"""A model is probed over loopback: what is found is what the model can do, within the bounds of a
probing.
"""

import json
from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.dialects.table import DIALECTS
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.probing.interview import Interview
from antiphon.upstream.probing.measurement import Measurement
from antiphon.upstream.probing.probes import MOST_REQUESTS, MOST_TOKENS, PROBES
from antiphon.upstream.probing.schema_probes import KEYWORDS
from tests.support.probed_model import ProbedModel

ABLE = ModelProfile(
    tools="native",
    parallel_calls=True,
    forced_calls=True,
    streamed_calls=True,
    text_calls=(),
    json_formats=("json_object", "json_schema"),
    json_held=True,
    rejected_keywords=(),
    thinking="none",
    vision=True,
    system_role=True,
    developer_role=True,
    late_system=True,
    usage=True,
    streamed_usage=True,
    weaknesses=(),
)


async def measured(
    model: ProbedModel, dialect: str = "generic", *, measures_window: bool = False
) -> Measurement:
    async with model.serve() as url:
        state = BackendState(HttpBackend("b", url), DIALECTS[dialect], BackendOptions())
        state.update(models=[model.listed])
        try:
            return await Interview(state, "m").run(measures_window=measures_window)
        finally:
            await state.backend.close()


async def test_a_model_that_can_do_everything() -> None:
    found = await measured(ProbedModel(vision=True))

    assert found.profile == ABLE
    assert found.requests == 13
    assert found.tokens > 0
    assert found.evidence.keys() == found.profile.known().keys()


@pytest.mark.parametrize(
    ("weakness", "facts"),
    [
        ({"tools": "refused"}, {"tools": "prompt"}),
        ({"tools": "ignored"}, {"tools": "prompt", "forced_calls": False}),
        ({"tools": "hermes"}, {"tools": "native", "text_calls": ("hermes",)}),
        ({"parallel": False}, {"parallel_calls": False, "forced_calls": True}),
        ({"forced": False}, {"forced_calls": False, "tools": "native"}),
        ({"streams_calls": False}, {"streamed_calls": False, "text_calls": ("hermes",)}),
        ({"thinking": "field"}, {"thinking": "field", "thinking_control": "chat_template_kwargs"}),
        (
            {"thinking": "tags", "control": "reasoning_effort"},
            {"thinking_control": "reasoning_effort"},
        ),
        (
            {"thinking": "preopened", "control": "nothing"},
            {"thinking": "preopened", "thinking_control": ""},
        ),
        ({"formats": ("json_object",)}, {"json_formats": ("json_object",), "json_held": None}),
        ({"formats": ("json_schema",)}, {"json_formats": ("json_schema",), "json_held": True}),
        ({"formats": ()}, {"json_formats": (), "rejected_keywords": None}),
        ({"holds": False}, {"json_held": False}),
        ({"rejected": ("pattern", "$ref")}, {"rejected_keywords": ("pattern", "$ref", "$defs")}),
        ({"rejected": ("maxLength",)}, {"rejected_keywords": ("minLength", "maxLength")}),
        ({"vision": False}, {"vision": False}),
        ({"takes_images": False}, {"vision": False}),
        ({"roles": ()}, {"system_role": False, "developer_role": False, "late_system": None}),
        ({"roles": ("system",)}, {"system_role": True, "developer_role": False}),
        ({"roles": ("system",), "dropped_roles": ("developer",)}, {"developer_role": False}),
        ({"late_system": False}, {"late_system": False, "system_role": True}),
        ({"usage": False}, {"usage": False, "streamed_usage": True}),
        ({"streamed_usage": False}, {"usage": True, "streamed_usage": False}),
    ],
)
async def test_a_weakness_is_found(weakness: dict[str, Any], facts: dict[str, Any]) -> None:
    found = await measured(ProbedModel(**{"vision": True, **weakness}))

    assert {name: getattr(found.profile, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("weak", "found"),
    [
        ({}, ()),
        ({"tools": "hermes"}, ()),
        ({"tools": "refused"}, ()),
        ({"tools": "ignored"}, ()),
        ({"tools": "refused", "roles": ()}, None),
        ({"tools": "refused", "reads_tools": False}, ("calls",)),
        ({"tools": "ignored", "reads_tools": False}, ("calls",)),
        ({"obeys": False}, ("instructions",)),
        ({"obeys": False, "tools": "refused", "reads_tools": False}, ("instructions", "calls")),
        ({"broken": {"get_weather": 503}}, None),
        ({"broken": {"PINEAPPLE": 503}}, None),
    ],
    ids=str,
)
async def test_what_a_model_does_unforced_decides_whether_agents_can_use_it(
    weak: dict[str, Any], found: tuple[str, ...] | None
) -> None:
    """A role that the template rejects, and a server that fails, are no weakness of the model."""
    assert (await measured(ProbedModel(vision=True, **weak))).profile.weaknesses == found


async def test_a_schema_along_with_a_json_object_is_measured_if_the_family_supports_it() -> None:
    formats = ("json_object", "json_object_schema")
    found = await measured(ProbedModel(formats=formats, rejected=("not",)), "llama-cpp-python")

    assert found.profile.json_formats == formats
    assert (found.profile.json_held, found.profile.rejected_keywords) == (True, ("not",))


async def test_thinking_is_switched_off_for_the_questions_that_follow() -> None:
    model = ProbedModel(thinking="tags")
    await measured(model, "llamacpp")

    quiet = [
        one.get("chat_template_kwargs") == {"enable_thinking": False} for one in model.requests
    ]
    assert quiet == [False, *[True] * (len(model.requests) - 1)]


@pytest.mark.parametrize("status", [401, 404, 429, 503])
async def test_a_server_failure_does_not_affect_the_state_of_the_model(status: int) -> None:
    found = await measured(ProbedModel(vision=True, broken={"get_weather": status}))

    assert found.profile.tools is None
    assert found.profile.forced_calls is None
    assert (found.profile.vision, found.profile.json_held) == (True, True)


async def test_a_server_is_not_called_again_after_three_failures_in_a_row() -> None:
    model = ProbedModel(broken={"PINEAPPLE": 503})
    found = await measured(model)

    assert len(model.requests) == found.requests == 5
    assert found.profile == ModelProfile(usage=True, streamed_usage=True, thinking="none")


async def test_a_possibly_accidental_status_is_retried_once() -> None:
    model = ProbedModel(broken={'"json_schema"': 500})
    found = await measured(model)

    assert sum("json_schema" in json.dumps(one) for one in model.requests) == 2
    assert found.profile.json_formats == ("json_object",)


async def test_a_parameter_of_every_question_that_the_backend_rejects_is_left_out() -> None:
    model = ProbedModel(
        rejected_parameters=("temperature", "max_tokens", "stream_options"), vision=True
    )
    found = await measured(model)

    assert found.profile == ABLE
    assert found.requests == 16
    assert {"temperature", "max_tokens"}.isdisjoint(model.requests[-1])
    assert "max_completion_tokens" in model.requests[-1]


async def test_a_model_that_only_streams_is_measured_by_streams() -> None:
    model = ProbedModel(only_streams=True, vision=True)
    found = await measured(model)

    assert found.profile == ABLE
    assert [request["stream"] for request in model.requests] == [False] + [True] * (
        len(model.requests) - 1
    )


async def test_a_backend_that_does_not_answer_is_not_measured() -> None:
    with pytest.raises(BackendError) as caught:
        await measured(ProbedModel(broken={"prime": 404}))

    assert "answered with status 404 for the model 'm'" in caught.value.message


async def test_the_worst_model_stays_within_the_bounds() -> None:
    model = ProbedModel(
        thinking="tags", control="nothing", rejected=tuple(KEYWORDS), broken={"PINEAPPLE": 500}
    )
    found = await measured(model)

    assert found.requests == len(model.requests) <= MOST_REQUESTS
    assert sum(one["max_tokens"] for one in model.requests) <= MOST_TOKENS


def test_all_questions_together_stay_within_the_bounds() -> None:
    assert len(PROBES) <= MOST_REQUESTS
    assert sum(probe.tokens for probe in PROBES) <= MOST_TOKENS
    assert len({probe.name for probe in PROBES}) == len(PROBES)


# What the families state.


async def test_an_ollama_states_window_and_digest_once_the_model_is_loaded() -> None:
    model = ProbedModel(
        stated={
            "/api/show": {
                "capabilities": ["completion", "tools"],
                "model_info": {"qwen3.context_length": 40960},
            },
            "/api/tags": {"models": [{"name": "m:latest", "digest": "d1"}]},
            "/api/ps": {"models": [{"name": "m:latest", "context_length": 8192}]},
        }
    )
    found = await measured(model, "ollama")

    assert (found.digest, found.profile.context_window, found.profile.vision) == ("d1", 8192, False)
    assert found.evidence["context_window"] == "/api/ps"
    assert not any("image_url" in json.dumps(one) for one in model.requests)


async def test_a_llamacpp_states_window_and_vision() -> None:
    props = {
        "default_generation_settings": {"n_ctx": 32768},
        "model_path": "/m.gguf",
        "modalities": {"vision": True},
    }
    found = await measured(ProbedModel(stated={"/props": props}), "llamacpp")

    assert (found.profile.context_window, found.profile.vision) == (32768, True)
    assert found.digest


async def test_a_vllm_states_the_window_in_its_list() -> None:
    listed = {"id": "m", "owned_by": "vllm", "root": "Qwen/Qwen3-8B", "max_model_len": 40960}
    found = await measured(ProbedModel(listed=listed), "vllm")

    assert found.profile.context_window == 40960


async def test_an_lmstudio_states_the_window_of_the_loaded_model() -> None:
    models = {"data": [{"id": "m", "type": "llm", "arch": "qwen3", "loaded_context_length": 4096}]}
    found = await measured(ProbedModel(stated={"/api/v0/models": models}), "lmstudio")

    assert (found.profile.context_window, found.profile.vision) == (4096, False)


# The measured window.


@pytest.mark.parametrize("truncates", [True, False])
async def test_a_smaller_window_than_the_stated_one_is_measured(truncates: bool) -> None:
    listed = {"id": "m", "max_model_len": 32768}
    model = ProbedModel(listed=listed, window=8192, truncates=truncates)

    found = await measured(model, measures_window=True)

    assert found.profile.context_window is not None
    assert 0.85 * 8192 <= found.profile.context_window <= 8192
    assert found.evidence["context_window"] == "measured"


async def test_a_stated_window_that_holds_is_confirmed_by_one_long_prompt() -> None:
    model = ProbedModel(listed={"id": "m", "max_model_len": 16384}, window=16384)
    before = (await measured(ProbedModel(listed=model.listed))).requests

    found = await measured(model, measures_window=True)

    assert found.profile.context_window == 16384
    assert found.requests == before + 2


async def test_a_window_is_not_measured_where_tokens_are_not_reported() -> None:
    found = await measured(
        ProbedModel(usage=False, listed={"id": "m", "max_model_len": 512}), measures_window=True
    )

    assert found.evidence["context_window"] == "/models, max_model_len"
