"""What backends say when they fail, in their own words."""

import json
from typing import Any

import pytest

from antiphon.protocol.chat import error_code, read_error
from antiphon.upstream.backend_errors import TOO_LONG, read_failure
from antiphon.upstream.identity import BackendIdentity


def openai(message: str, code: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": None,
            "code": code,
            **fields,
        }
    }


BACKEND = BackendIdentity("b", "http://b/v1", "b")

OPENROUTER = (
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 "
    "tokens (7884 of text "
    "input, 131072 in the output). Please reduce the length of either one, or use the "
    '"middle-out" transform to '
    "compress your prompt automatically."
)
OVERFLOWS: dict[str, tuple[int, Any]] = {
    "openai": (
        400,
        openai(
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 128994 tokens (128242 in the messages, 752 in the functions). "
            "Please reduce the length of the messages or functions.",
            "context_length_exceeded",
        ),
    ),
    "openai, since gpt-4.1": (
        400,
        openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
            "509178 tokens."
        ),
    ),
    "openai, by its code": (400, openai("Too much.", "context_length_exceeded")),
    "azure": (
        400,
        openai(
            "This model's maximum context length is 16385 tokens. However, your messages resulted "
            "in 20000 tokens."
        ),
    ),
    "ollama": (
        400,
        {"error": {"message": "the input length exceeds the context length", "type": "api_error"}},
    ),
    "ollama, its cloud": (
        400,
        {"error": "prompt too long; exceeded max context length by 540451 tokens (ref: 00ad)"},
    ),
    "lmstudio": (
        400,
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the "
            "context length "
            "(n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length."
        },
    ),
    "lmstudio, before": (
        400,
        {
            "error": "Trying to keep the first 10136 tokens when context the overflows. However, "
            "the model is loaded…"
        },
    ),
    "lmstudio, after": (
        400,
        {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"},
    ),
    "lmstudio, MLX": (200, {"error": {"message": "Context size has been exceeded."}}),
    "llamacpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "request (2009 tokens) exceeds the available context size (512 "
                "tokens), try increasing it",
                "n_ctx": 512,
                "n_prompt_tokens": 2009,
                "type": "exceed_context_size_error",
            }
        },
    ),
    "llamacpp, before": (
        500,
        {
            "error": {
                "code": 500,
                "message": "the request exceeds the available context size",
                "type": "server_error",
            }
        },
    ),
    "llama-cpp-python": (
        500,
        openai("Requested tokens (2009) exceed context window of 512", type="internal_server"),
    ),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 16384 tokens. However, you "
            "requested 19591 tokens "
            "(9591 in the messages, 10000 in the completion). Please reduce the length of the "
            "messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vllm, its engine": (
        400,
        {
            "error": {
                "message": "The decoder prompt (length 17772) is longer than the maximum model "
                "length of 16384."
            }
        },
    ),
    "vllm, no room for the answer": (
        400,
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 2000. "
            "This model's maximum context length is 4096 tokens and your request has 2104 input "
            "tokens (2000 > 4096 - 2104)."
        ),
    ),
    "sglang": (
        400,
        {
            "object": "error",
            "message": "The input (61709 tokens) is longer than the model's context length (40960 "
            "tokens).",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "sglang, before": (
        400,
        {
            "message": "Input length (160062 tokens) exceeds the maximum allowed length (59862 "
            "tokens)."
        },
    ),
    "groq": (
        400,
        openai(
            "Please reduce the length of the messages or completion.",
            "context_length_exceeded",
            param="messages",
        ),
    ),
    "deepseek": (
        400,
        openai(
            "This model's maximum context length is 131072 tokens. "
            "However, you requested 131134 tokens.",
            "invalid_request_error",
        ),
    ),
    "mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 140000 tokens and 0 draft tokens, too large for model "
            "with 131072 maximum "
            "context length",
            "type": "invalid_request_prompt",
            "code": "3051",
        },
    ),
    "openrouter": (
        400,
        {"error": {"message": OPENROUTER, "code": 400, "metadata": {"provider_name": None}}},
    ),
    "openrouter, the provider's words": (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": '{"error":{"message":"prompt is too long: 219898 tokens > 200000 '
                    'maximum"}}'
                },
            }
        },
    ),
    "together": (
        400,
        openai(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: "
            "80125 `inputs` tokens and 4096 `max_new_tokens`"
        ),
    ),
    "fireworks": (400, openai("The prompt is too long: 9210, model maximum context length: 8191")),
    "cerebras": (
        400,
        {
            "message": "Please reduce the length of the messages or completion. Current length is "
            "42328 while limit is "
            "40000",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        },
    ),
    "xai": (
        400,
        {
            "code": "invalid-argument",
            "error": "This model's maximum prompt length is 131072 but the request contains "
            "136973 tokens.",
        },
    ),
    "gemini": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1290000) exceeds the maximum number of "
                    "tokens allowed "
                    "(1048576).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    "anthropic behind litellm": (
        400,
        {
            "error": {
                "message": "litellm.ContextWindowExceededError: AnthropicException - "
                '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too '
                "long: 219898 tokens "
                '> 200000 maximum"}}',
                "type": None,
                "param": None,
                "code": "400",
            }
        },
    ),
    "anthropic, no room for the answer": (
        400,
        openai(
            "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, "
            "decrease input length"
        ),
    ),
    "anthropic on bedrock": (400, {"message": "Input is too long for requested model."}),
    "alibaba": (
        400,
        openai(
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",  # noqa: E501 - one text, or a row of a table
            "invalid_parameter_error",
        ),
    ),
    "moonshot": (
        400,
        {
            "error": {
                "message": "Invalid request: Your request exceeded model token limit: 262144 "
                "(requested: 263162)",
                "type": "invalid_request_error",
            }
        },
    ),
    "zai": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    "minimax": (400, openai("invalid params, context window exceeds limit (2013)")),
    "cohere": (
        400,
        {
            "id": "bda42bf8",
            "message": "too many tokens: size limit exceeded by 19296 tokens. Try using shorter "
            "or fewer inputs. The "
            "limit for this model is 132000 tokens.",
        },
    ),
    "as 413": (413, openai("prompt is too long: 219898 tokens > 200000 maximum")),
}

