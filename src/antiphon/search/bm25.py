"""Keyword scores: BM25 (Robertson and Zaragoza, 2009), with the figures of one store."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.search.terms import counter_of

K1, B = 1.2, 0.75
"""How soon more occurrences of a term stop to count, and how much the length of a chunk does."""

MOST_READ = 8_000
"""Entries of the index that one search ranks, beyond those of its rarest term. Each takes a microsecond."""

MOST_TERMS = 32
"""Terms of a query that count: the rarest."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What BM25 needs of a store: chunks, terms in all of them, and how many chunks have each term of the query."""

    chunks: int
    terms: int
    counts: Mapping[str, int]

    def weights(self) -> dict[str, float]:
        """Return how much each term says, the rarest first: its inverse document frequency, above 0."""
        rarest = sorted(self.counts, key=lambda term: (self.counts[term], term))[:MOST_TERMS]
        return {term: self._weight(min(self.counts[term], self.chunks)) for term in rarest}

    def _weight(self, count: int) -> float:
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))


def looked_up(corpus: Corpus) -> list[str]:
    """Return the terms by which chunks are found: the rarest, as long as few chunks have them.

    Words such as `the` are in most chunks. They say little, and to rank all of these would take most of the time.
    """
    chosen: list[str] = []
    read = 0
    for term in corpus.weights():
        count = corpus.counts[term]
        if chosen and read + count > MOST_READ:
            break
        if count:
            chosen.append(term)
            read += count
    return chosen


def scores(texts: Sequence[tuple[str, int]], corpus: Corpus) -> list[float]:
    """Return the score of each text, 0 to 1: BM25, divided by what no text of this query can exceed.

    A text comes with its number of terms. Terms that no chunk has count in the divisor alone.
    """
    weights = corpus.weights()
    best = (K1 + 1) * sum(weights.values())
    if not best:
        return [0.0] * len(texts)
    mean = max(1.0, corpus.terms / max(1, corpus.chunks))
    count, shares = counter_of(list(weights)), list(weights.values())
    return [_bm25(count(text), length / mean, shares) / best for text, length in texts]


def _bm25(counts: Sequence[int], length: float, weights: Sequence[float]) -> float:
    damping = K1 * (1 - B + B * length)
    return sum(
        weight * count * (K1 + 1) / (count + damping) for weight, count in zip(weights, counts, strict=True) if count
    )
