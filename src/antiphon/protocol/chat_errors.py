"""What a backend says when it fails: the error object of Chat Completions and its many relatives."""

from typing import Any

from antiphon.errors import BackendError

KNOWN_CODES = {
    "context_length_exceeded",
    "rate_limit_exceeded",
    "insufficient_quota",
    "invalid_prompt",
    "server_is_overloaded",
    "content_filter",
}
"""Codes that clients act upon (Codex reads them in `response.failed`); any other is `server_error`."""

OVERFLOWS = (
    "context_length_exceeded",
    "maximum context length",
    "exceed_context_size",
    "exceeds the available context",
    "context window",
    "prompt is too long",
    "too many tokens",
)
"""How backends say that the input does not fit (OpenAI, vLLM, llama.cpp, LM Studio, Anthropic, Mistral)."""


def read_error(value: Any, *, status: int | None = None) -> BackendError:
    """Return the error that a backend's `error` value, string or whole body describes."""
    try:
        code, message = error_code(value), error_message(value)
    except RecursionError:  # nested without end
        code, message = "server_error", ""
    return BackendError(
        f"The backend failed: {message}" if message else "The backend failed.", code=code, status=status
    )


def error_message(value: Any) -> str:
    """Return the message inside an error value, however deep; empty where there is none."""
    if isinstance(value, str):
        return value[:2000]
    if isinstance(value, list):
        return "; ".join(filter(None, map(error_message, value)))[:2000]
    if isinstance(value, dict):
        for name in ("error", "message", "detail", "msg", "error_description"):
            if message := error_message(value.get(name)):
                return message
    return ""


def error_code(value: Any) -> str:
    """Return the code of `KNOWN_CODES` that an error value has or means, else `server_error`."""
    text = str(value).lower()
    if any(words in text for words in OVERFLOWS):
        return "context_length_exceeded"
    inner = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(inner, dict):
        for name in (inner.get("code"), inner.get("type")):
            if isinstance(name, str) and name in KNOWN_CODES:
                return name
    return "server_error"
