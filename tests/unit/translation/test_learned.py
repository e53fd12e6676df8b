import json
import time
from typing import Any

import pytest

from antiphon.translation.learned import refused_parameter, refused_schema, refused_types

SENT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [], "reasoning": "why"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "strict": True}}],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "temperature": 1.0,
    "frequency_penalty": 0.5,
    "max_tokens": 20,
    "reasoning_effort": "low",
    "response_format": {"type": "json_schema"},
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "u",
}


def openai(message, param=None, code=None):
    return {
        "error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    }


def extra(*loc):
    return {
        "type": "extra_forbidden",
        "loc": list(loc),
        "msg": "Extra inputs are not permitted",
        "input": None,
    }


SWAP = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
ONLY_DEFAULT = (
    "Unsupported value: 'temperature' does not support 0.7 with this model. "
    "Only the default (1) value is supported."
)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (openai(SWAP, "max_tokens", "unsupported_parameter"), "max_tokens"),
        (openai(SWAP), "max_tokens"),
        (openai("Unknown parameter: 'user'.", "user", "unknown_parameter"), "user"),
        (
            openai("Unrecognized request argument supplied: parallel_tool_calls"),
            "parallel_tool_calls",
        ),
        (openai(ONLY_DEFAULT, "temperature", "unsupported_value"), "temperature"),
        ({"detail": "Unexpected fields in the request: {'user'}"}, "user"),
        (
            openai(
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
                "response_format",
            ),
            "response_format",
        ),
        (openai("This response_format type is unavailable now"), "response_format"),
        (openai("property 'parallel_tool_calls' is unsupported"), "parallel_tool_calls"),
        (
            openai("Function tools with reasoning_effort are not supported for this model."),
            "reasoning_effort",
        ),
        (
            openai("Validation error at #/stream_options: Extra inputs are not permitted"),
            "stream_options",
        ),
        (
            openai("gemini does not support parameters: {'frequency_penalty': 0.5}"),
            "frequency_penalty",
        ),
        (openai('Invalid JSON payload received. Unknown name "user": Cannot find field.'), "user"),
        ([openai('Unknown name "frequency_penalty": Cannot find field.')], "frequency_penalty"),
        (openai("tools[0].function.strict is not supported"), "strict"),
        (
            {
                "message": "parallel_tool_calls=False is not supported by this model.",
                "param": "parallel_tool_calls",
            },
            "parallel_tool_calls",
        ),
        (
            {
                "message": "messages.2.assistant.reasoning: property "
                "'messages.2.assistant.reasoning' is unsupported",
                "param": "validation_error",
            },
            "messages.reasoning",
        ),
        (
            {
                "error_code": "BAD_REQUEST",
                "message": 'BAD_REQUEST: json: unknown field "stream_options"',
            },
            "stream_options",
        ),
        (
            {"message": "BAD_REQUEST: Model x does not support the temperature parameter."},
            "temperature",
        ),
        (
            {
                "code": "invalid-argument",
                "error": "Model grok does not support parameter reasoningEffort.",
            },
            "reasoning_effort",
        ),
        ({"detail": [extra("body", "user")]}, "user"),
        (
            {
                "object": "error",
                "message": {"detail": [extra("body", "stream_options", "include_usage")]},
            },
            "stream_options",
        ),
        (
            {
                "object": "error",
                "message": json.dumps({"detail": [extra("body", "frequency_penalty")]}),
            },
            "frequency_penalty",
        ),
        (
            {"detail": [extra("body", "messages", 1, "assistant", "reasoning")]},
            "messages.reasoning",
        ),
        ({"detail": [extra("body", "tools", 0, "function", "strict")]}, "strict"),
        (
            openai("The reasoning_content in the thinking mode must be passed back to the API."),
            "+reasoning_content",
        ),
        (
            openai(
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                "message at index 1"
            ),
            "+reasoning_content",
        ),
    ],
)
def test_a_refused_parameter_is_found_in_every_servers_words(body, name):
    assert refused_parameter(400, json.dumps(body).encode(), SENT) == name
    assert refused_parameter(422, json.dumps(body).encode(), SENT) == name


