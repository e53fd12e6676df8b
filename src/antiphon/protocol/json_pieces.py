"""Large JSON, encoded in pieces: the same bytes as in one step, without one long step.

Encoders hold Python's lock as decoders do (`json_slices.py`). Code that encodes large data in a thread uses these.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from msgspec import Raw, to_builtins
from msgspec.json import Encoder

DEEPEST = 10
"""Levels of containers that are split; the strings of a message's parts are seven levels deep."""

MANY = 500
"""Members of a list of numbers that are encoded at once."""

LONG = 1024 * 1024
"""Characters of a string that are encoded at once."""

_encode = Encoder().encode

_SHORT = {int, float, bool, type(None)}


def pieces(value: Any, encode: Callable[[Any], bytes], *, is_sorted: bool = False, depth: int = 0) -> Iterator[bytes]:
    """Return JSON in pieces, each encoded by `encode`: joined, they are the whole without whitespace.

    `is_sorted` sorts the members of objects by their names.
    """
    kind = type(value)
    if kind is str and len(value) > LONG:
        yield b'"'
        for begin in range(0, len(value), LONG):
            yield encode(value[begin : begin + LONG])[1:-1]
        yield b'"'
    elif kind is Raw:
        yield bytes(value)
    elif depth == DEEPEST or not value or (kind is not dict and kind is not list):
        yield encode(value)
    elif kind is dict:
        mark = b"{"
        for name in sorted(value) if is_sorted else value:
            yield mark + encode(name) + b":"
            yield from pieces(value[name], encode, is_sorted=is_sorted, depth=depth + 1)
            mark = b","
        yield b"}"
    else:
        yield from _of_list(value, encode, is_sorted, depth)


def _of_list(value: list[Any], encode: Callable[[Any], bytes], is_sorted: bool, depth: int) -> Iterator[bytes]:
    mark, members = b"[", iter(value)
    while some := list(islice(members, MANY)):
        if _SHORT.issuperset(map(type, some)):
            yield mark + encode(some)[1:-1]
            mark = b","
            continue
        for member in some:
            yield mark
            yield from pieces(member, encode, is_sorted=is_sorted, depth=depth + 1)
            mark = b","
    yield b"]"


class LargeObject(dict[str, Any]):
    """A JSON object that `encode_large` encodes, in a thread."""

    account: object = None
    """Reserves the memory of the object, while the object exists."""


def encode_large(value: dict[str, Any]) -> bytes:
    """Return an object as JSON; its values can be structs, and already encoded JSON."""
    return b"".join(pieces(to_builtins(dict(value), builtin_types=(Raw,)), _encode))
