"""The JSON object in the data of an event, or in a whole answer, of a backend."""

import json
from collections.abc import Callable
from typing import Any

from antiphon.errors import BackendError
from antiphon.protocol.json_members import decode_value


def decode_event(data: bytes, repair: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return the JSON object in these bytes.

    Some backends split a character, and send each half in an event of its own. `repair` replaces
    halves in the decoded value; without it they stay, so that the caller can join them.

    Raises `BackendError` for anything but a JSON object.
    """
    try:
        value = decode_value(data)
    except (ValueError, RecursionError):
        value = _decode_by_hand(data)
        value = repair(value) if repair else value
    if not isinstance(value, dict):
        raise BackendError("The backend sent an event that is not a JSON object.")
    return value


def _decode_by_hand(data: bytes) -> Any:
    """Return JSON that can contain halves of characters, which `msgspec` rejects."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BackendError("The backend sent an event that is not valid JSON.") from error