@pytest.mark.parametrize(
    "body",
    [
        openai(
            "Unsupported value: 'reasoning_effort' does not support 'low' with this model.",
            "reasoning_effort",
            "unsupported_value",
        ),
        openai("Unknown parameter: 'top_k'.", "top_k", "unknown_parameter"),
        openai("The model `m` does not exist", "model", "model_not_found"),
        openai(
            "Invalid 'temperature': decimal above maximum value.",
            "temperature",
            "decimal_above_max_value",
        ),
        openai("stream is not supported"),
        openai("The reasoning in the thinking mode must be passed back to the API."),
        {
            "error": {
                "code": 400,
                "message": "request (2009 tokens) exceeds the available context size (512 tokens)",
            }
        },
        {
            "code": 400,
            "message": "Validation: Temperature must be between 0 and 2, got 100",
            "type": "Bad Request",
        },
        {
            "detail": [
                {
                    "type": "string_type",
                    "loc": ["body", "user"],
                    "msg": "Input should be a valid string",
                }
            ]
        },
        "Bad Request",
        None,
        [],
    ],
)
def test_other_errors_teach_nothing(body):
    assert refused_parameter(400, json.dumps(body).encode(), SENT) is None


NO_TOOLS = [
    # ollama#14795, in its own API's form and in OpenAI's; llama.cpp, ramalama#988; vllm#9986;
    # vllm#30613.
    {"error": "registry.ollama.ai/library/gemma:2b does not support tools"},
    openai("registry.ollama.ai/library/deepseek-r1:14b does not support tools"),
    {
        "error": {
            "code": 500,
            "message": "tools param requires --jinja flag",
            "type": "server_error",
        }
    },
    {
        "object": "error",
        "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser '
        "to be set",
    },
    openai('tool_choice="required" requires --tool-call-parser to be set'),
    openai("This model does not support function calling."),
    openai("Tool use is not supported by this model", "tools"),
]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("body", NO_TOOLS)
def test_a_backend_without_tools_is_reported_as_such(status, body):
    assert refused_parameter(status, json.dumps(body).encode(), SENT) == "tools"


@pytest.mark.parametrize("body", NO_TOOLS)
def test_complaints_about_tools_teach_nothing_if_none_were_sent(body):
    sent = {name: value for name, value in SENT.items() if name not in ("tools", "tool_choice")}
    assert refused_parameter(400, json.dumps(body).encode(), sent) is None


@pytest.mark.parametrize(
    "body",
    [
        openai("m does not support tools of type 'custom'"),
        openai("web_search tools are not supported by this model."),
        openai("Invalid 'tools[0].function.name': string does not match pattern."),
        {
            "error": {"message": "Bad request."},
            "input": {"messages": [{"content": "gemma does not support tools"}]},
        },
    ],
)
def test_what_is_wrong_with_one_tool_is_the_clients(body):
    assert refused_parameter(400, json.dumps(body).encode(), SENT) is None


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_only_errors_about_the_request_teach(status):
    assert refused_parameter(status, json.dumps(openai(SWAP)).encode(), SENT) is None


def test_plain_text_teaches_too():
    assert refused_parameter(400, b"unknown field `user`, expected one of `model`", SENT) == "user"


