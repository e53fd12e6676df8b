"""Reading JSON that may be anything: no look at it raises."""

import json
from typing import Any, Final, TypeGuard


class Missing:
    """What is found where nothing is. It is false, and equal to itself alone."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


def at(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indexes, `MISSING` where there is nothing."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def listed(value: Any, *path: str | int) -> list[Any]:
    """Return the list at a path, an empty one where there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether the value is an integer of JSON, which a boolean is not."""
    return type(value) is int


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether the value is a number of JSON."""
    return type(value) in (int, float)


def is_text(value: Any) -> TypeGuard[str]:
    """Whether the value is a string with something in it."""
    return isinstance(value, str) and value != ""


def shown(value: Any) -> str:
    """Return a value for a message: as JSON, cut to 120 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except RecursionError:
        text = "a value nested too deeply to show"
    return text if len(text) <= 120 else f"{text[:117]}..."
