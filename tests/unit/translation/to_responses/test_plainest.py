"""The plainest form of a Responses request has every text, tool and result of the client's."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.request import normalise_input
from antiphon.translation.to_responses.plainest import simplify, suspects
from antiphon.translation.to_responses.request import to_responses

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}},
    "required": ["city"],
    "additionalProperties": False,
}
INSPECT_TOOL = {"type": "function", "name": "look", "parameters": SCHEMA, "strict": True}
REQUEST: dict[str, Any] = {
    "instructions": "Zero",
    "input": [
        {"role": "developer", "content": "One"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Two"},
                {"type": "input_text", "text": "Three"},
            ],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"role": "assistant", "content": "Four", "id": "msg_1"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"city": "Five"}'},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "Six [token]"}],
        },
        {"role": "developer", "content": "Seven"},
        {"role": "user", "content": "Eight"},
    ],
    "tools": [
        INSPECT_TOOL,
        {
            "type": "namespace",
            "name": "n",
            "description": "N",
            "tools": [{**INSPECT_TOOL, "name": "other"}],
        },
    ],
    "tool_choice": "required",
    "text": {
        "format": {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True},
        "verbosity": "low",
    },
    "temperature": 1.9,
    "top_p": 1.0,
    "user": "me",
    "max_output_tokens": 50,
    "max_tool_calls": 3,
    "parallel_tool_calls": False,
}


def body(**requested: Any) -> Any:
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **requested}))
    items = normalise_input(request.input, lambda prefix: f"{prefix}_1")
    return to_responses(
        request,
        items,
        DIALECTS["openai"],
        unseal=lambda _: {"family": "openai", "origin": "o", "native": {}},
        origin="o",
    )


def token() -> str:
    return "[token]"


def test_what_a_backend_may_have_refused_is_named_and_all_of_it_is_changed() -> None:
    sent = body(**REQUEST)
    found = suspects(sent, ())

    assert {one for one in found if not one.startswith("tools.plain:")} == {
        *(
            "temperature=1.9",
            "top_p=1",
            "user",
            "verbosity=low",
            "stream.always",
            "reasoning.encrypted_content",
        ),
        *("strict", "messages.first", "messages.role", "messages.text", "messages.reasoning"),
    }
    assert (
        len([one for one in found if one.startswith("tools.plain:")]) == 1
    )  # the same schema three times
    adjusted = simplify(sent, found, token)

    assert adjusted == ["text.verbosity", "text.format", "tools.schema"]
    left = suspects(sent, ())
    assert left == {
        "temperature=1.9",
        "top_p=1",
        "user",
        "reasoning.encrypted_content",
    }  # omitted elsewhere


def test_the_plainest_form_has_all_texts_tools_and_limits() -> None:
    sent = body(**REQUEST)
    simplify(sent, suspects(sent, ()), token)

    stated = json.dumps(sent)
    assert all(one in stated for one in ("Two", "Three", "Four", "Five", "Six", "Eight"))
    assert sent["instructions"] == "Zero\n\nOne"
    marked = "[System message [token]]\nSeven\n[End of system message [token]]"
    assert [item.get("content", item.get("output")) for item in sent["input"]] == [
        *("Two\n\nThree", "Four", None, "Six [to\\ken]\n", marked, "Eight"),
    ]
    assert [item.get("role", item["type"]) for item in sent["input"]] == [
        *("user", "assistant", "function_call", "function_call_output", "user", "user"),
    ]
    assert [tool["name"] for tool in sent["tools"]] == ["look", "n"]
    stored = (
        "tool_choice",
        "max_output_tokens",
        "max_tool_calls",
        "parallel_tool_calls",
        "store",
        "stream",
    )
    assert [sent[name] for name in stored] == ["required", 50, 3, False, False, True]
    for function in (sent["tools"][0], sent["tools"][1]["tools"][0]):
        assert "strict" not in function
        assert function["parameters"]["properties"]["city"] == {
            "type": "string",
            "description": 'Must fit {"pattern":"^[A-Z]"}.',
        }
    assert sent["text"]["format"]["schema"] == sent["tools"][0]["parameters"]
    assert INSPECT_TOOL["parameters"] is SCHEMA
    assert "pattern" in SCHEMA["properties"]["city"]  # type: ignore[index]


SHELL = {"stdout": "a [token]", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
TOOLS = {"type": "additional_tools", "role": "developer", "tools": [INSPECT_TOOL]}


def test_items_with_roles_and_outputs_of_their_own_keep_their_form() -> None:
    call = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
    outputs = [
        {"type": "shell_call_output", "call_id": "c1", "output": output} for output in ([], [SHELL])
    ]
    late = {"role": "developer", "content": "Two"}
    sent = body(input=[TOOLS, {"role": "developer", "content": "One"}, call, *outputs, late])
    simplify(sent, suspects(sent, ()), token)

    assert sent["instructions"] == "One"
    assert [item.get("output", item.get("role")) for item in sent["input"]] == [
        *("developer", None, []),
        [SHELL | {"stdout": "a [to\\ken]\n", "stderr": "\n"}],
        "user",
    ]


def test_an_input_of_system_messages_alone_does_not_become_empty() -> None:
    sent = body(
        input=[{"role": "system", "content": "One"}, {"role": "developer", "content": "Two"}]
    )
    simplify(sent, suspects(sent, ()), token)

    assert sent["instructions"] == "One"
    assert [item["role"] for item in sent["input"]] == ["user"]
    assert "Two" in sent["input"][0]["content"]


def test_a_choice_at_the_root_of_a_schema_becomes_an_object() -> None:
    one, two = (
        {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
        for name in "ab"
    )
    sent = body(tools=[{"type": "function", "name": "f", "parameters": {"anyOf": [one, two]}}])

    assert simplify(sent, suspects(sent, ()), token) == ["tools.schema"]
    assert sent["tools"][0]["parameters"]["type"] == "object"
    assert sent["tools"][0]["description"]


@pytest.mark.parametrize(
    ("requested", "own"),
    [
        ({"include": ["reasoning.encrypted_content"]}, ()),
        (
            {"stream": True, "include": ["reasoning.encrypted_content"], "temperature": 0.5},
            ("temperature",),
        ),
    ],
)
def test_client_parameters_are_no_suspects(requested: dict[str, Any], own: tuple[str, ...]) -> None:
    found = suspects(body(**requested), requested["include"], own)

    assert found - {"messages.text", "stream.always"} == frozenset()
