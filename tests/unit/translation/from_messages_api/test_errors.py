"""Rejections of the Messages API in the words of Chat Completions."""

import json
from typing import Any

import pytest

from antiphon.translation.from_messages_api.errors import chat_rejection, message_in


def rejected(words: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    body = {"type": "error", "error": {"type": kind, "message": words}}
    return json.loads(chat_rejection(json.dumps(body).encode()))["error"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("words", "param"),
    [
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("output_config.format: Extra inputs are not permitted", "response_format"),
        ("output_config.effort: not supported", "reasoning_effort"),
        ("thinking.type: not supported", "reasoning_effort"),
        ("stop_sequences.0: not permitted", "stop"),
        ("system.0.text: not permitted", "messages"),
    ],
)
def test_the_place_is_the_parameter_of_chat(words: str, param: str) -> None:
    error = rejected(words)

    assert (error["param"], error["code"]) == (param, "unsupported_parameter")
    assert error["message"] == words


def test_a_keyword_of_one_schema_is_no_unsupported_parameter() -> None:
    error = rejected(
        "output_format.schema: For 'integer' type, property 'minimum' is not supported"
    )

    assert (error["param"], error["code"]) == ("response_format", None)


def test_a_wrong_value_is_no_unsupported_parameter() -> None:
    error = rejected("messages.1.content: Input should be a valid list")

    assert (error["param"], error["code"]) == ("messages.1.content", None)


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        ("model: claude-x", "not_found_error", "model_not_found"),
        ("Your credit balance is too low.", "invalid_request_error", "insufficient_quota"),
        ("No.", "billing_error", "insufficient_quota"),
        ("Overloaded", "overloaded_error", "server_is_overloaded"),
    ],
)
def test_errors_that_clients_act_upon_have_their_codes(words: str, kind: str, code: str) -> None:
    assert rejected(words, kind)["code"] == code


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"detail": "no"}'])
def test_a_body_that_is_no_error_of_the_api_stays_as_it_is(body: bytes) -> None:
    assert chat_rejection(body) == body
    assert isinstance(message_in(body), str)
