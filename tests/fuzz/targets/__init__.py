"""What is fuzzed: a name, the function that takes any bytes, and inputs to begin with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One reader of foreign bytes.

    `check` raises for bytes that are treated wrongly. `seeds` are inputs of the usual form, and
    `words` what such inputs consist of: libFuzzer inserts them.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Sequence[bytes]
    words: Sequence[bytes] = ()


def cut(data: bytes) -> tuple[bytes, list[bytes]]:
    """Return bytes without the first, which says how the rest is cut into pieces, and the pieces.

    One piece for 0; else pieces of 1 to 7 bytes and of up to 64, by turns.
    """
    if not data:
        return b"", []
    how = data[0]
    rest = data[1:]
    if how == 0:
        return rest, [rest]
    pieces = []
    place = 0
    while place < len(rest):
        size = how % 7 + 1 if len(pieces) % 2 else how % 64 + 1
        pieces.append(rest[place : place + size])
        place += size
    return rest, pieces
