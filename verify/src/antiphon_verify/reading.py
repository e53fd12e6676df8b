"""Reads JSON of any shape without raising."""

import json
import re
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, TypeGuard

UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Invisible characters: controls, surrogates, and those that change the direction of writing."""


def legible(text: str) -> str:
    """Return the text with invisible characters as their numbers, such as `\\u001b`."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Missing:
    """The result of reading a missing value. It is false, and equal only to itself."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


class Read(NamedTuple):
    """One read of a field: the value in which it was looked up, its path there, and the result."""

    inside: Any
    path: tuple[str | int, ...]
    found: Any


reads: ContextVar[list[Read] | None] = ContextVar("reads", default=None)
"""Where reads are recorded, so that a failing case shows which fields decided."""


def at(value: Any, *path: str | int) -> Any:
    """Return the value at a path of keys and indexes, `MISSING` if there is nothing."""
    found = peek(value, *path)
    if (noted := reads.get()) is not None and path:
        noted.append(Read(value, path, found))
    return found


def peek(value: Any, *path: str | int) -> Any:
    """Return what `at` returns, without recording it: for reads that only determine the kind of
    value.
    """
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def listed(value: Any, *path: str | int) -> list[Any]:
    """Return the list at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether the value is a JSON integer, which a boolean is not."""
    return type(value) is int


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether the value is a JSON number."""
    return type(value) in (int, float)


def is_text(value: Any) -> TypeGuard[str]:
    """Whether the value is a non-empty string."""
    return isinstance(value, str) and value != ""


TAIL = 12
"""How many letters and digits at the end of an id differ in `unlike`: the last group of a UUID."""

PREFIX = re.compile(r"[A-Za-z]+[_-]")
"""The first word of an id, which names the kind of object."""

OTHERS = str.maketrans("0123456789abcdefABCDEF", "9876543210fedcbaFEDCBA")
"""Digits and the letters of hexadecimal numbers, each as another one of its kind."""

OTHER_LETTERS = str.maketrans(
    "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ", "zyxwvutsrqponmlkjihgZYXWVUTSRQPONMLKJIHG"
)
"""For the few ids without any of these."""


def unlike(id: str) -> str:
    """Return an id that nothing has, in the shape of one that the server issued: a server may
    refuse another shape.
    """
    named = PREFIX.match(id)
    start = max(len(id) - TAIL, named.end() if named else 0)
    tail = id[start:]
    other = tail.translate(OTHERS)
    return id[:start] + (other if other != tail else tail.translate(OTHER_LETTERS))


def preview(value: Any) -> str:
    """Return a value for a message: as JSON, truncated to 120 characters."""
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
    """Whether the value matches `type`, `enum`, `properties`, `required`, `additionalProperties`
    and `items`.
    """
    if not schema:  # no condition, so a deeply nested value is not walked
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
