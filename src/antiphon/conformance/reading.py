"""Reading JSON that may be anything: no look at it raises."""

import json
import re
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, TypeGuard

UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Characters that are not seen: controls, half a character, and those that turn the direction of writing."""


def legible(text: str) -> str:
    """Return the text with characters that are not seen as their numbers, such as `\\u001b`."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Missing:
    """What is found where nothing is. It is false, and equal to itself alone."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


class Read(NamedTuple):
    """One look at a field: the value in which it was looked for, its path there, and what was found."""

    inside: Any
    path: tuple[str | int, ...]
    found: Any


reads: ContextVar[list[Read] | None] = ContextVar("reads", default=None)
"""Where looks are noted: a case that fails thus shows which fields decided."""


def at(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indexes, `MISSING` where there is nothing."""
    found = peek(value, *path)
    if (noted := reads.get()) is not None and path:
        noted.append(Read(value, path, found))
    return found


def peek(value: Any, *path: str | int) -> Any:
    """Return what `at` does, without noting it: a look that only tells what kind of thing this is."""
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


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether the value fits; `type`, `enum`, `properties`, `required`, `additionalProperties` and `items` are read."""
    if not schema:  # nothing is asked, so what is nested too deeply is not gone into
        return True
    if "type" in schema and type(value) not in TYPES[schema["type"]]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, dict):
        return _object_fits(value, schema)
    if isinstance(value, list):
        return all(fits(item, schema.get("items", {})) for item in value)
    return True


def _object_fits(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    if not value.keys() >= set(schema.get("required", ())):
        return False
    if schema.get("additionalProperties") is False and not value.keys() <= properties.keys():
        return False
    return all(fits(one, properties.get(name, {})) for name, one in value.items())
