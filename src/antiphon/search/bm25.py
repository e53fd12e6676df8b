"""Keyword scores: BM25 (Robertson and Zaragoza, 2009), with the statistics of one store."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.search.terms import counter_of

K1, B = 1.2, 0.75
"""BM25's parameters for the saturation of repeated terms, and for the length of a chunk."""

MOST_READ = 8_000
"""Index entries that one search ranks, beyond those of its rarest term. Each takes a
microsecond.
"""

MOST_TERMS = 32
"""Terms of a query that count: the rarest."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The statistics of a store for BM25: chunks, total terms, and how many chunks contain each
    term of the query.
    """

    chunks: int
    terms: int
    counts: Mapping[str, int]

    def weights(self) -> dict[str, float]:
        """Return the weight of each term, the rarest first: its inverse document frequency, above
        0.
        """
        rarest = sorted(self.counts, key=lambda term: (self.counts[term], term))[:MOST_TERMS]
        return {term: self._weight(min(self.counts[term], self.chunks)) for term in rarest}

    def _weight(self, count: int) -> float:
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))


def query_terms(corpus: Corpus) -> list[str]:
    """Return the terms by which chunks are found: the rarest, while few chunks contain them.

    Words such as `the` are in most chunks. They carry little information, and ranking them would
    take most of the time.
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
    """Return the score of each text, 0 to 1: BM25, divided by the maximum of any text for this
    query.

    Each text has its number of terms. Terms that no chunk contains count in the divisor alone.
    """
    weights = corpus.weights()
    best = (K1 + 1) * sum(weights.values())
    if not best:
        return [0.0] * len(texts)
    mean = max(1.0, corpus.terms / max(1, corpus.chunks))
    count = counter_of(list(weights))
    shares = list(weights.values())
    return [_bm25(count(text), length / mean, shares) / best for text, length in texts]


def _bm25(counts: Sequence[int], length: float, weights: Sequence[float]) -> float:
    damping = K1 * (1 - B + B * length)
    return sum(
        weight * count * (K1 + 1) / (count + damping)
        for weight, count in zip(weights, counts, strict=True)
        if count
    )
