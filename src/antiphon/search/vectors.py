"""Vectors of chunks: 16-bit floats of length 1, and the signs of their numbers as one integer.

The angle between two vectors is small if most of their signs agree. So the signatures select
candidates, and the vectors themselves decide between these.
"""

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from operator import mul

CANDIDATES = 400
"""Chunks that are compared by their exact vectors, if signatures select many."""

MANY = 10_000
"""Chunks above which the nearest ten stand out from the others."""

NUMBERS = 500_000
"""Numbers of vectors that are compared exactly below that, in 25 ms. Longer vectors need fewer
candidates.
"""

AT_ONCE = 50_000
"""Distances that one call computes, in 2 ms; other threads wait meanwhile."""


@cache
def _form(dimensions: int) -> struct.Struct:
    return struct.Struct(f"<{dimensions}e")


def unit(numbers: Sequence[float]) -> bytes | None:
    """Return the vector of length 1 in this direction, as 16-bit floats; None if the numbers have
    no direction.
    """
    length = math.sqrt(sum(map(mul, numbers, numbers)))
    if not (math.isfinite(length) and length):
        return None
    return _form(len(numbers)).pack(*(number / length for number in numbers))


def floats(vector: bytes) -> tuple[float, ...]:
    """Return the numbers of a vector."""
    return _form(len(vector) // 2).unpack(vector)


def mean(vectors: Sequence[bytes]) -> bytes:
    """Return the vector of length 1 in the middle of these, of equal sizes; the first if they have
    no middle.
    """
    if len(vectors) == 1:
        return vectors[0]
    return unit([sum(numbers) for numbers in zip(*map(floats, vectors), strict=True)]) or vectors[0]


def signature_size(dimensions: int) -> int:
    """Return the bytes of the signature of a vector."""
    return -(-dimensions // 8)


def signature(vector: bytes) -> bytes:
    """Return the signs of a vector, one bit each."""
    high = vector[1::2]  # little-endian: the sign is the highest bit of every second byte
    bits = int(high.translate(_SIGN_DIGITS), 2)
    return bits.to_bytes(signature_size(len(high)), "big")


_SIGN_DIGITS = bytes(ord("1") if byte & 0x80 else ord("0") for byte in range(256))


def integers(signatures: bytes, count: int) -> list[int]:
    """Return packed signatures as integers."""
    size = len(signatures) // count
    whole = memoryview(signatures)
    return [
        int.from_bytes(whole[start : start + size], "big") for start in range(0, size * count, size)
    ]


def compared(chunks: int, dimensions: int) -> int:
    """Return how many of this many chunks are compared exactly as candidates.

    In a small store fewer chunks are near, and signatures distinguish distant ones less well. 400
    candidates of 1,000 to 5,000 chunks contained 94 to 97 % of the ten nearest, 1,200 contained
    all.
    """
    return max(CANDIDATES, NUMBERS // dimensions) if chunks < MANY else CANDIDATES


def candidates(
    numbers: Sequence[int], signatures: Sequence[int], wanted: int, most: int
) -> list[int]:
    """Return the numbers of the chunks with the signatures that agree most with `wanted`."""
    distances = [(one ^ wanted).bit_count() for one in signatures]
    if len(distances) <= most:
        return list(numbers)
    counts: Counter[int] = Counter()
    for start in range(0, len(distances), AT_ONCE):
        counts.update(distances[start : start + AT_ONCE])
    limit = _limit(counts, most)
    near = [number for number, distance in zip(numbers, distances, strict=True) if distance < limit]
    at_limit = (
        number for number, distance in zip(numbers, distances, strict=True) if distance == limit
    )
    return near + list(islice(at_limit, most - len(near)))


def _limit(counts: Mapping[int, int], most: int) -> int:
    """Return the smallest distance within which there are at least `most` signatures."""
    reached = 0
    for distance in sorted(counts):
        reached += counts[distance]
        if reached >= most:
            return distance
    return max(counts)


def cosines(vectors: Mapping[int, bytes], wanted: bytes) -> list[tuple[int, float]]:
    """Return each number with the cosine of its vector, 0 to 1, best first; vectors of another size
    are omitted.
    """
    query = floats(wanted)
    form = _form(len(query))
    found = [
        (number, min(1.0, max(0.0, sum(map(mul, form.unpack(vector), query)))))
        for number, vector in vectors.items()
        if len(vector) == len(wanted)
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))
