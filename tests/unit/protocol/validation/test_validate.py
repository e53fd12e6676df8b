"""What a request must be, row by row: the answer to each bad one, exactly."""

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.grammars import unsound
from antiphon.protocol.items.content import LONGEST_SEALED, SEALED_CALL
from antiphon.protocol.items.messages import FunctionCallOutput, InputItem, ItemReference, Message
from antiphon.protocol.tools import AnyTool, Grammar
from antiphon.protocol.validation.queries import decode_include, decode_input_items_query
from antiphon.protocol.validation.refusals import listed
from antiphon.protocol.validation.validate import (
    decode_chat_request,
    decode_embeddings_request,
    decode_request,
)
from tests.support.cases import each

GOOD = {"model": "m", "input": "hello"}
FUNCTION = {"type": "function", "name": "look_up"}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def encode(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def refusal(decode: Any, body: Any) -> ClientError:
    with pytest.raises(ClientError) as caught:
        decode(encode(body))
    assert (caught.value.status, caught.value.type) == (400, "invalid_request_error")
    return caught.value


def answer(body: Any, decode: Any = decode_request) -> tuple[str | None, str | None, str]:
    error = refusal(decode, body)
    return error.code, error.param, error.message


def item(**fields: Any) -> dict[str, Any]:
    return GOOD | {"input": [fields]}


def user(*parts: Any) -> dict[str, Any]:
    return item(role="user", content=list(parts))


def strict(**parameters: Any) -> dict[str, Any]:
    return GOOD | {"tools": [FUNCTION | {"strict": True, "parameters": parameters}]}


PARSE = "We could not parse the JSON body of your request: "

NOT_JSON = {
    "26 empty body": (b"", "the body is empty"),
    "27 truncated": (
        b'{"model": "m"',
        "it ends too early, or a string holds half a surrogate pair",
    ),
    "27 trailing garbage": (b"{} x", "trailing characters (byte 4)"),
    "27 comment": (b"// hello\n{}", "invalid character (byte 0)"),
    "27 single quotes": (b"{'model': 'm'}", "object keys must be strings (byte 1)"),
    "27 trailing comma": (b'{"model": "m",}', "trailing comma in object (byte 14)"),
    "29 NaN": (b'{"temperature": NaN}', "invalid character (byte 16)"),
    "29 Infinity": (b'{"temperature": Infinity}', "invalid character (byte 16)"),
    "29 -Infinity": (b'{"temperature": -Infinity}', "invalid character (byte 17)"),
    "29 1e999": (b'{"temperature": 1e999}', "number out of range"),
    "32 lone high surrogate": (
        rb'{"input": "\ud800"}',
        "it ends too early, or a string holds half a surrogate pair",
    ),
    "32 lone low surrogate": (
        rb'{"input": "\udc00 and more text"}',
        "invalid utf-16 surrogate pair (byte 17)",
    ),
    "32 in a key": (
        rb'{"\ud800 key": 1}        ',
        "unexpected end of escaped utf-16 surrogate pair (byte 8)",
    ),
    "33 invalid UTF-8": (b'{"input": "\xff"}', "it is not UTF-8"),
    "33 overlong": (b'{"input": "\xc0\x80"}', "it is not UTF-8"),
    "33 encoded surrogate": (b'{"input": "\xed\xa0\x80"}', "it is not UTF-8"),
    "33 UTF-16": ('{"model": "m"}'.encode("utf-16"), "it is not UTF-8"),
    "33 byte order mark": (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
    "36 5,000-digit integer": (b'{"seed": ' + b"9" * 5000 + b"}", "integer value out of range"),
}


@pytest.mark.parametrize(("body", "reason"), NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_refused_with_the_reason(body: bytes, reason: str) -> None:
    assert answer(body) == (None, None, f"{PARSE}{reason}.")


NESTED_600 = b"[" * 600 + b"]" * 600
TOO_DEEP = "nested too deeply. Expected at most 512 levels."


def body_with(name: str, value: bytes) -> bytes:
    return b'{"model": "m", "input": "x", %s: %s}' % (json.dumps(name).encode(), value)


SUPPORTED_ITEMS = listed(str(cls.__struct_config__.tag) for cls in get_args(InputItem))
SUPPORTED_TOOLS = listed(str(cls.__struct_config__.tag) for cls in get_args(AnyTool))
SUPPORTED_ROLES = "'assistant', 'system', 'developer', and 'user'"
SUPPORTED_PARTS = "'input_text', 'input_image', 'input_file', 'output_text', and 'refusal'"
SUPPORTED_INCLUDES = (
    "'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources', "
    "'message.input_image.image_url', 'computer_call_output.output.image_url', "
    "'code_interpreter_call.outputs', 'reasoning.encrypted_content', "
    "and 'message.output_text.logprobs'"
)
MESSAGES_MOVED = (
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. "
    "Try again with the new parameter. See the API documentation for more information: "
    "https://platform.openai.com/docs/api-reference/responses/create."
)
NO_VALUE = (
    """One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided."""
)


def mistyped(path: str, expected: str, got: str) -> tuple[str, str, str]:
    return (
        "invalid_type",
        path,
        f"Invalid type for '{path}': expected {expected}, but got {got} instead.",
    )


def out_of_range(path: str, kind: str, side: str, bound: float, got: Any) -> tuple[str, str, str]:
    name, sign = ("minimum", ">=") if side == "below" else ("maximum", "<=")
    return (
        f"{kind}_{side}_{name[:3]}_value",
        path,
        f"Invalid '{path}': {kind} {side} {name} value. Expected a value {sign} {bound}, but got "
        f"{got} instead.",
    )


def too_long(path: str, kind: str, bound: int, got: int) -> tuple[str, str, str]:
    noun = f"{'an' if kind == 'array' else 'a'} {kind}"
    return (
        f"{kind}_above_max_length",
        path,
        f"Invalid '{path}': {kind} too long. Expected {noun} with maximum length {bound}, "
        f"but got {noun} with length {got} instead.",
    )


def not_one_of(param: str, value: str, supported: str) -> tuple[str, str, str]:
    return "invalid_value", param, f"Invalid value: '{value}'. Supported values are: {supported}."


def missing(path: str) -> tuple[str, str, str]:
    return "missing_required_parameter", path, f"Missing required parameter: '{path}'."


def unsupported(path: str) -> tuple[str, str, str]:
    return (
        "unsupported_parameter",
        path,
        f"Unsupported parameter: '{path}' is not supported by this server.",
    )


def unsupported_value(param: str, value: str, supported: str) -> tuple[str, str, str]:
    message = (
        f"Unsupported value: '{value}' is not supported by this server. "
        f"Supported values are: {supported}."
    )
    return "unsupported_value", param, message


def bad_pattern(path: str) -> tuple[str, str, str]:
    return (
        "invalid_value",
        path,
        f"Invalid '{path}': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    )


def bad_function(words: str) -> tuple[str, str, str]:
    return (
        "invalid_function_parameters",
        "tools[0].parameters",
        f"Invalid schema for function 'look_up': {words}",
    )


LONG = "x" * 10_485_761
STRING_OR_ITEMS = "one of a string or array of input items"

REFUSED: dict[str, tuple[Any, tuple[str | None, str | None, str]]] = {
    # JSON that is no request
    "28 an array": (
        [],
        (None, None, "Invalid type: expected an object, but got an array instead."),
    ),
    "28 a string": (
        "x",
        (None, None, "Invalid type: expected an object, but got a string instead."),
    ),
    "28 null": (None, (None, None, "Invalid type: expected an object, but got null instead.")),
    "28 a number": (
        1,
        (None, None, "Invalid type: expected an object, but got an integer instead."),
    ),
    "30 nested 100,000 deep": (b"[" * 100_000, (None, None, f"Invalid JSON body: {TOO_DEEP}")),
    "30 nested 600 deep": (
        body_with("input", NESTED_600),
        (None, None, f"Invalid JSON body: {TOO_DEEP}"),
    ),
    "31 metadata": (
        body_with("metadata", NESTED_600),
        (None, "metadata", f"Invalid 'metadata': {TOO_DEEP}"),
    ),
    "31 parameters": (
        body_with(
            "tools", b'[{"type": "function", "name": "f", "parameters": {"x": %s}}]' % NESTED_600
        ),
        (None, "tools[0].parameters", f"Invalid 'tools[0].parameters': {TOO_DEEP}"),
    ),
    "31 schema": (
        body_with(
            "text",
            b'{"format": {"type": "json_schema", "name": "n", "schema": {"x": %s}}}' % NESTED_600,
        ),
        (None, "text.format.schema", f"Invalid 'text.format.schema': {TOO_DEEP}"),
    ),
    # Top-level parameters
    "39 no model": ({"input": "x"}, missing("model")),
    "39 null model": ({"model": None, "input": "x"}, mistyped("model", "a string", "an object")),
    "41 model with a newline": (
        {"model": "m\n", "input": "x"},
        (
            "invalid_value",
            "model",
            "Invalid 'model': 'm\n'. Expected a name of at most 512 characters, none of them a "
            "control character.",
        ),
    ),
    "41 model of 10,000 characters": (
        {"model": "m" * 10_000, "input": "x"},
        (
            "invalid_value",
            "model",
            f"Invalid 'model': '{'m' * 100}…'. "
            "Expected a name of at most 512 characters, none of them a control character.",
        ),
    ),
    "42 no input": ({"model": "m"}, missing("input")),
    "43 null input": ({"model": "m", "input": None}, mistyped("input", STRING_OR_ITEMS, "null")),
    "43 integer input": (
        {"model": "m", "input": 123},
        mistyped("input", STRING_OR_ITEMS, "an integer"),
    ),
    "43 boolean input": (
        {"model": "m", "input": True},
        mistyped("input", STRING_OR_ITEMS, "a boolean"),
    ),
    "43 object input": (
        {"model": "m", "input": {}},
        mistyped("input", STRING_OR_ITEMS, "an object"),
    ),
    "44 empty list": ({"model": "m", "input": []}, ("missing_required_parameter", None, NO_VALUE)),
    "44 empty string": (
        {"model": "m", "input": ""},
        ("missing_required_parameter", None, NO_VALUE),
    ),
    "45 long input": (
        {"model": "m", "input": LONG},
        too_long("input", "string", 10_485_760, 10_485_761),
    ),
    "45 long message": (
        item(role="user", content=LONG),
        too_long("input[0].content", "string", 10_485_760, 10_485_761),
    ),
    "46 1,000,000 items": (
        b'{"model": "m", "input": [' + b"0," * 999_999 + b"0]}",
        too_long("input", "array", 100_000, 1_000_000),
    ),
    "47 unknown parameter": (
        GOOD | {"foo": 1},
        ("unknown_parameter", "foo", "Unknown parameter: 'foo'."),
    ),
    "47 with a suggestion": (
        GOOD | {"sto": True},
        ("unknown_parameter", "sto", "Unknown parameter: 'sto'. Did you mean 'store'?"),
    ),
    "47 nested": (
        GOOD | {"text": {"verbosty": "low"}},
        (
            "unknown_parameter",
            "text.verbosty",
            "Unknown parameter: 'text.verbosty'. Did you mean 'text.verbosity'?",
        ),
    ),
    "47 in an item": (
        item(role="user", content="x", bogus=1),
        ("unknown_parameter", "input[0].bogus", "Unknown parameter: 'input[0].bogus'."),
    ),
    "47 chat's messages": ({"messages": []}, ("unsupported_parameter", None, MESSAGES_MOVED)),
    "47 the reserved key": (
        GOOD | {"antiphon": {"x": 1}},
        ("unknown_parameter", "antiphon.x", "Unknown parameter: 'antiphon.x'."),
    ),
    "48 temperature 99": (
        GOOD | {"temperature": 99},
        out_of_range("temperature", "decimal", "above", 2, 99),
    ),
    "49 temperature -0.1": (
        GOOD | {"temperature": -0.1},
        out_of_range("temperature", "decimal", "below", 0, -0.1),
    ),
    "49 top_p 1.1": (GOOD | {"top_p": 1.1}, out_of_range("top_p", "decimal", "above", 1, 1.1)),
    "50 temperature hot": (
        GOOD | {"temperature": "hot"},
        mistyped("temperature", "a decimal", "a string"),
    ),
    "51 top_logprobs 21": (
        GOOD | {"top_logprobs": 21},
        out_of_range("top_logprobs", "integer", "above", 20, 21),
    ),
    "51 top_logprobs -1": (
        GOOD | {"top_logprobs": -1},
        out_of_range("top_logprobs", "integer", "below", 0, -1),
    ),
    "52 max_output_tokens 15": (
        GOOD | {"max_output_tokens": 15},
        out_of_range("max_output_tokens", "integer", "below", 16, 15),
    ),
    "52 max_output_tokens 0": (
        GOOD | {"max_output_tokens": 0},
        out_of_range("max_output_tokens", "integer", "below", 16, 0),
    ),
    "53 max_output_tokens 16.5": (
        GOOD | {"max_output_tokens": 16.5},
        mistyped("max_output_tokens", "an integer", "a decimal number"),
    ),
    "53 max_output_tokens true": (
        GOOD | {"max_output_tokens": True},
        mistyped("max_output_tokens", "an integer", "a boolean"),
    ),
    "53 max_output_tokens '16'": (
        GOOD | {"max_output_tokens": "16"},
        mistyped("max_output_tokens", "an integer", "a string"),
    ),
    "54 max_output_tokens 10^30": (
        GOOD | {"max_output_tokens": 10**30},
        out_of_range("max_output_tokens", "integer", "above", 2**31 - 1, 10**30),
    ),
    "55 metadata of 17": (
        GOOD | {"metadata": {str(i): "" for i in range(17)}},
        (
            "object_above_max_properties",
            "metadata",
            "Invalid 'metadata': too many properties. Expected an object with at most 16 "
            "properties, but got an object with 17 properties instead.",
        ),
    ),
    "56 metadata key of 65": (
        GOOD | {"metadata": {"k" * 65: ""}},
        too_long("metadata", "string", 64, 65),
    ),
    "56 metadata value of 513": (
        GOOD | {"metadata": {"k": "v" * 513}},
        too_long("metadata.k", "string", 512, 513),
    ),
    "57 metadata value 1": (
        GOOD | {"metadata": {"k": 1}},
        mistyped("metadata.k", "a string", "an integer"),
    ),
    "58 safety_identifier of 129": (
        GOOD | {"safety_identifier": "s" * 129},
        too_long("safety_identifier", "string", 128, 129),
    ),
    "59 stream yes": (GOOD | {"stream": "yes"}, mistyped("stream", "a boolean", "a string")),
    "59 background 1": (
        GOOD | {"background": 1},
        mistyped("background", "a boolean", "an integer"),
    ),
    "59 store no": (GOOD | {"store": "no"}, mistyped("store", "a boolean", "a string")),
    "60 stream_options alone": (
        GOOD | {"stream_options": {"include_obfuscation": False}},
        (
            "invalid_value",
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ),
    ),
    "60 include_usage": (
        GOOD | {"stream": True, "stream_options": {"include_usage": True}},
        (
            "unknown_parameter",
            "stream_options.include_usage",
            "Unknown parameter: 'stream_options.include_usage'.",
        ),
    ),
    "61 include nope": (
        GOOD | {"include": ["nope"]},
        not_one_of("include[0]", "nope", SUPPORTED_INCLUDES),
    ),
    "61 include 1": (
        GOOD | {"include": 1},
        mistyped("include", "an array of strings", "an integer"),
    ),
    "62 effort max9": (
        GOOD | {"reasoning": {"effort": "max9"}},
        not_one_of(
            "reasoning.effort",
            "max9",
            "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'",
        ),
    ),
    "63 truncation x": (
        GOOD | {"truncation": "x"},
        not_one_of("truncation", "x", "'auto' and 'disabled'"),
    ),
    "63 service_tier x": (
        GOOD | {"service_tier": "x"},
        not_one_of(
            "service_tier",
            "x",
            "'auto', 'default', 'flex', 'scale', 'priority', 'fast', and 'ultrafast'",
        ),
    ),
    "70 previous_response_id @x.y": (
        GOOD | {"previous_response_id": "@x.y"},
        (
            "invalid_value",
            "previous_response_id",
            "Invalid 'previous_response_id': '@x.y'. Expected an ID that contains letters, "
            "numbers, underscores, or dashes, but this value contained additional characters.",
        ),
    ),
    # What the API has and this server has not
    "64 context_management": (
        GOOD | {"context_management": []},
        (
            "empty_array",
            "context_management",
            "Invalid 'context_management': empty array. Expected an array with minimum length 1, "
            "but got an empty array instead.",
        ),
    ),
    "64 compact_threshold": (
        GOOD | {"context_management": [{"type": "compaction", "compact_threshold": 10}]},
        (
            "integer_below_min_value",
            "context_management[0].compact_threshold",
            "Invalid 'context_management[0].compact_threshold': integer below minimum value. "
            "Expected a value >= 1000, but got 10 instead.",
        ),
    ),
    "context_management without type": (
        GOOD | {"context_management": [{"compact_threshold": 1000}]},
        missing("context_management[0].type"),
    ),
    "72": (
        GOOD | {"previous_response_id": "resp_1", "conversation": "conv_1"},
        (
            "mutually_exclusive_parameters",
            "previous_response_id",
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
            "Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
        ),
    ),
    "conversation 1": (
        GOOD | {"conversation": 1},
        mistyped("conversation", "one of a string or object", "an integer"),
    ),
    "conversation key": (
        GOOD | {"conversation": {"id": "conv_1", "x": 1}},
        ("unknown_parameter", "conversation.x", "Unknown parameter: 'conversation.x'."),
    ),
    "a prompt that is a string": (
        {"prompt": "x"},
        (
            "invalid_type",
            "prompt",
            "Invalid type for 'prompt': expected an object, but got a string instead.",
        ),
    ),
    "a prompt without an id": (
        GOOD | {"prompt": {"version": "1"}},
        ("missing_required_parameter", "prompt.id", "Missing required parameter: 'prompt.id'."),
    ),
    "a prompt with a version that is a number": (
        GOOD | {"prompt": {"id": "pmpt_1", "version": 1}},
        (
            *("invalid_type", "prompt.version"),
            "Invalid type for 'prompt.version': expected a string, but got an integer instead.",
        ),
    ),
    "a prompt with an image that is none": (
        GOOD
        | {
            "prompt": {
                "id": "pmpt_1",
                "variables": {"a": {"type": "input_image", "image_url": "ftp://a"}},
            }
        },
        (
            *("invalid_image_url", "prompt.variables.a.image_url"),
            "Invalid 'prompt.variables.a.image_url': expected an http or https URL of a public "
            "host, or a data URL.",
        ),
    ),
    "no model and no prompt": (
        {"prompt": None, "input": "Hi"},
        ("missing_required_parameter", "model", "Missing required parameter: 'model'."),
    ),
    "moderation": (GOOD | {"moderation": {"model": "m"}}, unsupported("moderation")),
    "image": (GOOD | {"image": {}}, unsupported("image")),
    "access_programs": (GOOD | {"access_programs": {}}, unsupported("access_programs")),
    "reasoning.mode": (
        GOOD | {"reasoning": {"mode": "pro"}},
        unsupported_value("reasoning.mode", "pro", "'standard'"),
    ),
    "an item of the API's beta": (
        item(type="agent_message"),
        unsupported_value("input[0]", "agent_message", SUPPORTED_ITEMS),
    ),
    "a choice of a custom tool that is absent": (
        GOOD | {"tools": [FUNCTION], "tool_choice": {"type": "custom", "name": "look_up"}},
        (None, "tool_choice", "Tool choice 'look_up' not found in 'tools' parameter."),
    ),
    "a deferred tool that nothing can find": (
        GOOD | {"tools": [FUNCTION | {"defer_loading": True}]},
        (
            "invalid_value",
            "tools[0].defer_loading",
            "Invalid 'tools[0].defer_loading': deferred tools need a tool of type 'tool_search'.",
        ),
    ),
    "a grammar that is none": (
        GOOD
        | {
            "tools": [
                {
                    "type": "custom",
                    "name": "c",
                    "format": {"type": "grammar", "syntax": "lark", "definition": "("},
                }
            ]
        },
        (
            "invalid_grammar",
            "tools[0].format.definition",
            "Invalid grammar for custom tool 'c': "
            + unsound(Grammar(syntax="lark", definition="(")),
        ),
    ),
    "too much grammar": (
        GOOD
        | {
            "tools": [
                {
                    "type": "namespace",
                    "name": f"n{i}",
                    "description": "",
                    "tools": [
                        {
                            "type": "custom",
                            "name": "c",
                            "format": {
                                "type": "grammar",
                                "syntax": "regex",
                                "definition": "a" * 90_000,
                            },
                        }
                    ],
                }
                for i in range(5)
            ]
        },
        (
            "invalid_value",
            "tools",
            "Invalid 'tools': grammars of 450000 characters. Expected at most 400000 in all.",
        ),
    ),
    "a trigger that is not last": (
        GOOD | {"input": [{"type": "compaction_trigger"}, {"role": "user", "content": "x"}]},
        (
            "invalid_value",
            "input[0]",
            "Invalid 'input[0]': 'compaction_trigger' must be the last item of the input.",
        ),
    ),
    "an output of nothing": (
        item(type="function_call_output", output=""),
        missing("input[0].call_id"),
    ),
    "a tool without a name in a list of a server's": (
        item(type="mcp_list_tools", server_label="s", tools=[{"description": "d"}]),
        missing("input[0].tools[0].name"),
    ),
    "a tool whose name is a list": (
        item(type="mcp_list_tools", server_label="s", tools=[{"name": []}]),
        (
            "invalid_type",
            "input[0].tools[0].name",
            "Invalid type for 'input[0].tools[0].name': expected a string, "
            "but got an array instead.",
        ),
    ),
    "92 mcp label twice": (
        GOOD
        | {"tools": [{"type": "mcp", "server_label": "s", "server_url": "https://a.example/"}] * 2},
        (
            "invalid_value",
            "tools[1].server_label",
            "Invalid 'tools[1].server_label': 's' is the name of another tool. "
            "Expected unique names.",
        ),
    ),
    **{
        f"91 mcp at {url}": (
            GOOD | {"tools": [{"type": "mcp", "server_label": "s", "server_url": url}]},
            (
                "invalid_value",
                "tools[0].server_url",
                "Invalid 'tools[0].server_url': expected an HTTP address without a user's "
                "name in it.",
            ),
        )
        for url in (
            "file:///etc/passwd",
            "https://a@b.example/",
            "https://a.example\\b/",
            "nowhere",
        )
    },
    # Items
    "78 call_id of 65": (
        item(type="function_call_output", call_id="c" * 65, output=""),
        too_long("input[0].call_id", "string", 64, 65),
    ),
    **{
        f"78 call_id {name}": (
            item(type="function_call_output", call_id=call_id, output=""),
            too_long("input[0].call_id", "string", 64, len(call_id)),
        )
        for name, call_id in {
            "that is sealed, and too long": SEALED_CALL + "A" * (LONGEST_SEALED + 1),
            "that is sealed, with a blank": SEALED_CALL + "A" * 80 + " ",
            "that is sealed, with a line end": SEALED_CALL + "A" * 80 + "\n",
            "that ends as a sealed one": "x" + SEALED_CALL + "A" * 80,
            "of 64 and a line end": "c" * 64 + "\n",
        }.items()
    },
    "78 empty call_id": (
        item(type="function_call_output", call_id="", output=""),
        (
            "empty_string",
            "input[0].call_id",
            "Invalid 'input[0].call_id': empty string. "
            "Expected a string with minimum length 1, but got an empty string instead.",
        ),
    ),
    "81 unknown item type": (
        item(type="bogus_item"),
        not_one_of("input[0]", "bogus_item", SUPPORTED_ITEMS),
    ),
    "81 unknown role": (
        item(role="bogus", content="x"),
        not_one_of("input[0]", "bogus", SUPPORTED_ROLES),
    ),
    "81 unknown content type": (
        user({"type": "text", "text": "x"}),
        not_one_of("input[0].content[0].type", "text", SUPPORTED_PARTS),
    ),
    "81 output part of a user": (
        user({"type": "output_text", "text": "x"}),
        not_one_of(
            "input[0].content[0].type",
            "output_text",
            "'input_text', 'input_image', and 'input_file'",
        ),
    ),
    "81 input part of an assistant": (
        item(role="assistant", content=[{"type": "input_text", "text": "x"}]),
        not_one_of("input[0].content[0].type", "input_text", "'output_text' and 'refusal'"),
    ),
    "81 output part in a tool's output": (
        item(
            type="function_call_output", call_id="c", output=[{"type": "output_text", "text": "x"}]
        ),
        not_one_of(
            "input[0].output[0].type",
            "output_text",
            "'input_text', 'input_image', and 'input_file'",
        ),
    ),
    "response id that is none": (
        GOOD | {"previous_response_id": "conv_1"},
        (
            "invalid_value",
            "previous_response_id",
            "Invalid 'previous_response_id': 'conv_1'. Expected an ID that begins with 'resp'.",
        ),
    ),
    "conversation id that is none": (
        GOOD | {"conversation": {"id": "resp_1"}},
        (
            "invalid_value",
            "conversation",
            "Invalid 'conversation': 'resp_1'. Expected an ID that begins with 'conv'.",
        ),
    ),
    "81 type 1": (item(type=1), mistyped("input[0].type", "a string", "an integer")),
    "81 item that is no object": (
        GOOD | {"input": ["x"]},
        mistyped("input[0]", "an object", "a string"),
    ),
    "82 item without type": (item(), missing("input[0].type")),
    "82 reference without id": (item(type="item_reference"), missing("input[0].id")),
    "82 message without content": (item(role="user"), missing("input[0].content")),
    "82 message without role": (item(type="message", content="x"), missing("input[0].role")),
    "82 part without text": (user({"type": "input_text"}), missing("input[0].content[0].text")),
    "82 part without type": (user({"text": "x"}), missing("input[0].content[0].type")),
    "82 reasoning without summary": (
        item(type="reasoning", id="rs_1"),
        missing("input[0].summary"),
    ),
    "id prefix": (
        item(type="function_call", id="ctco_1", call_id="c", name="f", arguments="{}"),
        (
            "invalid_value",
            "input[0].id",
            "Invalid 'input[0].id': 'ctco_1'. Expected an ID that begins with 'fc'.",
        ),
    ),
    "duplicate id": (
        GOOD | {"input": [{"role": "user", "id": "msg_1", "content": "x"}] * 2},
        (
            None,
            "input",
            "Duplicate item found with id msg_1. Remove duplicate items from your input "
            "and try again.",
        ),
    ),
    # Tools
    "83 129 tools": (
        GOOD | {"tools": [FUNCTION] * 129},
        too_long("tools", "array", 128, 129),
    ),
    "84 name with a space": (
        GOOD | {"tools": [FUNCTION | {"name": "look up"}]},
        bad_pattern("tools[0].name"),
    ),
    "84 name with a newline": (
        GOOD | {"tools": [FUNCTION | {"name": "look\n"}]},
        bad_pattern("tools[0].name"),
    ),
    "84 name of 129": (
        GOOD | {"tools": [FUNCTION | {"name": "n" * 129}]},
        too_long("tools[0].name", "string", 128, 129),
    ),
    "84 duplicate name": (
        GOOD | {"tools": [FUNCTION, FUNCTION]},
        (
            "invalid_value",
            "tools[1].name",
            "Invalid 'tools[1].name': 'look_up' is the name of another tool. Expected unique names.",  # noqa: E501 - one text, or a row of a table
        ),
    ),
    "tool without type": (GOOD | {"tools": [{"name": "f"}]}, missing("tools[0].type")),
    "tool of unknown type": (
        GOOD | {"tools": [{"type": "bogus"}]},
        not_one_of("tools[0].type", "bogus", SUPPORTED_TOOLS),
    ),
    "tool in chat's shape": (
        GOOD | {"tools": [{"type": "function", "function": {"name": "f"}}]},
        missing("tools[0].name"),
    ),
    "85 open object": (
        strict(type="object", properties={}),
        bad_function(
            "In context=(), 'additionalProperties' is required to be supplied and to be false."
        ),
    ),
    "85 optional property": (
        strict(type="object", properties={"a": {"type": "string"}}, additionalProperties=False),
        bad_function(
            "In context=(), 'required' is required to be supplied and to be an array including "
            "every key in properties. Missing 'a'."
        ),
    ),
    "85 parameters of an array": (
        strict(type="array"),
        bad_function("""schema must be a JSON Schema of 'type: "object"', got 'type: "array"'."""),
    ),
    "86 remote $ref": (
        GOOD
        | {
            "tools": [
                FUNCTION
                | {"parameters": {"properties": {"a": {"$ref": "https://example.com/s.json"}}}}
            ]
        },
        bad_function(
            "In context=('properties', 'a'), $ref must point into the schema itself, got "
            "'https://example.com/s.json'."
        ),
    ),
    "88 format without name": (
        GOOD | {"text": {"format": {"type": "json_schema", "schema": {}}}},
        missing("text.format.name"),
    ),
    "88 format with an open schema": (
        GOOD
        | {
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "n",
                    "strict": True,
                    "schema": {"type": "object"},
                }
            }
        },
        (
            "invalid_json_schema",
            "text.format.schema",
            "Invalid schema for response_format 'n': In context=(), 'additionalProperties' is "
            "required to be supplied and to be false.",
        ),
    ),
    "89 choice of an absent tool": (
        GOOD | {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "other"}},
        (None, "tool_choice", "Tool choice 'other' not found in 'tools' parameter."),
    ),
    "89 allowed tools that are absent": (
        GOOD
        | {
            "tools": [FUNCTION],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "other"}],
            },
        },
        (None, "tool_choice", "Tool choice 'other' not found in 'tools' parameter."),
    ),
    "89 required without tools": (
        GOOD | {"tool_choice": "required"},
        (None, "tool_choice", "Tool choice 'required' must be specified with 'tools' parameter."),
    ),
    "89 unknown mode": (
        GOOD | {"tool_choice": "any"},
        not_one_of("tool_choice", "any", "'none', 'auto', and 'required'"),
    ),
    "90 code_interpreter without container": (
        GOOD | {"tools": [{"type": "code_interpreter"}]},
        missing("tools[0].container"),
    ),
}


