"""Who is asked, of several that could answer: a pure function of what is known of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Candidate:
    """What is known at this moment of one that could answer."""

    is_up: bool = True
    """Healthy, or due to be tried."""
    is_able: bool = True
    """It wants to be asked, and can take one more, if only into its queue."""
    was_tried: bool = False
    """It failed at this very question."""
    fallback: int = 0
    """0 for the model that was asked for, 1 for the first that may answer in its place, and so on."""
    is_full: bool = False
    """Who comes now must wait."""
    is_warm: bool = False
    """It served the chain last, and has its beginning still in memory."""
    is_loaded: bool = True
    """The model is in its memory already."""
    has_free: bool = True
    """It says itself that a slot is free; true where it says nothing."""
    load: float = 0.0
    """Requests that it has and that wait for it, by its weight."""
    turn: float = 0.0
    """When it would be its turn, if all were asked in proportion to their weights."""


def order(candidates: Sequence[Candidate]) -> list[int]:
    """Return the places of those that may be asked, best first.

    Healthy first; then one that need not queue; then who has the chain's prefix warm; then who has the model loaded;
    then who has a slot free; then who has least to do for its weight. The ejected are asked only where nobody else
    is left, since the last one is never given up; but not in place of another that failed.
    """
    able = [place for place, one in enumerate(candidates) if one.is_able]
    up = [place for place in able if candidates[place].is_up]
    is_retry = any(one.was_tried for one in candidates)
    return sorted(up if up or is_retry else able, key=lambda place: _rank(candidates[place]))


def _rank(one: Candidate) -> tuple[bool, int, bool, bool, bool, bool, float, float]:
    return (
        one.was_tried,
        one.fallback,
        one.is_full,  # before all that follows: to queue takes longer than to load a model or to read a prefix again
        not one.is_warm,
        not one.is_loaded,
        not one.has_free,
        one.load,
        one.turn,
    )


def next_turn(turn: float, weight: float, others: Iterable[tuple[float, float]]) -> float:
    """Return the next turn of one that is asked now; `others` are turns and weights.

    Each turn comes 1/weight after the last (start-time fair queueing). Who was away does not make up for it.
    """
    now = min((other - 1 / its for other, its in others), default=turn)
    return max(turn, now) + 1 / weight
