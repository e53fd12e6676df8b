"""What a refusal of a chat completion teaches."""

import json

import pytest

from antiphon.errors import ClientError
from antiphon.forwarding.chat_refusals import NO_CHAT, NO_CHAT_TOOLS, lesson_of
from antiphon.upstream.call import BackendRefusal


def lesson(status: int, message: str, *, has_tools: bool = True, code: str | None = None) -> object:
    body = json.dumps({"error": {"message": message, "code": code}}).encode()
    refusal = BackendRefusal(status, {}, body, ClientError(message, code=code))
    return lesson_of(refusal, "gpt-5.6", has_tools=has_tools)


@pytest.mark.parametrize(
    ("message", "learned"),
    [
        ("Function tools are not supported. To use function tools, use /v1/responses", "tools"),
        ("Tool calling requires the Responses API.", "tools"),
        ("This model is only supported in v1/responses and not in v1/chat/completions.", "chat"),
        ("model gpt-5-codex is not accessible via the /chat/completions endpoint", "chat"),
    ],
)
def test_a_refusal_that_names_the_responses_api_is_learned(message: str, learned: str) -> None:
    assert lesson(400, message) == {"tools": NO_CHAT_TOOLS, "chat": NO_CHAT}[learned]


def test_a_missing_endpoint_is_learned_and_a_missing_model_is_not() -> None:
    assert lesson(404, "Not Found") == NO_CHAT
    assert lesson(405, "Method Not Allowed") == NO_CHAT
    assert lesson(404, "The model 'gpt-5.6' does not exist") is None
    assert lesson(404, "No such model", code="model_not_found") is None


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_other_failures_teach_nothing(status: int) -> None:
    assert lesson(status, "Use /v1/responses") is None


def test_a_mistake_of_the_client_teaches_nothing() -> None:
    assert lesson(400, "temperature must be at most 2") is None
