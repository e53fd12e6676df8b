"""What was said in the words of the GenAI conventions, whichever API a backend is asked by."""

import json
from typing import Any

import pytest

from antiphon.telemetry.otel.content import input_messages, tool_definitions

HI = {"type": "text", "content": "Hi"}
CALL = {"type": "tool_call", "id": "c", "name": "look", "arguments": "{}"}
INSPECT_TOOL = {"name": "look", "arguments": "{}"}
FOUND = {"type": "tool_call_response", "id": "c", "response": "it"}


@pytest.mark.parametrize(
    ("requested", "reported"),
    [
        ({"role": "user", "content": "Hi"}, {"role": "user", "parts": [HI]}),
        (
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "user", "parts": [HI]},
        ),
        (
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:secret"}}],
            },
            {"role": "user", "parts": [{"type": "image_url"}]},
        ),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "function": INSPECT_TOOL}],
            },
            {"role": "assistant", "parts": [CALL]},
        ),
        (
            {"role": "tool", "tool_call_id": "c", "content": "it"},
            {"role": "tool", "parts": [FOUND]},
        ),
    ],
)
def test_a_message_of_chat_completions(requested: Any, reported: Any) -> None:
    assert json.loads(input_messages({"messages": [requested]})) == [reported]


@pytest.mark.parametrize(
    ("requested", "reported"),
    [
        ({"role": "user", "content": "Hi"}, {"role": "user", "parts": [HI]}),
        (
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "Hi"}, {"type": "input_file"}],
            },
            {"role": "user", "parts": [HI, {"type": "input_file"}]},
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"role": "assistant", "parts": [CALL]},
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "look", "input": "{}"},
            {"role": "assistant", "parts": [CALL]},
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": "it"},
            {"role": "tool", "parts": [FOUND]},
        ),
        ({"type": "reasoning", "encrypted_content": "secret"}, {"role": "assistant", "parts": []}),
    ],
)
def test_an_item_of_responses(requested: Any, reported: Any) -> None:
    assert json.loads(input_messages({"input": [requested]})) == [reported]


def test_a_tool_is_sent_without_its_secret_keys() -> None:
    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    chat = {"tools": [{"type": "function", "function": function}]}
    mcp = {
        "type": "mcp",
        "server_label": "x",
        "authorization": "secret",
        "headers": {"x-key": "secret"},
    }

    assert json.loads(tool_definitions(chat)) == [{"type": "function", **function}]
    assert json.loads(tool_definitions({"tools": [{"type": "function", **function}, mcp]})) == [
        {"type": "function", **function},
        {"type": "mcp"},
    ]
    assert tool_definitions({}) == "[]"
