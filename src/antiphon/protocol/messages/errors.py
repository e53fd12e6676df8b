"""Errors in the envelope of the Messages API: `{type: "error", error: {type, message, details?},
request_id}`.

Clients choose what to do by the status, by the type, and by words in the message. Claude Code
compacts a conversation only after `prompt is too long`.
"""

from collections.abc import Callable
from typing import Any

from antiphon.errors import AntiphonError, ClientError
from antiphon.protocol.messages.wording import dotted, without_place

OVERLOADED = 529
"""The status that both SDKs and Claude Code treat as "try again"."""

TOO_LONG = "prompt is too long"

CONTEXT = "context_length_exceeded"
NO_MODEL = "model_not_found"
NO_BUDGET = "insufficient_quota"

SPENT = "You have reached your spend limit."
"""What Claude Code searches in an error with status 429: it does not repeat such a request."""

TYPES: dict[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}
"""The type of an error by its status."""

_STATUSES = {422: 400, 502: 500, 503: OVERLOADED}
"""The status here for a status of ours."""

_OVERLOADS = frozenset({"server_is_overloaded", "slow_down"})
_LIMITS = frozenset({"rate_limit_exceeded", NO_BUDGET})

Size = tuple[int, int]
"""How many tokens a prompt has, and how many the model accepts."""


def status_of(error: AntiphonError) -> int:
    """Return the HTTP status of an error in this API."""
    if error.code == NO_MODEL:
        return 404
    return _STATUSES.get(error.status, error.status)


def error_type(status: int) -> str:
    """Return the type of an error with this status of this API."""
    return TYPES.get(status) or ("invalid_request_error" if status < 500 else "api_error")


def headers_of(error: AntiphonError) -> dict[str, str]:
    """Return the headers of a reply with this error: a request over a budget must not be
    repeated.
    """
    if error.status == 429 and (error.code == NO_BUDGET or "retry-after" not in error.headers):
        headers = {name: value for name, value in error.headers.items() if name != "retry-after"}
        return {**headers, "x-should-retry": "false"}
    return error.headers


def error_body(
    error: AntiphonError,
    request_id: str,
    size: Size | None = None,
    place: Callable[[str], str] = dotted,
) -> dict[str, Any]:
    """Return the body of a reply with this error.

    `size` are the numbers of a prompt that is too long, if known; `place` returns the place in the
    client's request for the parameter that the error names (`MessagesView.place`).
    """
    param = place(error.param) if error.param else None
    return envelope(
        error_type(status_of(error)), message_of(error, size, param), request_id, error.code, param
    )


def event_error(body: dict[str, Any], request_id: str, size: Size | None = None) -> dict[str, Any]:
    """Return the body of an `error` event for the error of a Responses stream: `{message, type,
    code, param}`.
    """
    code = body.get("code")
    message = str(body.get("message") or "")
    param = body.get("param")
    if code in _OVERLOADS:
        status = OVERLOADED
    elif code in _LIMITS:
        status = 429
    else:
        status = 400 if code == CONTEXT or body.get("type") == ClientError.type else 500
    return envelope(error_type(status), _worded(message, code, size), request_id, code, param)


def envelope(
    kind: str, message: str, request_id: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """Return an error of this type as the API sends it."""
    error: dict[str, Any] = {"type": kind, "message": message}
    details = {"error_code": code, "param": param}
    if known := {name: value for name, value in details.items() if value}:
        error["details"] = known
    return {"type": "error", "error": error, "request_id": request_id}


def message_of(error: AntiphonError, size: Size | None, param: str | None) -> str:
    """Return the message of an error in words that clients of this API know, after the place
    `param`.
    """
    words = _worded(error.message, error.code, size)
    is_placed = words != error.message or not param or error.message.startswith(f"{param}: ")
    if is_placed or not isinstance(error, ClientError):
        return words
    return f"{param}: {without_place(words)}"


def _worded(message: str, code: str | None, size: Size | None) -> str:
    if code == CONTEXT:
        return too_long(message, size)
    return f"{SPENT} {message}" if code == NO_BUDGET else message


def too_long(message: str, size: Size | None) -> str:
    """Return the sentence for a prompt that is too long.

    Without real numbers it has the message of the error.
    """
    if message.startswith(TOO_LONG):
        return message
    if size is not None and size[0] > size[1] > 0:
        return f"{TOO_LONG}: {size[0]} tokens > {size[1]} maximum"
    return f"{TOO_LONG}: {message}"
