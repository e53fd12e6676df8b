"""Refusals that a backend sends with status 200, as the beginning of its answer.

A server that streams can refuse a request after it has sent the status (litellm#25492, sglang
PR#21900), and gateways send the error of another server so. It is loaded after the first of them.
"""

import re
from typing import Any

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.chat import error_message, read_error

UNEXPLAINED = 500
"""The status of an error that does not say what it is about: templates raise with any status."""

_STATUSES = ("status", "status_code", "http_status", "http_status_code", "http_code", "code")
"""Keys in which an error says which HTTP status it would have."""

_NAMES = ("code", "type", "status", "reason")
"""Keys in which an error says what it is about."""

_REFUSALS = frozenset({400, 422})

_DOUBTFUL = frozenset({"server_error", "content_filter", "invalid_prompt"})
"""Codes of errors that the request may have caused (`chat.error_code`)."""

_INVALID = frozenset({2013, 1210, 1213, 1214, 1215})
"""Codes of MiniMax and Z.ai for parameters that they do not accept: their error pages."""

_OF_REQUEST = re.compile(
    r"bad[_ ]?request|invalid[_ "
    r"]?(?:request|argument|param|value|type|schema|json|encrypted)|unprocessable"
    r"|validation_?error|(?:unsupported|unknown|unrecognized)_?(?:parameter|argument|field|value)|tool_use_failed",
    re.IGNORECASE,
)
"""Codes and types of errors that concern the request."""

_OF_OTHERS = re.compile(
    r"api_?key|auth|quota|rate_?limit|permission|billing|not_?found|overload|unavailable|timeout",
    re.IGNORECASE,
)
"""Codes and types of errors that concern an account, a model or a server's load."""

_NAMES_OTHERS = re.compile(
    r"(?:[^\"'`]|\b'\b){0,100}?"  # not what it quotes
    r"\b(?:api[ _-]?key\b|authenticat|unauthorized\b|quota\b|credit balance\b|billing\b"
    r"|rate[ _-]?limit|too many requests\b|throttl|overloaded\b|(?:at|over) capacity\b|try again "
    r"later\b)",
    re.IGNORECASE,
)
"""How texts of errors begin that concern these, whatever their code: another backend can answer the
request.
"""

_LONGEST_CODE = 100
"""Characters of a code or type that are read."""

_LARGEST = 1024 * 1024
"""Bytes of an error that are kept, as of an HTTP reply; of a larger one, only its message is."""

_BEGINNING = re.compile(
    r"(?:error code|http(?: status| error)?|status(?: code)?)[ :=]{1,3}(\d{3})\b"  # the OpenAI SDK
    r"|(?:\w{1,20}\.)?(?:BadRequest|Unprocessable)"  # LiteLLM
    r"|(?:input )?validation error\b",  # text-generation-inference
    re.IGNORECASE,
)
"""How gateways begin the text of an error of the server behind them."""


def read_refusal(value: Any) -> BackendError:
    """Return the error with which an answer begins. It has a `refusal`, unless it is about something else.

    >>> read_refusal({"message": "No such template.", "code": 400}).refusal
    (400, b'{"error":{"message":"No such template.","code":400}}')
    """  # noqa: E501 - a table, a diagram or an example
    error = read_error(value)
    status = _status_of(value) if error.code in _DOUBTFUL else 0
    if status:
        error.refusal = status, _body_of(value)
        if status in _REFUSALS:
            error.status = status
    return error


def _body_of(value: Any) -> bytes:
    """Return the body of an HTTP reply with this error."""
    try:
        body = msgspec.json.encode({"error": value})
    except RecursionError:
        body = b""
    return (
        body
        if 0 < len(body) <= _LARGEST
        else msgspec.json.encode({"error": {"message": error_message(value)}})
    )


def _status_of(error: Any) -> int:
    """Return the status of the refusal: as the error says, `UNEXPLAINED` if it says nothing; 0 for
    no refusal.
    """
    stated = error if isinstance(error, dict) else {}
    texts = [text[:_LONGEST_CODE] for key in _NAMES if isinstance(text := stated.get(key), str)]
    message = error_message(error)
    if any(map(_OF_OTHERS.search, texts)) or _NAMES_OTHERS.match(message):
        return 0
    numbers = [number for key in _STATUSES if (number := _number(stated.get(key)))]
    begins = _BEGINNING.match(message)
    if begins is not None:
        numbers.append(int(begins[1] or 400))
    if not _INVALID.isdisjoint(numbers):
        return 400
    for number in numbers:
        if 400 <= number < 600:
            return number if number in _REFUSALS else UNEXPLAINED if number >= UNEXPLAINED else 0
    return 400 if any(map(_OF_REQUEST.search, texts)) else UNEXPLAINED


def _number(value: Any) -> int:
    text = str(value)[:6] if isinstance(value, str | int) else ""
    return int(text) if text.isascii() and text.isdigit() else 0
