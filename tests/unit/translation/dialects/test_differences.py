"""Each difference is recognised in the words of several backends, and in none that is about
something else.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon.translation.dialects.dialect import NEXT_LESSON, TAUGHT, Dialect
from antiphon.translation.dialects.differences import DIFFERENCES, recognised
from antiphon.translation.dialects.model_families import for_model
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.learned import refused_parameter

GENERIC = DIALECTS["generic"]
CALLED = [
    {"role": "assistant", "tool_calls": [{"id": "call_1"}]},
    {"role": "tool", "tool_call_id": "call_1"},
]
SENT: dict[str, Any] = {
    "model": "m",
    "messages": CALLED,
    "tools": [{"type": "function"}],
    "tool_choice": "required",
    "response_format": {"type": "json_object"},
    "temperature": 0.2,
    "top_p": 0.9,
    "reasoning_effort": "minimal",
    "stream": False,
}

KNOWN = [
    # DashScope, Fireworks, and servers that speak like them.
    (
        400,
        "This model only support stream mode, please enable the stream parameter "
        "to access the model. ",
        "stream.always",
    ),
    (
        400,
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "stream.always",
    ),
    (400, "Requests with max_tokens > 4096 must have stream=true", "stream.always"),
    (422, "Non-streaming requests are not supported for this model.", "stream.always"),
    (400, "'stream' must be set to true for this model", "stream.always"),
    # Anthropic behind gateways.
    (
        400,
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        "sampling.both",
    ),
    (400, "temperature and top_p are mutually exclusive", "sampling.both"),
    (400, "You cannot set both temperature and top_p.", "sampling.both"),
    # Moonshot and OpenAI.
    (400, "invalid temperature: only 1 is allowed for this model", "temperature"),
    (400, "invalid temperature: only 0.6 is allowed for this model", "temperature"),
    (400, "invalid top_p: only 1 or 0.95 are allowed", "top_p"),
    (
        400,
        "Unsupported value: 'temperature' does not support 0.2 with this model. "
        "Only the default (1) value is supported.",
        "temperature",
    ),
    (400, "temperature must be 1 for models that reason", "temperature"),
    # Efforts.
    (400, "invalid reasoning_effort: (allowed: low, high, max)", "reasoning.effort:low,high,max"),
    (
        422,
        "reasoning_effort: Input should be 'low', 'medium' or 'high'",
        "reasoning.effort:low,medium,high",
    ),
    (
        400,
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
        "Supported values are: 'low', 'medium', and 'high'.",
        "reasoning.effort:low,medium,high",
    ),
    (400, '"reasoning_effort" must be one of ["none","high"]', "reasoning.effort:none,high"),
    # Templates of Mistral, behind any server.
    (500, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", "calls.ids"),
    (
        400,
        "Jinja Exception: Tool call IDs should be alphanumeric strings with length 9! "
        "tool call id ... length of 9",
        "calls.ids",
    ),
    # Gemini behind gateways.
    (
        400,
        "Function call is missing a thought_signature in functionCall parts.",
        "calls.signatures",
    ),
    # Formats beside tools.
    (400, "json mode cannot be combined with tool/function calling", "tools.format"),
    (400, '"tools" is incompatible with "response_format"', "tools.format"),
    (
        400,
        "Function calling with a response mime type: 'application/json' is unsupported",
        "tools.format",
    ),
    (
        400,
        "response_format is not supported when tools are used: `response_format` cannot be used "
        "with tools",
        "tools.format",
    ),
    (400, "Tools cannot be combined with a JSON schema", "tools.format"),  # guards, from here
    (400, "JSON schema is not supported with function calling", "tools.format"),
    (
        400,
        "response_format: a function name cannot be used with json schema and tools",
        "tools.format",
    ),
    (
        400,
        "Invalid argument: tools cannot be combined with JSON schema",
        "tools.format",
    ),  # no guards, from here
    (400, "JSON schema cannot be used with tools (model name: m)", "tools.format"),
    # Forced calls.
    (400, "tool_choice 'required' is incompatible with thinking enabled", "tools.forced"),
    (
        400,
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support "
        "being set to required or object in thinking mode",
        "tools.forced",
    ),
    (400, "Thinking mode does not support this tool_choice", "tools.forced"),
    (400, "Thinking may not be enabled when tool_choice forces tool use.", "tools.forced"),
]


@pytest.mark.parametrize(("status", "stated", "lesson"), KNOWN, ids=range(len(KNOWN)))
def test_a_refusal_teaches_its_difference(status: int, stated: str, lesson: str) -> None:
    body = json.dumps({"error": {"message": stated, "type": "invalid_request_error"}}).encode()
    assert refused_parameter(status, body, SENT) == lesson


INVENTED = json.loads((Path(__file__).parent / "refusals.json").read_text())
"""Refusals in the style of many servers, made up by someone who had not seen the table."""

LESSONS = {
    "stream": {"stream.always"},
    "both": {"sampling.both"},
    "value": {"temperature", "top_p", "presence_penalty", "frequency_penalty"},
    "effort": {"reasoning.effort"},
    "ids": {"calls.ids"},
    "format": {"tools.format"},
    "forced": {"tools.forced"},
    "signature": {"calls.signatures"},
}
NAMES = {row.name for row in DIFFERENCES} | {*TAUGHT}


@pytest.mark.parametrize(
    "row", INVENTED, ids=[f"{row['family']}{place}" for place, row in enumerate(INVENTED)]
)
def test_invented_refusals_teach_what_they_are_about(row: dict[str, Any]) -> None:
    sent = SENT | {
        "presence_penalty": 0.1,
        "frequency_penalty": 0.1,
        "max_tokens": 100,
        "logprobs": True,
        "stop": ["a"],
    }
    lesson = refused_parameter(row["status"], json.dumps(row["body"]).encode(), sent) or ""
    if row["family"] == "other":
        assert lesson.partition(":")[0] not in NAMES | LESSONS["value"]
    else:
        assert lesson.partition(":")[0] in LESSONS[row["family"]]


@pytest.mark.parametrize(
    "stated",
    [
        "Invalid value for 'messages[0].content': expected a string.",
        "The model `m` does not exist.",
        "temperature must be between 0 and 2",
        "Invalid schema for function 'f': 'x' is not valid.",
        "tool_choice is only allowed when tools are specified",
        "This model's maximum context length is 4096 tokens.",
        "stream_options can only be set if stream is true",
        "Rate limit reached for requests",
        "The tool call id 'x' was not found.",
    ],
)
def test_other_refusals_teach_none_of_them(stated: str) -> None:
    assert recognised(400, [stated], SENT) is None


@pytest.mark.parametrize(
    "stated",
    [
        "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` "
        "param specified. Pass `tools=` param OR set `litellm.modify_params = True`",
        "litellm.BadRequestError: Anthropic doesn't support tool calling without "
        "`tools=` param specified.",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ],
)
def test_calls_without_tools_teach_only_a_request_that_has_them(stated: str) -> None:
    assert recognised(400, [stated], {"messages": CALLED}) == "calls.tools"
    assert recognised(400, [stated], SENT) is None
    assert recognised(400, [stated], {"messages": [{"role": "user", "content": "Hi"}]}) is None


@pytest.mark.parametrize(("status", "stated", "lesson"), KNOWN, ids=range(len(KNOWN)))
def test_a_request_without_what_is_refused_learns_nothing(
    status: int, stated: str, lesson: str
) -> None:
    assert recognised(status, [stated], {"model": "m", "messages": [], "stream": True}) is None


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 413, 429])
def test_other_statuses_teach_nothing(status: int) -> None:
    assert all(recognised(status, [stated], SENT) is None for _, stated, _ in KNOWN)


def test_an_effort_that_is_allowed_teaches_nothing() -> None:
    assert recognised(400, ["reasoning_effort must be one of low, minimal"], SENT) is None


def test_a_long_message_is_read_up_to_a_limit() -> None:
    assert recognised(400, ["x" * 2_000 + KNOWN[0][1]], SENT) is None
    assert recognised(400, [*["x" * 1_500] * 3, KNOWN[0][1]], SENT) is None


def taught(*lessons: str) -> Dialect:
    return GENERIC.taught(frozenset(lessons))


RICH = replace(GENERIC, system_role="developer", system_messages="several")
"""A dialect with more than most backends accept."""


@pytest.mark.parametrize("lesson", [*TAUGHT, *NEXT_LESSON.values()])
def test_every_lesson_changes_what_is_sent(lesson: str) -> None:
    assert RICH.taught(frozenset({lesson})) != RICH


def test_lessons_about_efforts_are_combined() -> None:
    assert taught("reasoning.effort:low,high,max").efforts == {"low", "high", "max"}
    assert taught("reasoning.effort:low,high,max", "reasoning.effort:low,medium").efforts == {"low"}


def test_every_row_has_its_evidence_and_a_name_of_its_own() -> None:
    assert len({row.name for row in DIFFERENCES}) == len(DIFFERENCES)
    assert all(row.evidence for row in DIFFERENCES)


@pytest.mark.parametrize(
    "model", ["minimax-m2", "MiniMaxAI/MiniMax-M2.5", "minimax/minimax-m2:free", "MiniMax_M3"]
)
def test_minimax_has_its_thoughts_back_where_it_wrote_them(model: str) -> None:
    sent = for_model(GENERIC, model)
    assert (sent.reasoning, sent.replay) == ("think_tags", "always")
    assert for_model(DIALECTS["openrouter"], model) is DIALECTS["openrouter"]


@pytest.mark.parametrize("model", ["m", "qwen3", "minimax-text-01", "llama-maxim"])
def test_other_models_are_sent_what_their_server_takes(model: str) -> None:
    assert for_model(GENERIC, model) is GENERIC


@pytest.mark.parametrize(
    "stated",
    [
        "Invalid value for temperature: only values between 0 and 2 are supported",
        "Only values between 0 and 2 for temperature are supported",
        "temperature: only numbers up to 1 are allowed",
        "Invalid schema for function 'f': In context=('properties','temperature'), only string "
        "types are allowed",
        "tools[0].function.parameters.properties.temperature: only one of them is allowed",
        "This model's maximum context length is 4096 tokens (reasoning 10, tool_choice 4)",
        "Invalid tool_choice: function 'reasoning' not found in tools",
        "Tool choice is required, but model did not call a tool (reasoning model)",
        "The prompt 'use no tool choice when thinking must be deep' was rejected by moderation",
        "stream_options must have stream=true",
        "When using stream_options you must set stream=True",
        "Prompt was blocked: 'please use streaming only for this song'",
        "temperature and top_p must be numbers and cannot be negative",
        "Either temperature must be set",
        'Blocked: "the top_p and temperature cannot be combined"',
        "tool_call_id 'abc' not found; message 9 characters",
        "tool_call_id should be a-z, A-Z, 0-9, _ or - and max 64",
        "Functions cannot have name with json schema",
        "Tools cannot have a JSON schema with references",
        "The tool cannot use the keyword 'pattern' of JSON schema",
        "Function parameters must not contain oneOf in their JSON schema",
        "JSON schema is not supported for the arguments of tools",
        "Unsupported JSON schema in the description of the function",
    ],
)
def test_words_about_something_else_teach_none_of_them(stated: str) -> None:
    assert recognised(400, [stated], SENT) is None


@pytest.mark.parametrize("reasoning", ["auto", True, ["low"], {"effort": 3}])
def test_an_effort_in_a_form_of_the_clients_own_teaches_nothing(reasoning: Any) -> None:
    text = "reasoning_effort must be one of low, high"
    assert (
        recognised(400, [text], {"messages": [], "reasoning": reasoning, "thinking": reasoning})
        is None
    )
