"""Which backend is called, of several that could answer: a pure function of what is known of them."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from antiphon.protocol.requests import CreateResponse
from antiphon.upstream.backend_state import Target


class Candidates(tuple[Target, ...]):
    """Where a model is served, then where the models are that may answer in its place; computed when that changes."""

    ranks: Sequence[int]
    """By place, 0 for the model that was requested, 1 for the first that may answer in its place, and so on."""
    caches: bool
    """One of the backends has its answers cached."""

    @classmethod
    def of(cls, targets: Iterable[Target]) -> "Candidates":
        """Return these targets as candidates."""
        made = cls(targets)
        names = list(dict.fromkeys(target.name for target in made))
        made.ranks = [names.index(target.name) for target in made]
        made.caches = any(target.state.options.cache for target in made)
        return made

    def taking(self, parameters: Collection[str]) -> "Candidates":
        """Return those that take parameters of these names, which the API does not have.

        Raises `ClientError` (400, `unknown_parameter`) where no backend of the model takes them all: an answer by a
        fallback alone would be another model's because of a parameter.
        """
        able = [target for target in self if target.takes(parameters)]
        if not any(target.name == self[0].name for target in able):
            from antiphon.protocol.validation.type_errors import unknown_field  # noqa: PLC0415 - for mistakes alone

            raise unknown_field(CreateResponse, self._not_taken(parameters))
        return self if len(able) == len(self) else Candidates.of(able)

    def _not_taken(self, parameters: Collection[str]) -> str:
        """Return a parameter that no backend of the model takes, else one that the first of them does not take."""
        own = [target for target in self if target.name == self[0].name]
        by_all = (name for name in parameters if not any(target.takes([name]) for target in own))
        by_first = (name for name in parameters if not own[0].takes([name]))
        return next(by_all, None) or next(by_first)


class Candidate(Struct, gc=False):
    """What is known at this moment of a backend that could answer."""

    is_up: bool = True
    """Healthy, or due for a probe."""
    is_able: bool = True
    """It does not rest, and can take one more request, if only into its queue."""
    was_tried: bool = False
    """It failed at this very request."""
    fallback: int = 0
    """0 for the model that was requested, 1 for the first that may answer in its place, and so on."""
    is_full: bool = False
    """A new request must wait."""
    is_warm: bool = False
    """It served the chain last, and still has its prefix in memory."""
    is_loaded: bool = True
    """The model is in its memory already."""
    has_free: bool = True
    """It reports a free slot; true where it reports nothing."""
    load: float = 0.0
    """Requests in flight and waiting, by its weight."""
    turn: float = 0.0
    """When it would be its turn, if all were called in proportion to their weights."""


def order(candidates: Sequence[Candidate]) -> list[int]:
    """Return the places of those that may be called, best first.

    Healthy first; then one that need not queue; then one that has the chain's prefix warm; then one that has the model
    loaded; then one with a free slot; then the one with least to do for its weight. Ejected backends are called only
    where no other is left, since the last one is never ejected; but not in place of another that failed.
    """
    able = [place for place, one in enumerate(candidates) if one.is_able]
    up = [place for place in able if candidates[place].is_up]
    if not up and not any(one.was_tried for one in candidates):
        up = able
    return sorted(up, key=[_rank(one) for one in candidates].__getitem__)


def _rank(one: Candidate) -> tuple[bool, int, bool, bool, bool, bool, float, float]:
    return (
        one.was_tried,
        one.fallback,
        one.is_full,  # before all that follows: to wait for an answer's end takes longer than to read a prefix again
        not one.is_warm,
        not one.is_loaded,
        not one.has_free,
        one.load,
        one.turn,
    )


def next_turn(turn: float, weight: float, others: Iterable[tuple[float, float]]) -> float:
    """Return the next turn of one that is called now; `others` are turns and weights.

    Each turn comes 1/weight after the last (start-time fair queueing). One that was away does not make up for it.
    """
    now = min((other - 1 / its for other, its in others), default=turn)
    return max(turn, now) + 1 / weight