def test_what_a_server_quotes_from_the_request_does_not_teach():
    body = {
        "detail": [
            {
                "type": "missing",
                "loc": ["body"],
                "msg": "Field required",
                "input": "Unknown parameter: 'user'",
            }
        ]
    }

    assert refused_parameter(422, json.dumps(body).encode(), SENT) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"error":' * 5_000,
        b'"' + b"a=" * 500_000 + b'"',
        b"a " * 500_000,
    ],
)
def test_no_body_makes_it_raise_or_linger(body):
    began = time.process_time()

    assert refused_parameter(400, body, SENT) is None
    assert not refused_types(body, {"web_search"})
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "Unsupported tool type: 'web_search'.", "param": "tools[0].type"}},
        {"error": {"message": "Input should be 'function'; 'web_search' is unknown."}},
        {"error": {"message": "unknown variant `web_search`, expected `function` at line 1"}},
        {"error": "web_search tools are not supported by this model."},
        {"error": {"message": "This server does not support the tool web_search."}},
        {
            "detail": [
                {
                    "loc": ["body", "tools", 0, "type"],
                    "msg": "Input should be 'function'",
                    "input": "web_search",
                }
            ]
        },
        {
            "message": "[{'loc': ('type',), 'msg': \"Input should be 'function'\", 'input': "
            "'web_search'}]"
        },
        {
            "message": "Input tag 'web_search' found using 'type' does not match any of the "
            "expected tags: 'function'"
        },
    ],
)
def test_a_type_refused_in_the_words_of_a_server_is_recognised(error: Any) -> None:
    assert refused_types(json.dumps(error).encode(), {"web_search", "custom"}) == {"web_search"}


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "Bad request."}, "input": {"tools": [{"type": "web_search"}]}},
        {"error": {"message": "Bad request.", "request": "web_search is not supported"}},
        {"error": {"message": "temperature must be at most 2. Tools given: web_search."}},
        {
            "error": {
                "message": "Invalid value: 'high'. The request had tools: function, web_search."
            }
        },
        {
            "detail": [
                {
                    "loc": ["body", "top_p"],
                    "msg": "Input should be at most 1",
                    "input": "web_search",
                }
            ]
        },
        {"error": {"message": "Unsupported tool type: 'mcp'."}},
    ],
)
def test_a_type_that_is_only_quoted_is_not(error: Any) -> None:
    assert refused_types(json.dumps(error).encode(), {"web_search", "custom"}) == frozenset()


# Schemas that a backend can make no grammar of.

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "pattern": "x", "maxLength": 9000, "format": "uri"},
        "b": {"not": {}},
    },
}
WITH_SCHEMA = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
}


@pytest.mark.parametrize(
    ("status", "body", "lesson"),
    [
        # kubernetes-mcp-server#758 and openclaw#113562, of llama.cpp
        (
            400,
            openai("JSON schema conversion failed:\nPattern must start with '^' and end with '$'"),
            "schema:anchors",
        ),
        # llama.cpp#25895
        (400, openai("Failed to initialize samplers: failed to parse grammar"), "schema:large"),
        # llama.cpp#17473, as its log has it
        (
            400,
            openai("parse: error parsing grammar: number of repetitions exceeds sane defaults"),
            "schema:large",
        ),
        # club-3090#45, of vLLM
        (500, openai('Grammar error: Unimplemented keys: ["not"]'), "schema:logic"),
        # vllm#16321
        (
            400,
            openai("The provided JSON schema contains features not supported by xgrammar."),
            "schema:large",
        ),
        # ollama#8325, marker#984
        (500, {"error": "invalid JSON schema in format"}, "schema:large"),
        (
            400,
            openai("Invalid schema for function 'f': 'format' is not permitted."),
            "schema:format",
        ),
        # Nothing of these is about a schema.
        (400, openai("The model does not exist"), None),
        (400, {"error": {"message": "Bad.", "input": "failed to parse grammar"}}, None),
        (400, openai("This response_format type is unavailable now"), None),
        (404, openai("Failed to initialize samplers: failed to parse grammar"), None),
    ],
)
def test_what_an_error_teaches_of_schemas(status, body, lesson) -> None:
    assert refused_schema(status, json.dumps(body).encode(), WITH_SCHEMA) == lesson


def test_a_request_without_schemas_teaches_nothing_of_them() -> None:
    assert refused_schema(400, b"failed to parse grammar", {"model": "m"}) is None


@pytest.mark.parametrize("noise", ["", "No. " * 100, {"code": 1}], ids=["empty", "texts", "tables"])
def test_a_large_refusal_is_read_in_part(noise: Any) -> None:
    accused = "Unsupported parameter: 'seed'"
    few, many = ({"error": {"detail": [*[noise] * count, accused]}} for count in (3, 500))

    assert refused_parameter(400, json.dumps(few).encode(), {"messages": [], "seed": 1}) == "seed"
    assert refused_parameter(400, json.dumps(many).encode(), {"messages": [], "seed": 1}) is None
