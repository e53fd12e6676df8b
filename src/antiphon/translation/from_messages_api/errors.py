"""Errors of the Messages API as those of Chat Completions, with the parameter of the Chat request
that they are about.

Their messages begin with the place in the request: `output_config.format.schema: …`.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from antiphon.translation.from_messages_api.ending import chat_error

PARAMETERS: Mapping[str, str] = {
    "output_config.format": "response_format",
    "output_format": "response_format",
    "output_config": "reasoning_effort",
    "thinking": "reasoning_effort",
    "stop_sequences": "stop",
    "metadata": "user",
    "system": "messages",
}
"""Beginnings of places -> parameters of Chat with other names."""

_PLACE = re.compile(r"([a-z_]+(?:\.[A-Za-z0-9_]+)*): ")
_NO_CREDIT = re.compile(r"your credit balance is too low", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"not support|extra inputs are not permitted|not permitted", re.IGNORECASE
)


def chat_rejection(body: bytes) -> bytes:
    """Return the body of an answer of 400 or above; one that is not an error of the API stays as
    it is.
    """
    value = envelope(body)
    if not isinstance(value.get("error"), dict):
        return body
    error = chat_error(value)
    message = error["message"]
    if _NO_CREDIT.match(message):
        error["code"] = "insufficient_quota"
    elif error["type"] == "not_found_error" and message.startswith("model"):
        error["code"] = "model_not_found"
    elif found := _PLACE.match(message):
        error["param"] = _parameter(found[1])
        is_unsupported = _UNSUPPORTED.search(message) and not found[1].endswith(".schema")
        error["code"] = error["code"] or ("unsupported_parameter" if is_unsupported else None)
    return msgspec.json.encode({"error": error})


def message_in(body: bytes) -> str:
    """Return the message of an error; empty if the body is none of the API's."""
    return str(chat_error(envelope(body))["message"])


def envelope(body: bytes) -> dict[str, Any]:
    """Return the JSON object in the body of an error; empty for anything else."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _parameter(place: str) -> str:
    renamed = (chat for ours, chat in PARAMETERS.items() if f"{place}.".startswith(f"{ours}."))
    return next(renamed, place)
