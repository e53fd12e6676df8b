"""What every backend is sent in the one form that all of them accept, whatever the client or the
model wrote.
"""

import json
from typing import Any

from antiphon import ids
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import McpTool
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.ollama.request import NativeOptions, native_request
from antiphon.translation.to_chat_completions.request import normalise_input, to_chat
from antiphon.translation.tool_mapping.choice import chat_tools
from antiphon.translation.tool_mapping.mcp import offer_of
from tests.support.cases import each

FAMILIES = each("family", DIALECTS)


def decoded(**body: Any) -> CreateResponse:
    return decode_request(json.dumps({"model": "m", "input": "Hi", **body}).encode())


def requested(family: str, **body: Any) -> dict[str, Any]:
    """The request that a backend of this family receives."""
    request = decoded(**body)
    return to_chat(request, normalise_input(request.input, ids.new_id), DIALECTS[family])


def past_call(arguments: str, **more: Any) -> list[dict[str, Any]]:
    """A conversation in which the model made a call with these arguments."""
    call = {
        "type": "function_call",
        "call_id": "a1",
        "name": "ping",
        "arguments": arguments,
        **more,
    }
    output = {"type": "function_call_output", "call_id": "a1", "output": "failed"}
    return [{"role": "user", "content": "Hi"}, call, output, {"role": "user", "content": "Go on."}]


def sent_arguments(body: dict[str, Any]) -> str:
    (call,) = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    arguments: str = call["function"]["arguments"]
    return arguments


BROKEN = {
    "cut off": '{"cmd": "ls -la /tm',
    "words": "ls -la",
    "a list": '["ls"]',
    "a string": '"ls"',
    "a number": "3",
    "null": "null",
    "two objects": '{"a": 1}{"a": 2}',
    "text after an object": '{"a": 1} then',
    "Python": "{'a': True}",
    "not a number": '{"a": NaN}',
    "half a surrogate pair": '{"a": "\\ud83d"}',
    "deep": '{"a":' * 5000,
}
"""Arguments that a model wrote, and that are not a JSON object."""


@FAMILIES
@each("arguments", BROKEN.values(), ids=BROKEN)
def test_arguments_of_an_earlier_call_that_are_no_object_are_text_in_one(
    family: str, arguments: str
) -> None:
    assert json.loads(sent_arguments(requested(family, input=past_call(arguments)))) == {
        "arguments": arguments
    }


@FAMILIES
@each("arguments", ["", " ", "\n"])
def test_blank_arguments_of_an_earlier_call_are_an_empty_object(
    family: str, arguments: str
) -> None:
    assert sent_arguments(requested(family, input=past_call(arguments))) == "{}"


@FAMILIES
@each("arguments", ["{}", ' {"b" : 1,\n"a": "é\\u00e9"} ', '{"a": 1, "a": 2}'])
def test_arguments_that_are_an_object_keep_every_byte(family: str, arguments: str) -> None:
    """A guard: a prompt cache keeps its prefix."""
    assert sent_arguments(requested(family, input=past_call(arguments))) == arguments


@FAMILIES
def test_arguments_of_a_cut_call_are_an_object(family: str) -> None:
    cut = past_call('{"cmd": "ls', status="incomplete")
    assert json.loads(sent_arguments(requested(family, input=cut))) == {"arguments": '{"cmd": "ls'}


def test_ollama_receives_the_same_object() -> None:
    """A guard: its API has no text for arguments."""
    body = native_request(requested("ollama", input=past_call('{"cmd": "ls')), NativeOptions())
    assert json.loads(bytes(body["messages"][1]["tool_calls"][0]["function"]["arguments"])) == {
        "arguments": '{"cmd": "ls'
    }


OWN_ROOTS = frozenset({"openai", "azure"})
"""Families that receive a schema as the client wrote it, and judge it themselves."""

