"""What a backend is sent differently than the client wrote it, and how the client learns that.

The header `antiphon-adjusted` names it, and the finished response shows the values that applied. Hints, which change no
answer, and forms that mean the same are not named.
"""

from collections.abc import Iterable, Mapping

from antiphon.protocol.response import Response

ADJUSTED = "antiphon-adjusted"
"""The header with these names."""

SCHEMAS = "tools.schema"
"""The schema of a tool is weaker or in another form; the arguments are checked against the client's."""
CHOICE = "tools.choice"
"""An instruction asks for the call that `tool_choice` demands."""
FORMAT = "text.format"
"""An instruction describes the format of the answer."""
EFFORT = "reasoning.effort"
"""Another effort is sent, or none."""

OMITTED: Mapping[str, str] = {
    **{name: f"sampling.{name}" for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty")},
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


def show_applied(response: Response, adjusted: Iterable[str], effort: str | None) -> None:
    """Show in a response what its backend was sent; `effort` is the one that it was sent, None without one."""
    for name in adjusted:
        if name in _FIELDS:
            field, value = _FIELDS[name]
            setattr(response, field, value)
        elif name == EFFORT and response.reasoning is not None:
            response.reasoning = {**response.reasoning, "effort": effort}