OTHERS: dict[str, tuple[int, Any]] = {
    "groq, too much a minute": (
        413,
        {
            "error": {
                "message": "Request too large for model `llama-3.3-70b-versatile` in organization "
                "`org_1` service tier "
                "`on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please "
                "reduce your message size "
                "and try again.",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "openai, too much a minute": (
        429,
        openai(
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. "
            "The input or output tokens must be reduced in order to run successfully.",
            "rate_limit_exceeded",
        ),
    ),
    "too much a minute, in the words of an overflow": (
        413,
        openai(
            "Please reduce the length of the messages: input tokens per minute (ITPM) limit 6000."
        ),
    ),
    "bedrock, throttled": (
        429,
        {"message": "Throttling error: Too many tokens, please wait before trying again."},
    ),
    "openai, too long an answer wanted": (
        400,
        openai(
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, "
            "whereas you provided 200000.",
            "invalid_value",
            param="max_tokens",
        ),
    ),
    "cohere, too long an answer wanted": (
        400,
        {
            "message": "too many tokens: max tokens must be less than or equal to 4096, the "
            "maximum output length for "
            "this model - received 10000000."
        },
    ),
    "groq, too long an answer wanted": (
        400,
        openai(
            "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for "
            "this model"
        ),
    ),
    "too long a name": (
        400,
        openai("Invalid 'user': string too long. Expected a string with maximum length 64."),
    ),
    "too large a body": (413, openai("Request Entity Too Large")),
    "a body that repeats the request": (
        422,
        {
            "detail": [
                {
                    "msg": "Input should be a valid dictionary",
                    "loc": ["body", "messages", 0],
                    "input": "My prompt is too long, and the maximum context length is small.",
                }
            ]
        },
    ),
}


@pytest.mark.parametrize(("status", "body"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_every_backends_error_for_a_too_long_input_is_recognised(status: int, body: Any) -> None:
    error = read_failure(max(status, 400), {}, json.dumps(body).encode(), "m", BACKEND)

    assert (error.status, error.code, error.param) == (400, "context_length_exceeded", "input")
    assert error.message == TOO_LONG


@pytest.mark.parametrize(("status", "body"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_in_a_stream_it_is_understood_too(status: int, body: Any) -> None:
    reported = body.get("error", body) if isinstance(body, dict) else body

    assert read_error(reported).code == "context_length_exceeded"
    assert read_error(json.dumps(body)).code == "context_length_exceeded"


@pytest.mark.parametrize(("status", "body"), OTHERS.values(), ids=OTHERS)
def test_nothing_else_is_taken_for_it(status: int, body: Any) -> None:
    assert (
        read_failure(status, {}, json.dumps(body).encode(), "m", BACKEND).code
        != "context_length_exceeded"
    )
    assert error_code(body) != "context_length_exceeded"
    assert read_error(body).code != "context_length_exceeded"


@pytest.mark.parametrize("status", [401, 403, 402, 429])
def test_the_account_in_an_error_takes_precedence_over_its_message(status: int) -> None:
    error = read_failure(
        status, {}, json.dumps(openai("prompt is too long")).encode(), "m", BACKEND
    )

    assert error.code != "context_length_exceeded"
