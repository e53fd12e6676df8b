"""What may be the form of a request, and what a plainer form changes."""

import json
import time
from typing import Any

import pytest

from antiphon.translation.dialects.dialect import PLAIN_LESSON
from antiphon.translation.dialects.plainest import may_be_form, omit, suspects, value_lesson
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.learned import own_words, spoken
from antiphon.translation.to_chat_completions.plain_schemas import digest_of, plain

GENERIC = DIALECTS["generic"]
OTHER = (
    "Content Exists Risk",
    "The response was filtered due to the prompt triggering the content management policy.",
    "litellm.ContentPolicyViolationError: no",
    "The input is considered high risk",
    "PROHIBITED_CONTENT",
    "blocked by our content guardrails",
    "内容存在风险",
    "DataInspectionFailed",
    "litellm.ContextWindowExceededError: ContextWindowExceededError",
    "input length 40000 exceeds 32768",
    "Prompt has 9000 tokens, but the model allows 8192",
    "Your prompt is too long.",
    "API_KEY_INVALID",
    "Please pass a valid key",
    "无效的令牌",
    "Your account is suspended",
    "insufficient_quota",
    "您的余额不足",
    "image_url is only supported by vision models",
    "unknown variant `image_url`",
    "input_audio is not supported",
    "Could not download the file",
    "This model is not multimodal",
    "temperature must be between 0 and 1",
    "top_p: must be less than 1.0",
    "tool_use_failed",
)
FORM = (
    "tools.0.function.parameters.properties.url: keyword not supported here",
    "additionalProperties is prohibited in function declarations",
    "tool schema is too large",
    "temperature and top_p are mutually exclusive; pass at most one",
    "The frobnicator declined this.",
    "safety_identifier: what is that?",
)


@pytest.mark.parametrize("words", OTHER)
def test_what_another_form_cannot_change_is_no_matter_of_form(words: str) -> None:
    assert not may_be_form(400, words)


@pytest.mark.parametrize("words", FORM)
def test_words_about_a_form_are_not_mistaken(words: str) -> None:
    assert may_be_form(400, words)
    assert may_be_form(422, words)
    assert not any(
        may_be_form(status, words) for status in (401, 402, 403, 404, 408, 413, 429, 500, 503)
    )


@pytest.mark.parametrize(
    "words",
    [
        'Error rendering template: Traceback: File "/opt/server.py", line 3: one must be at the '
        "beginning",
        "jinja2.exceptions.UndefinedError: 'x' is undefined",
        "raise_exception('roles must alternate')",
    ],
)
def test_what_a_template_raises_is_a_matter_of_form_with_any_status(words: str) -> None:
    assert may_be_form(500, words)
    assert not may_be_form(429, words)


def test_the_codes_of_a_refusal_count() -> None:
    assert not may_be_form(
        400, spoken(b'{"error": {"code": "DataInspectionFailed", "message": "No."}}')
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {}}, "required": [{}]},
        {"type": "object", "properties": {"a": True, "b": None}, "required": "a"},
        {"type": ["object", 3], "properties": [1]},
        {"type": {"a": 1}, "enum": {"b": 2}, "items": [{}]},
        {"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": 3}}},
    ],
)
def test_odd_schemas_have_a_plain_form(schema: dict[str, Any]) -> None:
    found = plain(schema)

    assert found is not None
    assert found["type"] == "object"
    assert plain(found) == found


@pytest.mark.parametrize(("count", "width"), [(2_000, 2_000), (300, 300), (1_900, 1)])
def test_a_schema_that_multiplies_has_no_plain_form(count: int, width: int) -> None:
    schema = {
        "type": "object",
        "properties": {f"p{number}": {"$ref": "#/$defs/b"} for number in range(count)},
        "$defs": {
            "b": {"properties": {f"q{number}": {} for number in range(width)}, "title": "x" * 1_000}
        },
    }
    body = {
        "messages": [],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
    }
    began = time.process_time()

    assert plain(schema) is None
    assert not any(one.startswith(PLAIN_LESSON) for one in suspects(body, GENERIC))
    assert time.process_time() - began < 5


