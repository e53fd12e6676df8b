"""A model's defaults fill what a request leaves open, and never replace what the client wrote."""

from typing import Any

import msgspec
import pytest

from antiphon.protocol.formats import ReasoningUpdate
from antiphon.protocol.items.messages import ConfigurationUpdate
from antiphon.protocol.requests import CreateResponse, LocalRequest
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.defaults import ModelDefaults, combined, flaw
from antiphon.translation.to_chat_completions.request import normalise_input, to_chat

NONE = frozenset[str]()


def sent(
    defaults: ModelDefaults,
    refused: frozenset[str] = NONE,
    dialect: str = "llamacpp",
    **fields: Any,
) -> Any:
    """The body of a Chat request to a model with these defaults."""
    parameters = fields.pop("parameters", None)
    request = msgspec.convert({"model": "m", "input": "Hi", **fields}, CreateResponse)
    if parameters is not None:
        request = LocalRequest.of(request, parameters)
    items = normalise_input(request.input, lambda prefix: prefix)
    request = defaults.complete(request, items)
    body = to_chat(request, items, DIALECTS[dialect], refused)
    defaults.fill(body, request, refused)
    return body


def test_a_parameter_that_the_client_does_not_set_has_its_default() -> None:
    body = sent(ModelDefaults(parameters={"temperature": 0.7, "top_k": 20, "stop": ["</s>"]}))

    assert (body["temperature"], body["top_k"], body["stop"]) == (0.7, 20, ["</s>"])


@pytest.mark.parametrize("value", [0, 0.2, 1])
def test_the_clients_own_value_wins_even_where_it_is_zero(value: float) -> None:
    assert (
        sent(ModelDefaults(parameters={"temperature": 0.7}), temperature=value)["temperature"]
        == value
    )


def test_the_clients_own_value_wins_where_the_dialect_does_not_take_it() -> None:
    body = sent(
        ModelDefaults(parameters={"presence_penalty": 1}), dialect="groq", presence_penalty=0
    )

    assert "presence_penalty" not in body


def test_a_local_parameter_of_the_client_wins() -> None:
    defaults = ModelDefaults(parameters={"top_k": 20}, efforts={"low": {"thinking_budget": 100}})
    body = sent(
        defaults, parameters={"top_k": 5, "thinking_budget": 7}, reasoning={"effort": "low"}
    )

    assert (body["top_k"], body["thinking_budget"]) == (5, 7)


def test_a_parameter_that_the_backend_rejected_is_left_out() -> None:
    assert "top_k" not in sent(ModelDefaults(parameters={"top_k": 20}), frozenset({"top_k"}))


def test_the_system_prompt_precedes_the_instructions() -> None:
    prompt = ModelDefaults(system_prompt="Answer in French.")

    assert sent(prompt)["messages"][0] == {"role": "system", "content": "Answer in French."}
    assert (
        sent(prompt, instructions="Be brief.")["messages"][0]["content"]
        == "Answer in French.\n\nBe brief."
    )


def test_an_effort_stands_for_a_budget() -> None:
    defaults = ModelDefaults(
        efforts={"low": {"thinking_budget": 1024}, "high": {"thinking_budget": 16384}}
    )

    assert sent(defaults, reasoning={"effort": "high"})["thinking_budget"] == 16384
    assert "thinking_budget" not in sent(defaults)


def test_a_request_that_names_no_effort_has_the_models() -> None:
    defaults = ModelDefaults(effort="low", efforts={"low": {"thinking_budget": 1024}})

    assert sent(defaults)["thinking_budget"] == 1024
    assert "thinking_budget" not in sent(defaults, reasoning={"effort": "high"})


def test_an_effort_that_the_conversation_was_set_to_comes_before_the_models() -> None:
    update = ConfigurationUpdate(reasoning=ReasoningUpdate(effort="high"))
    request = CreateResponse(model="m", input=[update])

    completed = ModelDefaults(effort="low").complete(request, [update])

    assert completed.reasoning is not None
    assert completed.reasoning.effort == "high"


def test_template_arguments_join_those_of_the_effort_which_win() -> None:
    defaults = ModelDefaults(
        parameters={"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}}
    )

    body = sent(defaults, reasoning={"effort": "none"})

    assert body["chat_template_kwargs"] == {"enable_thinking": False, "preserve_thinking": True}


def test_a_backends_own_responses_api_receives_only_what_that_api_has() -> None:
    body: dict[str, Any] = {}
    defaults = ModelDefaults(parameters={"temperature": 0.7, "top_k": 20})
    defaults.fill(body, CreateResponse(model="m", input="Hi"), NONE, "responses")

    assert body == {"temperature": 0.7}


def test_a_second_default_replaces_the_first() -> None:
    first = ModelDefaults(
        parameters={"top_k": 1, "seed": 1, "chat_template_kwargs": {"a": 1, "b": 1}},
        system_prompt="One.",
        effort="low",
    )
    second = ModelDefaults(
        parameters={"top_k": 2, "chat_template_kwargs": {"b": 2}}, system_prompt="Two."
    )

    assert combined(first, second) == ModelDefaults(
        parameters={"top_k": 2, "seed": 1, "chat_template_kwargs": {"a": 1, "b": 2}},
        system_prompt="Two.",
        effort="low",
    )
    assert combined(first, None) is first
    assert combined(None, second) is second


@pytest.mark.parametrize(
    "name", ["messages", "model", "stream", "max_tokens", "tools", "n", "metadata"]
)
def test_what_antiphon_sets_itself_has_no_default(name: str) -> None:
    assert flaw(name)


@pytest.mark.parametrize(
    "name", ["temperature", "top_p", "presence_penalty", "top_k", "min_p", "seed", "think"]
)
def test_sampling_has_a_default(name: str) -> None:
    assert not flaw(name)
