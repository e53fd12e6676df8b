"""Large JSON, encoded in pieces: the same bytes as in one step, without one long step.

Encoders hold Python's lock as decoders do (`json_slices.py`). Code that encodes large data in a
thread uses these.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from operator import itemgetter
from typing import Any

from msgspec import Raw, to_builtins
from msgspec.json import Encoder

from antiphon.sizes import LARGE

DEEPEST = 10
"""Levels of containers that are split; the strings of a message's parts are seven levels deep."""

LONG = 1024 * 1024
"""Characters of a string that are encoded at once, and weight of other values: 5 ms at most."""

LEAF = 1024
"""Weight of a value besides its characters: Python's own encoder, which some use, takes 4 µs for a
long decimal.
"""

_encode = Encoder().encode


def pieces(
    value: Any, encode: Callable[[Any], bytes], *, is_sorted: bool = False, depth: int = 0
) -> Iterator[bytes]:
    """Return JSON in pieces, each encoded by `encode`: joined, they are the whole without
    whitespace.

    `is_sorted` sorts the members of objects by their names; `encode` sorts them too.
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
    else:
        yield from _members(value, encode, is_sorted, depth)


def _members(
    value: Any, encode: Callable[[Any], bytes], is_sorted: bool, depth: int
) -> Iterator[bytes]:
    is_object = type(value) is dict
    mark = b"{" if is_object else b"["
    for group, is_large in _groups(_entries(value, is_sorted)):
        yield mark
        mark = b","
        if not is_large:
            yield encode(dict(group) if is_object else [member for _, member in group])[1:-1]
            continue
        name, member = group[0]
        if is_object:
            yield encode(name) + b":"
        yield from pieces(member, encode, is_sorted=is_sorted, depth=depth + 1)
    yield b"}" if is_object else b"]"


Entry = tuple[str, Any]
"""A member and its name, which is empty in an array."""


def _entries(value: Any, is_sorted: bool) -> Iterable[Entry]:
    if type(value) is list:
        return zip(repeat(""), value, strict=False)
    return sorted(value.items(), key=itemgetter(0)) if is_sorted else value.items()


def _groups(entries: Iterable[Entry]) -> Iterator[tuple[list[Entry], bool]]:
    """Yield the members that are encoded together, or one alone that is large."""
    group: list[Entry] = []
    total = 0
    for entry in entries:
        own = len(entry[0]) + weight(entry[1])
        if group and total + own > LONG:
            yield group, False
            group = []
            total = 0
        if own > LONG:
            yield [entry], True
        else:
            group.append(entry)
            total += own
    if group:
        yield group, False


def weight(value: Any) -> int:
    """Return how long a value takes to encode, in characters of a string; only that it is large if
    it is.
    """
    total = LEAF
    left = [value]
    while left:
        one = left.pop()
        kind = type(one)
        members = one.values() if kind is dict else one if kind is list else ()
        total += LEAF * len(members)
        if kind is str or kind is Raw:
            total += len(one)
        elif kind is dict:
            total += sum(map(len, one))
        if total > LONG:
            break
        for member in members:
            if type(member) is str:
                total += len(member)
            else:
                left.append(member)
    return total


def pieces_by_size(
    value: Any, size: int, encode: Callable[[Any], bytes], *, is_sorted: bool = False
) -> Iterable[bytes]:
    """Return JSON of about `size` bytes, encoded by `encode`: all of it, large JSON in pieces."""
    return (encode(value),) if size <= LARGE else pieces(value, encode, is_sorted=is_sorted)


def encoded(value: Any, size: int, encode: Callable[[Any], bytes] = _encode) -> bytes:
    """Return the same as a whole."""
    return b"".join(pieces_by_size(value, size, encode))


class LargeObject(dict[str, Any]):
    """A JSON object that `encode_large` encodes, in a thread."""

    account: object = None
    """Reserves the memory of the object, while the object exists."""


def encode_large(value: dict[str, Any]) -> bytes:
    """Return an object as JSON; its values can be structs, and already encoded JSON."""
    return b"".join(pieces(to_builtins(dict(value), builtin_types=(Raw,)), _encode))
