"""Translates a backend's HTTP error to the Responses API; the status depends on the cause
(specification section 13).

The client's mistakes are 4xx with the name of its own parameter. The operator's, such as a key that
the backend rejects, are a 502 that names the problem without details. The backend's are 502 or 503.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.protocol.chat import error_code, error_message
from antiphon.translation.from_chat.text_filters import repaired
from antiphon.translation.to_chat_completions.request import responses_parameter
from antiphon.upstream.identity import BackendIdentity
from antiphon.upstream.rate_limits import never_fits
from antiphon.upstream.retry_after import LONGEST_WAIT, wait_of, waits

TOO_LONG = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)
NO_IMAGES = (
    "This model does not accept images. Send the request without them, or have the server's "
    "operator name a model that describes images (setting `vision`)."
)
QUOTA = "You exceeded your current quota, please check your plan and billing details."

LONGEST_STATED = 2000
"""Bytes of an error that are searched for numbers of tokens."""

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]{1,11}(?![\w.]*\w)")
_WINDOW = re.compile(
    r"(?:maximum (?:context|model) (?:length|limit)|context (?:window|length|size))"
    r"(?: of)?(?: is)?:? (\d[\d,]{1,11})"
    r"|n_ctx\W{1,4}(\d{2,12})|> (\d{2,12}) maximum",
    re.IGNORECASE,
)
"""The window in errors of vLLM and OpenAI, llama.cpp, and Anthropic."""

FORBIDDEN = "Its key may not be allowed to use this model."

OF_A_KEY = re.compile(r"\bapi[ _-]?key\b|\bcredentials?\b|\bauthenticat", re.IGNORECASE)
"""Texts of a 403 that concern the caller, regardless of the request."""

TOO_LARGE_REQUEST = re.compile(
    r"max_(?:completion_|output_)?tokens|\bafford\b|\bfewer\b", re.IGNORECASE
)
"""Texts of a 402 for an account with credit, but too little for such a long answer (OpenRouter)."""

REJECTS_IMAGES = re.compile(r"image input is not supported", re.IGNORECASE)
"""The text with which llama.cpp rejects an image, with status 500 (llama.cpp#13566, #15377): there
is no projector.
"""


def read_failure(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    model: str,
    backend: BackendIdentity,
    rename: Callable[[str], str | None] = responses_parameter,
) -> AntiphonError:
    """Return the error to report for a backend's answer of 400 and above.

    `rename` returns the client's own name for a Chat parameter; None if the client did not send it.
    """
    value = _value(body)
    message = error_message(value)
    code = error_code(value, status)
    if status < 500 and _own(value, "code") == "model_not_found":
        return _model_not_found(model)
    if status == 401 or (status == 403 and OF_A_KEY.search(message)):
        return backend.refused_key(status)
    if status == 402 and TOO_LARGE_REQUEST.search(message):
        return ClientError(message, param=rename("max_tokens"))
    if status == 402 or code == "insufficient_quota":
        return ClientError(QUOTA, status=429, type="insufficient_quota", code="insufficient_quota")
    if (
        status == 403
    ):  # possibly about this request: the model that the key can use, or the content of the input
        return backend.error("rejected the request with status 403", FORBIDDEN)
    if status == 429:
        return _rate_limit(headers, message)
    if code == "context_length_exceeded":
        error = too_long(rename("messages"))
        error.size = stated_size(body)
        return error
    if REJECTS_IMAGES.search(message):
        return ClientError(NO_IMAGES, code="unsupported_value", param=rename("messages"))
    if status == 404 and model in message and _own(value, "code") != "unknown_url":
        return _model_not_found(model)
    if status in {400, 404, 409, 413, 415, 422}:
        return _client_error(status, value, message, backend, rename)
    if status in {503, 529}:
        return backend.overloaded(status, _wait(headers))
    return backend.error(f"failed with status {status}", "Check its log for the reason.")


def too_long(param: str | None = "input") -> ClientError:
    """Return the error for input that does not fit the model's context (specification section
    13).
    """
    return ClientError(TOO_LONG, code="context_length_exceeded", param=param)


def stated_size(body: bytes) -> tuple[int, int] | None:
    """Return how many tokens a prompt has, and how many the model accepts, as far as an error about
    that says both.
    """
    text = body[:LONGEST_STATED].decode("utf-8", "replace")
    window = _WINDOW.search(text)
    numbers = [_number(found) for found in _NUMBER.findall(text)]
    if window is None:
        return None
    most = _number(next(filter(None, window.groups())))
    longer = [number for number in numbers if number > most]
    return (max(longer), most) if longer else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def beyond_window(model: str, window: int) -> ClientError:
    """Return the error for input longer than the model's known window, if its backend would
    truncate it.
    """
    text = (
        f"Your input exceeds the context window of '{model}', which is {window:,} tokens, "
        "and its backend would cut it silently. Shorten the input. If the window has grown since "
        "it was measured, have the server's operator run `antiphon models probe` again."
    )
    return ClientError(text, code="context_length_exceeded", param="input")


def overloaded(wait: float) -> BackendError:
    """Return the error for a request that exceeds a backend's queue, which may have drained in
    `wait` seconds.
    """
    headers = waits(min(wait, LONGEST_WAIT))
    return BackendError.overloaded("The server is overloaded. Please try again later.", headers)


def is_overflow(error: AntiphonError) -> bool:
    """Whether the input did not fit the model's context."""
    return error.code == "context_length_exceeded"


def _value(body: bytes) -> Any:
    try:
        return repaired(json.loads(body))
    except (ValueError, RecursionError):
        return None


def _client_error(
    status: int,
    value: Any,
    message: str,
    backend: BackendIdentity,
    rename: Callable[[str], str | None],
) -> ClientError:
    param = _own(value, "param")
    return ClientError(
        message or f"{backend.public} rejected the request with status {status}.",
        status=413 if status == 413 else 400,
        code=_own(value, "code"),
        param=None if param is None else rename(param),
    )


def _own(value: Any, name: str) -> str | None:
    """Return the field of the error object with this name."""
    inner = value.get("error") if isinstance(value, dict) else None
    reported = inner.get(name) if isinstance(inner, dict) else None
    return reported if isinstance(reported, str) else None


def _model_not_found(model: str) -> ClientError:
    return ClientError(
        f"The requested model '{model}' does not exist.", code="model_not_found", param="model"
    )


def _rate_limit(headers: Mapping[str, str], message: str) -> ClientError:
    if never_fits(message):  # the same request always fails, so the SDKs must not retry it
        return ClientError(
            message,
            status=429,
            type="tokens",
            code="rate_limit_exceeded",
            headers={"x-should-retry": "false"},
        )
    waits = _wait(headers, message)
    wait = waits.get("retry-after")
    stated = text = message or "Rate limit reached."
    if wait and "try again in" not in text.lower():
        text = f"{text.rstrip('. ')}. Please try again in {wait}s."
    # Without the added wait: if the backend requested none, it is not paused
    # (`retry_policy.rejected`).
    return ClientError(
        text, status=429, type="requests", code="rate_limit_exceeded", headers=waits, detail=stated
    )


def _wait(headers: Mapping[str, str], message: str = "") -> dict[str, str]:
    """Return the headers with the time that a client has to wait, in whole seconds."""
    return waits(wait_of(headers, message) or 0.0)
