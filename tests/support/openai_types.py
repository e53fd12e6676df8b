"""Whether events are what the `openai` package says they are."""

from functools import cache
from typing import Any, get_args

from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter, ValidationError

UNION = get_args(get_args(ResponseStreamEvent)[0])
EVENTS = {get_args(model.model_fields["type"].annotation)[0]: model for model in UNION}
"""Every event type of the package, by its name."""

REPORTING = ("type", "status", "role", "object", "reason", "code")
"""Fields whose value decides which type is meant, or is one of a few."""


class OpenAITypes:
    """Validates each shape of event once.

    Only wrong types count: the package also requires what came after us.
    """

    def __init__(self) -> None:
        self._known: dict[Any, list[str]] = {}

    def errors(self, event: dict[str, Any]) -> list[str]:
        """What is wrong with the event's types, an item a line."""
        shape = _shape(event)
        if shape not in self._known:
            self._known[shape] = _errors(event)
        return self._known[shape]


def _errors(event: dict[str, Any]) -> list[str]:
    if event["type"] not in EVENTS:
        return [f"{event['type']} is no event of the package"]
    try:
        _adapter(event["type"]).validate_python(event)
    except ValidationError as wrong:
        return [
            f"{event['type']}: {error['loc']}: {error['msg']}"
            for error in wrong.errors()
            if _counts(error)
        ]
    return []


def _counts(error: Any) -> bool:
    # Responses carry error codes that the package's list does not have (specification section 3).
    return error["type"] != "missing" and error["loc"] != ("response", "error", "code")


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(EVENTS[kind])


def _shape(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return tuple((name, _shape(member, name)) for name, member in value.items())
    if isinstance(value, list):
        return tuple(dict.fromkeys(map(_shape, value)))
    return value if key in REPORTING else type(value)
