"""Divides chunks into parts that a transaction writes or deletes within a few milliseconds, however
they are built.

What a chunk costs a database is not its size: one letter of an Arabic ligature has three words, one
of a text in base64 a fraction of one. So the cost counts its terms, which must be computed first,
outside of the transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from antiphon.search.terms import terms_of

MOST_COST = 8_000
"""Maximum cost of a part with several chunks: 2 to 8 ms of SQLite's writer. One chunk costs up to
three times this.
"""

BYTES = 64
"""Bytes of a text or a vector that cost as much as a term."""

EACH = 50
"""The cost of a chunk without terms."""

K = TypeVar("K")
Termed = tuple[K, Sequence[str]]
"""A chunk, and its terms in order, as often as each occurs."""


def parts_of(
    chunks: Iterable[tuple[K, str, int]], rest: Callable[[], None]
) -> Iterator[list[Termed[K]]]:
    """Yield parts of chunks, in order, with their terms.

    Each chunk comes with its text and its size in bytes.

    `rest` is called after the terms of each chunk: a thread lets others use Python's lock then.
    """
    part: list[Termed[K]] = []
    total = 0
    for chunk, text, size in chunks:
        terms = terms_of(text)
        cost = len(terms) + size // BYTES + EACH
        if part and total + cost > MOST_COST:
            yield part
            part = []
            total = 0
        part.append((chunk, terms))
        total += cost
        rest()
    if part:
        yield part
