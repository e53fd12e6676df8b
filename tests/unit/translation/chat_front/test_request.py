"""Requests for chat completions as requests for responses."""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.tools import FunctionTool, WebSearchTool
from antiphon.translation.chat_front.request import read_chat
from tests.support.cases import each

HI: Any = [{"role": "user", "content": "Hi"}]


def read(**body: Any) -> Any:
    return read_chat({"model": "m", "messages": HI, **body}, lambda _: ())


def test_a_system_message_stays_at_its_place() -> None:
    system = {"role": "system", "content": "Be brief."}

    items = read(messages=[*HI, system, *HI]).request.input

    assert [item.role for item in items] == ["user", "developer", "user"]


def test_a_function_is_strict_only_by_request_and_has_a_schema() -> None:
    tool = read(tools=[{"type": "function", "function": {"name": "a"}}]).request.tools[0]

    assert isinstance(tool, FunctionTool)
    assert tool.strict is None
    assert tool.parameters == {"type": "object", "properties": {}}


def test_options_of_a_web_search_are_a_tool() -> None:
    location = {"type": "approximate", "approximate": {"city": "Paris"}}

    tool = read(web_search_options={"user_location": location}).request.tools[0]

    assert isinstance(tool, WebSearchTool)
    assert tool.user_location == {"type": "approximate", "city": "Paris"}


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"max_tokens": 1}, 1),
        ({"max_tokens": -1}, None),
        ({"max_tokens": 5, "max_completion_tokens": 7}, 7),
        ({}, None),
    ],
)
def test_an_answer_has_the_limit_of_the_client(limits: dict[str, int], most: int | None) -> None:
    assert read(**limits).request.max_output_tokens == most


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ({"type": "function", "function": {"name": "a"}}, "a"),
        ({"type": "custom", "custom": {"name": "b"}}, "b"),
    ],
)
def test_a_choice_names_its_tool(choice: dict[str, Any], name: str) -> None:
    tools = [
        {"type": "function", "function": {"name": "a"}},
        {"type": "custom", "custom": {"name": "b"}},
    ]

    assert read(tools=tools, tool_choice=choice).request.tool_choice.name == name


def test_errors_name_the_parameters_of_the_client() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    called = {"role": "assistant", "content": "x", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "y"}

    view = read(messages=[*HI, called, result, *HI], max_tokens=9).view

    assert [view.place(f"input[{index}].content") for index in range(5)] == [
        "messages[0]",
        "messages[1]",
        "messages[1]",
        "messages[2]",
        "messages[3]",
    ]
    assert view.place("max_output_tokens") == "max_tokens"
    assert view.place("reasoning.effort") == "reasoning_effort"
    assert view.place("tools[0].name") == "tools[0].function.name"
    assert view.place("temperature") == "temperature"


def test_reasoning_of_another_server_is_dropped() -> None:
    details = [{"type": "reasoning.encrypted", "data": "x", "format": "anthropic-claude-v1"}]
    called = {"role": "assistant", "content": "x", "reasoning_details": details}

    assert len(read(messages=[*HI, called, *HI]).request.input) == 3


@each(
    "name, body",
    {
        "messages[0].content[0].type": {"messages": [{"role": "user", "content": [{"type": {}}]}]},
        "tool_choice.allowed_tools.tools": {
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": 1}}
        },
        "web_search_options.user_location.approximate": {
            "web_search_options": {"user_location": {"approximate": "Paris"}}
        },
    }.items(),
)
def test_a_value_of_another_type_is_refused_by_its_name(name: str, body: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as caught:
        read(**body)

    assert caught.value.status == 400
    assert caught.value.param == name
