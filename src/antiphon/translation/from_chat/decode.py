"""One chunk's bytes to a `ChatChunk`: at once where it has the usual shape, by hand where it has not."""

import json
from typing import Any

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChunk, Choice, Delta
from antiphon.translation.from_chat.surrogates import repaired

_decode = msgspec.json.Decoder(ChatChunk).decode


def decode_chunk(data: bytes) -> ChatChunk:
    """Return the chunk or plain answer that these bytes are.

    Texts that come in pieces (a `Delta`'s strings and a call's `arguments`) may hold half a surrogate pair where the
    backend cut one in two. Raises `BackendError` for what is not a JSON object.
    """
    try:
        return _decode(data)
    except (ValueError, RecursionError):
        return _decode_by_hand(data)


def _decode_by_hand(data: bytes) -> ChatChunk:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        if isinstance(value, dict):
            return _chunk(value)
    except (ValueError, RecursionError) as error:
        raise BackendError("The backend sent a chunk that is not valid JSON.") from error
    raise BackendError("The backend sent a chunk that is not a JSON object.")


def _chunk(value: dict[str, Any]) -> ChatChunk:
    choices = value.pop("choices", None)
    listed = choices if isinstance(choices, list) else [choices]
    return ChatChunk(
        **_known(ChatChunk, value), choices=[_choice(choice) for choice in listed if isinstance(choice, dict)]
    )


def _choice(value: dict[str, Any]) -> Choice:
    delta, message = _delta(value.pop("delta", None)), _delta(value.pop("message", None))
    return Choice(**_known(Choice, value), delta=delta, message=message)


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    texts = {name: text for name, text in value.items() if isinstance(text, str)}
    calls = value.pop("tool_calls", None)
    tool_calls = [_call(call) for call in calls] if isinstance(calls, list) else None
    return Delta(**_known(Delta, value) | _named(Delta, texts) | {"tool_calls": tool_calls})


def _call(value: Any) -> Any:
    call, function = repaired(value), value.get("function") if isinstance(value, dict) else None
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        call["function"]["arguments"] = function["arguments"]
    return call


def _known(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: repaired(member) for name, member in _named(kind, value).items()}


def _named(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in kind.__struct_fields__ if name in value}
