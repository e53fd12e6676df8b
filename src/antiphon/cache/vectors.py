"""Vectors of questions, and which are similar."""

import math
import operator
from array import array
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

MOST = 64
"""Vectors that are compared with one question: the latest ones."""


class QuestionEntry(Struct, frozen=True, array_like=True):
    """A question: the key of its answer, and its vector of length 1, as 32-bit floats."""

    key: bytes
    vector: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[QuestionEntry]).decode


def unit(numbers: Sequence[float]) -> bytes | None:
    """Return a vector of length 1 in this direction, None for a zero or non-finite vector."""
    length = math.sqrt(sum(number * number for number in numbers))
    if not (math.isfinite(length) and length):
        return None
    return array("f", [number / length for number in numbers]).tobytes()


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of the angle between two vectors of length 1; -1 if their dimensions
    differ.
    """
    if len(one) != len(other):
        return -1.0
    return float(sum(map(operator.mul, array("f", one), array("f", other))))


def nearest(entries: Iterable[QuestionEntry], vector: bytes) -> tuple[QuestionEntry, float] | None:
    """Return the nearest entry, with its cosine."""
    found = [(entry, cosine(entry.vector, vector)) for entry in entries]
    return max(found, key=operator.itemgetter(1), default=None)


def with_entry(entries: Iterable[QuestionEntry], new: QuestionEntry) -> list[QuestionEntry]:
    """Return the entries with a new one at the front; the oldest ones are dropped to make room."""
    return [new, *(entry for entry in entries if entry.key != new.key)][:MOST]


def to_bytes(entries: Sequence[QuestionEntry]) -> bytes:
    """Return entries as bytes for the store."""
    return _encode(entries)


def from_bytes(body: bytes | None) -> list[QuestionEntry]:
    """Return entries; none if the bytes are from another version of this program."""
    try:
        return _decode(body) if body else []
    except msgspec.MsgspecError:
        return []
