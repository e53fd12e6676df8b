"""An error with which an answer begins is a refusal with the status that it says, or is about
something else.
"""

import json
from typing import Any

import pytest

from antiphon.protocol.refused_answers import UNEXPLAINED, read_refusal

WORDS = "The frobnicator declined this."

REFUSALS: dict[str, tuple[int, Any]] = {
    "OpenAI": (
        400,
        {"message": WORDS, "type": "invalid_request_error", "param": None, "code": None},
    ),
    "OpenAI's code": (400, {"message": WORDS, "type": "x", "code": "unsupported_parameter"}),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": WORDS,
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "SGLang, without a code": (400, {"message": WORDS, "type": "BadRequestError"}),
    "FastAPI behind it": (422, {"message": WORDS, "code": 422}),
    "LiteLLM": (400, {"message": f"litellm.BadRequestError: {WORDS}", "type": None, "code": "400"}),
    "LiteLLM, text alone": (400, f"litellm.BadRequestError: {WORDS}"),
    "the OpenAI SDK's text": (422, f"Error code: 422 - {{'detail': '{WORDS}'}}"),
    "Gemini": (400, {"code": 400, "message": WORDS, "status": "INVALID_ARGUMENT"}),
    "Gemini, without a number": (400, {"message": WORDS, "status": "INVALID_ARGUMENT"}),
    "Alibaba": (400, {"code": "InvalidParameter", "message": WORDS}),
    "MiniMax's OpenAI form": (400, {"type": "x", "message": f"{WORDS} (2013)", "http_code": "400"}),
    "MiniMax": (400, {"code": 2013, "message": f"invalid params, {WORDS}"}),
    "Z.ai": (400, {"code": "1214", "message": WORDS}),
    "Groq": (400, {"message": WORDS, "code": "tool_use_failed", "status_code": 400}),
    "a quotation": (
        400,
        {"message": "Odd: 'api key and rate limit' is no name.", "type": "invalid_request_error"},
    ),
    "a content policy": (
        400,
        {"message": WORDS, "type": "invalid_request_error", "code": "content_policy_violation"},
    ),
    "a content filter": (400, {"message": WORDS, "code": "content_filter", "status": 400}),
    "reasoning that cannot be opened": (
        400,
        {"message": WORDS, "code": "invalid_encrypted_content"},
    ),
    "text-generation-inference": (422, {"message": WORDS, "http_status_code": 422}),
    "text-generation-inference, text alone": (400, "Input validation error: `tools` is odd"),
    "LM Studio": (UNEXPLAINED, {"message": f"Error rendering prompt with jinja template: {WORDS}"}),
    "Ollama": (UNEXPLAINED, WORDS),
    "a failure": (UNEXPLAINED, {"message": WORDS, "type": "internal_error", "code": 503}),
}

OTHERS: dict[str, Any] = {
    "a key": {"message": WORDS, "type": "invalid_request_error", "code": "invalid_api_key"},
    "no rights": {"message": WORDS, "type": "permission_error"},
    "a limit": {"message": WORDS, "code": 429},
    "a limit with a type of OpenAI": {
        "message": WORDS,
        "type": "invalid_request_error",
        "code": 429,
    },
    "a limit with a name": {"message": WORDS, "code": "rate_limit_exceeded"},
    "an account": {"message": "Insufficient credits", "code": 402},
    "a missing model": {"message": WORDS, "type": "NotFoundError", "code": 404},
    "a length": {
        "message": "This model's maximum context length is 8 tokens.",
        "type": "invalid_request_error",
    },
    "an account, in words alone": {
        "message": "Your credit balance is too low to access the Anthropic API.",
        "type": "invalid_request_error",
    },
    "a key, in words alone": {
        "message": "API key not valid.",
        "code": 400,
        "status": "INVALID_ARGUMENT",
    },
    "a load, in words alone": {
        "message": "Too many requests. Try again later.",
        "type": "invalid_request_error",
    },
    "a large body": {"message": WORDS, "code": 413},
}


@pytest.mark.parametrize(("status", "value"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_has_its_stated_status(status: int, value: Any) -> None:
    error = read_refusal(value)

    assert error.refusal is not None
    assert error.refusal[0] == status
    assert b"error" in error.refusal[1]
    assert error.status == (status if status < UNEXPLAINED else 502)


@pytest.mark.parametrize(
    "more",
    [{"detail": ["x" * 100] * 20_000}, {"detail": "x" * 2_000_000}, {"type": "x" * 2_000_000}],
    ids=["many", "long", "a type"],
)
def test_only_the_message_of_a_large_error_is_retained(more: Any) -> None:
    error = read_refusal({"message": WORDS, "code": 400, **more})

    assert error.refusal == (
        400,
        json.dumps({"error": {"message": WORDS}}, separators=(",", ":")).encode(),
    )


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_what_is_about_something_else_is_no_refusal(value: Any) -> None:
    error = read_refusal(value)

    assert (error.refusal, error.status) == (None, 502)