def test_omitted_keywords_of_a_schema_are_described_in_words() -> None:
    found = plain(
        {
            "type": "object",
            "properties": {
                "a": {"items": {"type": "integer"}},
                "b": {"anyOf": [True, {"type": "string"}]},
                "c": {"type": "array", "items": [{"type": "string"}]},
            },
        }
    )

    assert found is not None
    assert found["properties"] == {
        "a": {"description": 'Must fit {"items":{"type":"integer"}}.'},
        "b": {"description": 'Must fit {"anyOf":[true,{"type":"string"}]}.'},
        "c": {
            "type": "array",
            "items": {},
            "description": 'Must fit {"items":[{"type":"string"}]}.',
        },
    }


def test_the_digest_of_a_schema_does_not_depend_on_the_order_of_its_keys() -> None:
    assert (
        digest_of({"a": 1, "b": [2]})
        == digest_of({"b": [2], "a": 1})
        != digest_of({"a": 1, "b": [3]})
    )


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        (
            "Unsupported parameter: seed. Conversation was: user: My number is 078-05-1120.",
            "My number",
        ),
        ("Schema was refused: {'content': 'My number is 078-05-1120.'}", "078"),
        ("Bad \u0000word\u001b[31m", "\u0000"),
    ],
)
def test_the_stored_words_are_the_backends_own(message: str, stored: str) -> None:
    sent = {"messages": [{"role": "user", "content": "My number is 078-05-1120."}]}
    stated = own_words(json.dumps({"error": {"message": message}}).encode(), sent)

    assert stored not in stated
    assert stated
    assert "\x1b" not in stated


def test_no_words_are_stored_from_the_refusal_of_a_very_large_request() -> None:
    assert own_words(b"No.", {"messages": [{"role": "user", "content": "x" * 600_000}]}) == ""


def test_few_words_are_stored() -> None:
    assert len(own_words(b"x" * 1_000, {})) == 300


@pytest.mark.parametrize(
    ("name", "value", "lesson"),
    [
        ("temperature", 1.9, "temperature=1.9"),
        ("temperature", 1, "temperature=1"),
        ("temperature", 1.0, "temperature=1"),
        ("parallel_tool_calls", True, "parallel_tool_calls=true"),
        ("service_tier", "flex", "service_tier=flex"),
        ("user", "me", "user"),
        ("prompt_cache_key", "k" * 100, "prompt_cache_key"),
        ("stream_options", {"include_usage": True}, "stream_options"),
        ("seed", 10**40, f"seed={digest_of(10**40)}"),  # type: ignore[arg-type]
        (
            "chat_template_kwargs",
            {"a": [1], "b": 2},
            f"chat_template_kwargs={digest_of({'b': 2, 'a': [1]})}",
        ),
    ],
)
def test_a_suspect_is_a_value_of_a_parameter_unless_any_is_as_good(
    name: str, value: Any, lesson: str
) -> None:
    assert value_lesson(name, value) == lesson


def test_only_the_value_that_was_refused_is_omitted() -> None:
    body: dict[str, Any] = {
        "messages": [],
        "temperature": 1.9,
        "top_p": 0.5,
        "seed": 3,
        "user": "me",
    }
    lessons = {*suspects(body, GENERIC)} - {"top_p=0.5"}

    assert lessons >= {"temperature=1.9", "seed=3", "user"}
    assert omit(body, lessons, {"seed"}) == ["temperature"]
    assert body == {
        "messages": [],
        "top_p": 0.5,
        "seed": 3,
        "user": "me",
    }  # `Dialect.taught` knows `user`
    assert omit({"temperature": 0.9}, lessons) == []


def test_the_stored_words_of_a_refusal_by_a_responses_api_are_its_own() -> None:
    sent = {
        "model": "frobnicator-large",
        "input": [{"content": "My number is 078-05-1120."}],
        "instructions": "Call me Ishmael, please.",
        "user": "alice@example.com",
    }
    stated = own_words(
        b"frobnicator-large: My number is 078-05-1120. Call me Ishmael, please. alice@example.com",
        sent,
    )

    assert "078" not in stated
    assert "Ishmael" not in stated
    assert "alice" not in stated
    assert "frobnicator-large" in stated


@pytest.mark.parametrize(
    ("beginning", "ending", "stored"),
    [
        ("x" * 290, " at most 16384 tokens", " at most"),
        ("x" * 290, " up to 163 tokens", " up to 163"),
        ("长" * 295, "最多16384", "最多"),
        ("x" * 280, "16384", "16384"),
    ],
)
def test_no_part_of_a_number_is_stored(beginning: str, ending: str, stored: str) -> None:
    assert own_words((beginning + ending).encode(), {}) == beginning + stored
