"""Combines ranked lists into one: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR
2009).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

K = 60
"""How little the first ranks of a list differ."""

LONGEST = 100
"""Hits of a list that are fused."""

N = TypeVar("N")


def fuse(lists: Sequence[tuple[float, Sequence[N]]]) -> dict[N, float]:
    """Return the score of each member of several lists, 0 to 1, best first.

    Each list has a weight, and its members best first. The first member of every list would have 1.
    """
    best = sum(weight for weight, _ in lists) / (K + 1)
    scores: dict[N, float] = {}
    for weight, members in lists:
        for rank, member in enumerate(members, 1):
            scores[member] = scores.get(member, 0.0) + weight / (K + rank) / best
    return _sorted(scores)


def best_of(scores: Iterable[Mapping[N, float]]) -> dict[N, float]:
    """Return each member with the best of its scores, best first."""
    best: dict[N, float] = {}
    for one in scores:
        for member, score in one.items():
            best[member] = max(score, best.get(member, 0.0))
    return _sorted(best)


def above(scores: Mapping[N, float], threshold: float) -> dict[N, float]:
    """Return the members with a score of at least the threshold.

    Apply it once, to the final scores.
    """
    return {member: score for member, score in scores.items() if score >= threshold}


def _sorted(scores: Mapping[N, float]) -> dict[N, float]:
    return dict(sorted(scores.items(), key=lambda one: -one[1]))
