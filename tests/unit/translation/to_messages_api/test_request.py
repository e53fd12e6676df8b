"""Chat requests as requests of the Messages API: parameters, tools, formats and thinking."""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.translation.to_messages_api.form import MessagesForm
from antiphon.translation.to_messages_api.request import messages_request

ADAPTIVE = MessagesForm("adaptive")
BUDGET = MessagesForm("budget")

HI = {"role": "user", "content": "Hi"}

FUNCTION = {"name": "look", "description": "Looks.", "parameters": {"properties": {}}}


def built(form: MessagesForm = ADAPTIVE, **chat: Any) -> dict[str, Any]:
    return messages_request({"model": "m", "messages": [HI], **chat}, form)


def function(**more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {**FUNCTION, **more}}


def call(call_id: str = "c1") -> dict[str, Any]:
    named = {"name": "look", "arguments": "{}"}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": named}]}


def test_a_limit_is_required_and_has_a_default() -> None:
    assert built()["max_tokens"] == 32_000
    assert built(max_tokens=7)["max_tokens"] == 7
    assert built(max_completion_tokens=8)["max_tokens"] == 8


def test_plain_parameters_have_their_names_there() -> None:
    body = built(temperature=1.7, top_p=0.5, top_k=3, stop="END", user="u1", service_tier="default")

    assert (body["temperature"], body["top_p"], body["top_k"]) == (1, 0.5, 3)
    assert body["stop_sequences"] == ["END"]
    assert body["metadata"] == {"user_id": "u1"}
    assert body["service_tier"] == "standard_only"


@pytest.mark.parametrize(
    "chat",
    [
        {"service_tier": "priority"},
        {"presence_penalty": 1.0},
        {"seed": 3},
        {"logprobs": True},
        {"n": 1},
    ],
)
def test_what_the_api_does_not_have_is_omitted(chat: dict[str, Any]) -> None:
    assert built(**chat) == built()


def test_several_answers_are_refused() -> None:
    with pytest.raises(ClientError) as refused:
        built(n=2)

    assert refused.value.param == "n"


def test_a_function_is_a_tool_with_an_object_as_its_schema() -> None:
    (tool,) = built(tools=[function()])["tools"]

    assert tool["name"] == "look"
    assert tool["description"] == "Looks."
    assert tool["input_schema"] == {"type": "object", "properties": {}}
    assert "strict" not in tool


def test_a_tool_of_the_api_itself_stays_as_it_is() -> None:
    own = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}

    (tool,) = built(tools=[own])["tools"]

    assert tool.items() >= own.items()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ({"type": "function", "function": {"name": "look"}}, {"type": "tool", "name": "look"}),
        (None, None),
    ],
)
def test_the_choice_of_a_tool_has_the_form_of_the_api(chosen: Any, expected: Any) -> None:
    assert built(tools=[function()], tool_choice=chosen).get("tool_choice") == expected


def test_one_call_at_a_time_is_a_part_of_the_choice() -> None:
    tools = [function()]

    assert built(tools=tools, parallel_tool_calls=False)["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    assert "tool_choice" not in built(tools=tools, parallel_tool_calls=True)
    assert built(tools=tools, tool_choice="none", parallel_tool_calls=False)["tool_choice"] == {
        "type": "none"
    }


def test_earlier_calls_have_tools_although_none_are_offered() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": "seen"}

    body = built(messages=[HI, call(), result])

    assert [tool["name"] for tool in body["tools"]] == ["look"]
    assert body["tool_choice"] == {"type": "none"}


def test_a_schema_is_the_format_without_what_the_api_rejects() -> None:
    schema = {
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 0}, "of": {"type": "object"}},
    }
    described = {"name": "person", "schema": schema, "strict": True}

    body = built(response_format={"type": "json_schema", "json_schema": described})

    sent = body["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["properties"]["of"]["additionalProperties"] is False
    assert "minimum" not in sent["schema"]["properties"]["age"]
    assert "system" not in body


@pytest.mark.parametrize(
    "format",
    [
        {"type": "json_object"},
        {
            "type": "json_schema",
            "json_schema": {
                "schema": {"type": "object", "additionalProperties": {"type": "integer"}}
            },
        },
    ],
)
def test_a_format_that_the_api_does_not_have_is_an_instruction(format: dict[str, Any]) -> None:
    body = built(response_format=format)

    assert "output_config" not in body
    assert "JSON" in body["system"][-1]["text"]


def test_an_effort_is_adaptive_thinking_with_that_effort() -> None:
    body = built(reasoning_effort="high", temperature=0.5)

    assert body["thinking"]["type"] == "adaptive"
    assert body["output_config"] == {"effort": "high"}
    assert "temperature" not in body


def test_an_effort_and_a_schema_are_sent_together() -> None:
    described = {"schema": {"type": "object", "properties": {}}}

    body = built(
        reasoning_effort="minimal",
        response_format={"type": "json_schema", "json_schema": described},
    )

    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("effort", "limit", "budget"),
    [
        ("minimal", None, 1_024),
        ("low", None, 2_048),
        ("high", 4_096, 3_072),
        ("max", 40_000, 31_999),
    ],
)
def test_an_effort_is_a_budget_for_models_that_accept_one(
    effort: str, limit: int | None, budget: int
) -> None:
    more = {} if limit is None else {"max_tokens": limit}

    body = built(BUDGET, reasoning_effort=effort, **more)

    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}


def test_a_limit_without_room_for_thinking_switches_it_off() -> None:
    assert "thinking" not in built(BUDGET, reasoning_effort="high", max_tokens=1_500)


def test_thinking_is_off_only_if_the_client_requests_that() -> None:
    assert built(reasoning_effort="none")["thinking"] == {"type": "disabled"}
    assert "thinking" not in built()


def test_thinking_that_the_client_describes_itself_is_forwarded() -> None:
    own = {"type": "enabled", "budget_tokens": 5_000}

    assert built(thinking=own, reasoning_effort="low")["thinking"] == own


def test_a_budget_needs_the_thinking_of_the_calls_that_are_answered() -> None:
    """Models that accept one reject an answer with calls that does not begin with it."""
    result = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    signed = {"type": "thinking", "thinking": "So.", "signature": "s"}
    bare = [HI, call(), result]
    whole = [HI, {**call(), "thinking_blocks": [signed]}, result]

    assert "thinking" not in built(BUDGET, messages=bare, reasoning_effort="low")
    assert "thinking" in built(BUDGET, messages=whole, reasoning_effort="low")
    assert "thinking" in built(ADAPTIVE, messages=bare, reasoning_effort="low")


@pytest.mark.parametrize("form", [ADAPTIVE, BUDGET])
def test_thinking_that_is_only_switched_on_has_an_effort(form: MessagesForm) -> None:
    bare = {"type": "enabled"}

    assert built(form, thinking=bare, reasoning_effort="low") == built(form, reasoning_effort="low")
    assert built(form, thinking=bare) == built(form, reasoning_effort="medium")


def test_a_budget_of_the_client_stays_within_the_limit() -> None:
    chat = {"reasoning_effort": "low", "thinking_budget": 3_000}

    assert built(BUDGET, **chat)["thinking"]["budget_tokens"] == 3_000
    assert built(BUDGET, **chat, max_tokens=3_024)["thinking"]["budget_tokens"] == 2_000
    assert built(ADAPTIVE, **chat) == built(ADAPTIVE, reasoning_effort="low")
