"""Who is asked, of several that could answer: a pure function of what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one candidate at this moment."""

    is_up: bool = True
    """Healthy, or due to be tried."""
    rest: float = 0.0
    """Seconds for which it does not want to be asked."""
    takes: bool = True
    """It can take one more, if only into its queue."""
    is_full: bool = False
    """Who comes now must wait."""
    is_kin: bool = False
    """It served the chain last, and has its beginning still in memory."""
    is_loaded: bool = False
    """The model is in its memory already."""
    has_free: bool = True
    """It says itself that a slot is free; true where it says nothing."""
    load: float = 0.0
    """Requests that it has and that wait for it, by its weight."""
    turn: float = 0.0
    """Who was asked less than its weight says comes first among equals."""


def order(standings: Sequence[Standing], *, takes_ejected: bool = True) -> list[int]:
    """Return the places of those that may be asked, best first.

    Healthy first; then one that need not queue; then who has the chain's prefix warm; then who has the model loaded;
    then who has a slot free; then who has least to do for its weight. The ejected are asked only where nobody else
    is left: the last one is never given up.
    """
    able = [place for place, one in enumerate(standings) if one.takes and not one.rest]
    up = [place for place in able if standings[place].is_up]
    return sorted(up or (able if takes_ejected else []), key=lambda place: _rank(standings[place]))


def _rank(one: Standing) -> tuple[bool, bool, bool, bool, float, float]:
    return (one.is_full, not one.is_kin, not one.is_loaded, not one.has_free, one.load, one.turn)
