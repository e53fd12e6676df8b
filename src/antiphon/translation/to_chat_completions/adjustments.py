"""What a backend is sent differently than the client wrote it, and how the client learns that.

The header `antiphon-adjusted` names it, and the finished response shows the values that applied.
Hints, which change no answer, and forms that mean the same are not named.
"""

from collections.abc import Collection, Mapping
from typing import Any

from antiphon.protocol.response import Response

ADJUSTED = "antiphon-adjusted"
"""The header with these names."""

SCHEMAS = "tools.schema"
"""The schema of a tool is weaker or in another form; the arguments are checked against the
client's.
"""
CHOICE = "tools.choice"
"""An instruction asks for the call that `tool_choice` demands."""
FORMAT = "text.format"
"""An instruction describes the format of the answer."""
EFFORT = "reasoning.effort"
"""Another effort is sent, or none."""

OMITTED: Mapping[str, str] = {
    **{
        name: f"sampling.{name}"
        for name in (
            *("temperature", "top_p", "presence_penalty", "frequency_penalty"),
            *("top_k", "seed"),
        )
    },
    "verbosity": "text.verbosity",
}
"""Chat parameters -> the name for the omission of one. The others are hints."""

_FIELDS: Mapping[str, tuple[str, float | None]] = {
    OMITTED["temperature"]: ("temperature", None),
    OMITTED["top_p"]: ("top_p", None),
    OMITTED["presence_penalty"]: ("presence_penalty", 0.0),
    OMITTED["frequency_penalty"]: ("frequency_penalty", 0.0),
}
"""Fields of a response, with their values if the backend chose."""


def applied(response: Response, adjusted: Collection[str], effort: str | None) -> dict[str, Any]:
    """Return the fields in which the finished response differs, because its backend was sent
    something else.

    `effort` is the one that the backend was sent, None without one.
    """
    fields: dict[str, Any] = dict(_FIELDS[name] for name in adjusted if name in _FIELDS)
    if EFFORT in adjusted and response.reasoning is not None:
        fields["reasoning"] = {**response.reasoning, "effort": effort}
    return fields
