"""One chunk's bytes to a `ChatChunk`: at once where it has the usual shape, by hand where it has not."""

import json
from typing import Any

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChunk, Choice, Delta

_decode = msgspec.json.Decoder(ChatChunk).decode


def decode_chunk(data: bytes) -> ChatChunk:
    """Return the chunk or plain answer that these bytes are.

    Strings may hold half a surrogate pair where a backend cut one in two. Raises `BackendError` for what is not a
    JSON object.
    """
    try:
        return _decode(data)
    except (ValueError, RecursionError):
        return _decode_by_hand(data)


def _decode_by_hand(data: bytes) -> ChatChunk:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BackendError("The backend sent a chunk that is not valid JSON.") from error
    if not isinstance(value, dict):
        raise BackendError("The backend sent a chunk that is not a JSON object.")
    choices = value.get("choices")
    listed = choices if isinstance(choices, list) else [choices]
    return ChatChunk(
        **_known(ChatChunk, value) | {"choices": [_choice(choice) for choice in listed if isinstance(choice, dict)]}
    )


def _choice(value: dict[str, Any]) -> Choice:
    return Choice(
        **_known(Choice, value) | {"delta": _delta(value.get("delta")), "message": _delta(value.get("message"))}
    )


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    calls = value.get("tool_calls")
    return Delta(**_known(Delta, value) | {"tool_calls": calls if isinstance(calls, list) else None})


def _known(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in kind.__struct_fields__ if name in value}