CREATE = {"type": "object", "properties": {"mode": {"const": "create"}}, "required": ["mode"]}
DELETE = {
    "type": "object",
    "properties": {"mode": {"const": "delete"}, "id": {}},
    "required": ["mode", "id"],
}
WITH_TOOLS = each("family", [name for name, one in DIALECTS.items() if "tools" in one.accepts])


def tool(parameters: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": "update", "parameters": parameters, **more}


def sent_function(body: dict[str, Any]) -> dict[str, Any]:
    (sent,) = body["tools"]
    function: dict[str, Any] = sent["function"]
    return function


@WITH_TOOLS
@each("parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": None}])
def test_a_tool_without_parameters_has_an_object_without_properties(
    family: str, parameters: Any
) -> None:
    body = requested(family, tools=[tool(parameters)])
    assert sent_function(body)["parameters"] == {"type": "object", "properties": {}}


@WITH_TOOLS
def test_a_tool_of_a_namespace_without_parameters_has_them_too(family: str) -> None:
    namespace = {"type": "namespace", "name": "mcp", "description": "", "tools": [tool({})]}
    assert sent_function(requested(family, tools=[namespace]))["parameters"] == {
        "type": "object",
        "properties": {},
    }


@WITH_TOOLS
@each("schema", [None, {}, {"type": "object"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}])
def test_a_tool_of_an_mcp_server_without_properties_has_an_object(family: str, schema: Any) -> None:
    offer = offer_of(
        McpTool(server_label="s", server_url="https://example.com"),
        {"name": "f", "input_schema": schema},
    )
    (sent,) = chat_tools([offer], DIALECTS[family], [])
    own = schema if schema and "anyOf" in schema and family in OWN_ROOTS else None
    assert sent["function"]["parameters"] == (own or {"type": "object", "properties": {}})


@WITH_TOOLS
@each(
    "root",
    [
        {"oneOf": [CREATE, DELETE]},
        {"type": "object", "anyOf": [CREATE, DELETE]},
        {"$ref": "#/$defs/it", "$defs": {"it": {"anyOf": [CREATE, DELETE]}}},
        {"allOf": [{"oneOf": [CREATE, DELETE]}]},
    ],
    ids=["oneOf", "anyOf", "$ref", "allOf"],
)
def test_a_tool_with_a_choice_at_its_root_has_an_object_there(
    family: str, root: dict[str, Any]
) -> None:
    function = sent_function(requested(family, tools=[tool(root, description="Updates.")]))

    if family in OWN_ROOTS:
        assert (function["parameters"], function["description"]) == (root, "Updates.")
        return
    assert function["parameters"] | {"$defs": {}} == {
        "type": "object",
        "properties": {"mode": {"type": "string", "enum": ["create", "delete"]}, "id": {}},
        "required": ["mode"],
        "$defs": {},
    }
    assert function["description"].startswith("Updates.\n\nThe arguments have ")
    assert function["description"].endswith('1. mode = "create"\n2. mode = "delete", id')


@WITH_TOOLS
def test_the_other_tools_keep_their_schemas(family: str) -> None:
    """A guard."""
    whole = {"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]}
    body = requested(family, tools=[{**tool(whole), "name": "other"}, tool({"oneOf": [CREATE]})])
    assert body["tools"][0]["function"]["parameters"] == whole


def test_ollama_receives_the_same_tools() -> None:
    body = requested("ollama", tools=[tool({}), {**tool({"oneOf": [CREATE]}), "name": "other"}])
    assert native_request(body, NativeOptions())["tools"] == body["tools"]
    assert [one["function"]["parameters"]["type"] for one in body["tools"]] == ["object", "object"]


@FAMILIES
@each(("stream", "sent"), [({}, False), ({"stream": False}, False), ({"stream": True}, True)])
def test_a_request_always_has_the_stream_parameter(
    family: str, stream: dict[str, Any], sent: bool
) -> None:
    always = DIALECTS[family].always_streams
    assert requested(family, **stream)["stream"] is (sent or always)