@each(("body", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_bad_request_is_refused_exactly(
    body: Any, expected: tuple[str | None, str | None, str]
) -> None:
    assert answer(body) == expected


ACCEPTED: dict[str, dict[str, Any]] = {
    "34 a NUL in text": GOOD | {"input": "a\x00b"},
    "35 escapes, bidi and newlines": GOOD | {"input": "\x1b[31m\u202e\r\n"},
    "38 magic keys in metadata": GOOD
    | {"metadata": {"__proto__": "", "$ref": "", "lc": "", "__class__": ""}},
    "41 a path as model": GOOD | {"model": "../x"},
    "41 an empty model": GOOD | {"model": ""},
    "44 nothing new to a known response": {
        "model": "m",
        "previous_response_id": "resp_1",
        "input": [],
    },
    "42 no input to a known response": {"model": "m", "previous_response_id": "resp_1"},
    "50 null temperature": GOOD | {"temperature": None},
    "58 safety_identifier of 128": GOOD | {"safety_identifier": "s" * 128},
    "null for every optional field": GOOD
    | dict.fromkeys(
        [
            "include",
            "tools",
            "text",
            "conversation",
            "prompt",
            "antiphon",
            "stream_options",
            "image",
        ]
    ),
    "a prompt in place of model and input": {"prompt": {"id": "pmpt_1", "variables": {"a": "b"}}},
    "a prompt and a null model": {"prompt": {"id": "support"}, "model": None, "input": "Hi"},
    "the reserved key, empty": GOOD | {"antiphon": {}},
    "a call and its output": GOOD
    | {
        "input": [
            {
                "type": "function_call",
                "call_id": "c",
                "name": "f",
                "arguments": "not json",
                "id": "fc_1",
            },
            {"type": "function_call_output", "call_id": "c", "output": [IMAGE], "id": "fco_1"},
        ]
    },
    "reasoning as the SDK dumps it": item(
        type="reasoning", id="rs_1", summary=[], content=None, status=None
    ),
    "an assistant's message as the SDK dumps it": item(
        type="message",
        id="msg_1",
        role="assistant",
        status="completed",
        phase=None,
        content=[
            {
                "type": "output_text",
                "text": "x",
                "annotations": [],
                "logprobs": None,
                "parsed": None,
            }
        ],
    ),
    "a user's message with a null phase": item(role="user", content="x", phase=None),
    "87 a recursive schema": GOOD
    | {
        "tools": [
            FUNCTION | {"parameters": {"type": "object", "properties": {"self": {"$ref": "#"}}}}
        ]
    },
    "89 allowed tools": GOOD
    | {
        "tools": [FUNCTION],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [FUNCTION]},
    },
    "89 auto without tools": GOOD | {"tool_choice": "auto"},
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_a_good_request_is_taken(body: dict[str, Any]) -> None:
    assert decode_request(encode(body)).model == (body.get("model") or "")


def test_an_item_with_a_role_and_no_type_is_a_message() -> None:
    (message,) = decode_request(encode(item(role="user", content="hi"))).input
    assert message == Message(role="user", content="hi")


def test_an_item_with_an_id_alone_is_a_reference() -> None:
    (reference,) = decode_request(encode(item(id="msg_1", type=None))).input
    assert reference == ItemReference(id="msg_1")


def test_an_output_keeps_its_parts() -> None:
    (output,) = decode_request(
        encode(item(type="function_call_output", call_id="c", output=[IMAGE]))
    ).input
    assert isinstance(output, FunctionCallOutput)
    assert output.output[0].image_url == IMAGE["image_url"]


def test_a_whole_number_with_a_fraction_of_zero_is_an_integer() -> None:
    assert decode_request(encode(GOOD | {"max_output_tokens": 16.0})).max_output_tokens == 16


def test_of_a_key_that_stands_twice_the_last_wins() -> None:
    assert decode_request(b'{"model": "a", "input": "x", "model": "b"}').model == "b"


ORDER = [
    ({"messages": 1}, None),
    ({"bogus": 1}, "model"),
    ({"model": "m", "bogus": 1}, "input"),
    ({"model": 1, "input": 1, "bogus": 1}, "bogus"),
    ({"model": 1, "input": 1}, "model"),
    ({"model": "m", "input": 1, "include": 1}, "input"),
    ({"model": "m", "input": "x", "metadata": 1, "include": 1}, "include"),
    ({"model": "m", "input": "x", "top_p": 9, "temperature": 9}, "temperature"),
    ({"model": "m", "input": [], "top_logprobs": 99, "store": 1}, "store"),
    ({"model": "m", "input": [], "top_logprobs": 99}, "top_logprobs"),
]


@pytest.mark.parametrize(("body", "param"), ORDER)
def test_the_first_thing_wrong_in_the_order_of_the_api_is_the_one_named(
    body: dict[str, Any], param: str
) -> None:
    assert refusal(decode_request, body).param == param


def test_client_input_is_displayed_on_one_line_at_most() -> None:
    assert len(answer(GOOD | {"k" * 1_000_000: 1})[2]) < 200
    assert len(answer(GOOD | {"truncation": "v" * 1_000_000})[2]) < 200


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(
    JSON
    | st.dictionaries(st.sampled_from(["model", "input", "tools", "text", "tool_choice"]), JSON)
)
def test_no_json_raises_anything_but_a_client_error(body: Any) -> None:
    for decode in (decode_request, decode_chat_request, decode_embeddings_request):
        with pytest.raises(ClientError):
            decode(encode(body))
            raise ClientError("taken")


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_client_error(body: bytes) -> None:
    with pytest.raises(ClientError):
        decode_request(body)


CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

CHAT_REFUSED: dict[str, tuple[Any, tuple[str | None, str | None, str]]] = {
    "no model": ({"messages": []}, missing("model")),
    "no messages": ({"model": "m"}, missing("messages")),
    "messages of text": (
        CHAT | {"messages": "hi"},
        mistyped("messages", "an array of objects", "a string"),
    ),
    "no message": (
        CHAT | {"messages": []},
        (
            "empty_array",
            "messages",
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
        ),
    ),
    "message without role": (CHAT | {"messages": [{}]}, missing("messages[0].role")),
    "content 1": (
        CHAT | {"messages": [{"role": "user", "content": 1}]},
        mistyped("messages[0].content", "one of a string or array of objects", "an integer"),
    ),
    "temperature 9": (
        CHAT | {"temperature": 9},
        out_of_range("temperature", "decimal", "above", 2, 9),
    ),
    "stream 1": (CHAT | {"stream": 1}, mistyped("stream", "a boolean", "an integer")),
    "not an object": (
        [],
        (None, None, "Invalid type: expected an object, but got an array instead."),
    ),
    "not JSON": (
        b"{",
        (None, None, f"{PARSE}it ends too early, or a string holds half a surrogate pair."),
    ),
}


@pytest.mark.parametrize(("body", "expected"), CHAT_REFUSED.values(), ids=CHAT_REFUSED)
def test_a_bad_chat_request_is_refused_exactly(
    body: Any, expected: tuple[str | None, str | None, str]
) -> None:
    assert answer(body, decode_chat_request) == expected


def test_what_only_a_backend_knows_passes_in_a_chat_request() -> None:
    body = CHAT | {
        "min_p": 0.1,
        "max_tokens": -1,
        "messages": [{"role": "user", "content": "hi", "cache": {}}],
    }
    assert decode_chat_request(encode(body)) == body


def test_an_embeddings_request_needs_a_model_and_an_input() -> None:
    body = {"model": "m", "input": ["a", "b"], "dimensions": 8, "truncate": True}
    assert decode_embeddings_request(encode(body)) == body
    assert answer({"input": "a"}, decode_embeddings_request) == missing("model")
    assert answer({"model": "m"}, decode_embeddings_request) == missing("input")
    wrong = answer({"model": "m", "input": 1}, decode_embeddings_request)
    assert wrong == mistyped("input", "one of a string or array", "an integer")


def test_a_page_of_input_items_has_defaults() -> None:
    query = decode_input_items_query({})
    assert (query.limit, query.order, query.after, query.before, query.include) == (
        20,
        "desc",
        None,
        None,
        [],
    )


def test_a_page_of_input_items_is_requested_in_the_query() -> None:
    query = decode_input_items_query(
        {
            "limit": ["7"],
            "order": ["asc"],
            "after": ["msg_1"],
            "include": ["reasoning.encrypted_content"],
            "include[]": ["message.output_text.logprobs"],
            "api-version": ["v1"],
        }
    )
    assert (query.limit, query.order, query.after) == (7, "asc", "msg_1")
    assert query.include == ["reasoning.encrypted_content", "message.output_text.logprobs"]


PAGES = {
    "106 limit 0": ({"limit": ["0"]}, out_of_range("limit", "integer", "below", 1, 0)),
    "106 limit 101": ({"limit": ["101"]}, out_of_range("limit", "integer", "above", 100, 101)),
    "106 limit x": ({"limit": ["x"]}, mistyped("limit", "an integer", "a string")),
    "106 limit in other digits": (
        {"limit": ["\u0667"]},
        mistyped("limit", "an integer", "a string"),
    ),
    "106 order up": ({"order": ["up"]}, not_one_of("order", "up", "'asc' and 'desc'")),
    "include nope": ({"include[]": ["nope"]}, not_one_of("include[0]", "nope", SUPPORTED_INCLUDES)),
}


@pytest.mark.parametrize(("params", "expected"), PAGES.values(), ids=PAGES)
def test_a_bad_page_is_refused_exactly(
    params: dict[str, list[str]], expected: tuple[str, str, str]
) -> None:
    with pytest.raises(ClientError) as caught:
        decode_input_items_query(params)
    assert (caught.value.code, caught.value.param, caught.value.message) == expected


def test_include_is_read_from_a_query_in_both_spellings() -> None:
    assert decode_include({}) == []
    assert decode_include({"include[]": ["reasoning.encrypted_content"]}) == [
        "reasoning.encrypted_content"
    ]
    with pytest.raises(ClientError, match="Invalid value: 'x'"):
        decode_include({"include": ["x"]})


def test_a_phase_is_accepted_on_any_role_and_stored_for_the_assistant_only() -> None:
    content = [
        {"role": role, "content": "x", "phase": "final_answer"} for role in ("user", "assistant")
    ]
    user, assistant = decode_request(json.dumps(GOOD | {"input": content}).encode()).input
    assert (user.phase, assistant.phase) == (msgspec.UNSET, "final_answer")
