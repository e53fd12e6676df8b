"""Selects the backend to call among several candidates: a pure function of their known state."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from antiphon.protocol.presets import Preset
from antiphon.protocol.requests import CreateResponse
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.permitted import check_parameters


class Candidates(tuple[ModelTarget, ...]):
    """The targets of a model, then those of its fallback models; computed when they change."""

    ranks: Sequence[int]
    """By target, 0 for the requested model, 1 for its first fallback, and so on."""
    caches: bool
    """Answers of one of the backends are cached."""
    preset: Preset | None
    """What the requests get in addition, if their model is a preset."""
    may_run_chat: bool
    """Whether a chat completion may have to be answered as a response."""

    @classmethod
    def of(cls, targets: Iterable[ModelTarget], preset: Preset | None = None) -> "Candidates":
        """Return these targets as candidates."""
        created = cls(targets)
        names = list(dict.fromkeys(target.name for target in created))
        created.ranks = [names.index(target.name) for target in created]
        created.caches = any(target.state.options.cache for target in created)
        created.preset = preset
        created.may_run_chat = (preset is not None and preset.tools is not None) or any(
            target.api == "responses"
            or target.state.messages is not None
            or target.chat_completions == "run"
            for target in created
        )
        return created

    def taking(self, parameters: Collection[str]) -> "Candidates":
        """Return those that accept parameters with these names, which are not in the API.

        Raises `ClientError` (400, `unknown_parameter`) if no backend of the model accepts them all:
        an answer from a fallback alone would change the model because of a parameter. Raises it
        (400, `unsupported_parameter`) also for a restricted key, if a parameter can select another
        model.
        """
        check_parameters(parameters)
        able = [target for target in self if target.accepts(parameters)]
        if not any(target.name == self[0].name for target in able):
            from antiphon.protocol.validation.type_errors import unknown_field  # noqa: PLC0415 - for mistakes alone

            raise unknown_field(CreateResponse, self._not_taken(parameters))
        return self if len(able) == len(self) else Candidates.of(able, self.preset)

    def _not_taken(self, parameters: Collection[str]) -> str:
        """Return a parameter that no backend of the model accepts, else one that the first of them
        does not accept.
        """
        own = [target for target in self if target.name == self[0].name]
        by_all = (name for name in parameters if not any(target.accepts([name]) for target in own))
        by_first = (name for name in parameters if not own[0].accepts([name]))
        return next(by_all, None) or next(by_first)


class BackendCandidate(Struct, gc=False):
    """The current state of a candidate backend."""

    is_up: bool = True
    """Healthy, or due for a probe."""
    is_able: bool = True
    """It is not paused, and accepts one more request, if only into its queue."""
    was_tried: bool = False
    """It failed for this request."""
    fallback: int = 0
    """0 for the requested model, 1 for its first fallback, and so on."""
    is_full: bool = False
    """A new request must wait."""
    is_warm: bool = False
    """It served the chain last, and still has its prefix in its cache."""
    is_loaded: bool = True
    """The model is already loaded."""
    has_free: bool = True
    """It reports a free slot; true if it reports nothing."""
    load: float = 0.0
    """Requests in flight and waiting, divided by its weight."""
    turn: float = 0.0
    """The virtual time of its next turn, if all were called in proportion to their weights."""


def order(candidates: Sequence[BackendCandidate]) -> list[int]:
    """Return the indices of the candidates that can be called, best first.

    Healthy first; then one without a queue; then one with the chain's prefix cached; then one with
    the model loaded; then one with a free slot; then the one with the least load for its weight.
    Ejected backends are called only if no other is left, since the only remaining one is never
    ejected; but not as failover from one that failed.
    """
    able = [place for place, one in enumerate(candidates) if one.is_able]
    up = [place for place in able if candidates[place].is_up]
    if not up and not any(one.was_tried for one in candidates):
        up = able
    return sorted(up, key=[_rank(one) for one in candidates].__getitem__)


def _rank(one: BackendCandidate) -> tuple[bool, int, bool, bool, bool, bool, float, float]:
    return (
        one.was_tried,
        one.fallback,
        # before all criteria below: waiting for a slot takes longer than processing a prefix again
        one.is_full,
        not one.is_warm,
        not one.is_loaded,
        not one.has_free,
        one.load,
        one.turn,
    )


def next_turn(turn: float, weight: float, others: Iterable[tuple[float, float]]) -> float:
    """Return the next turn of a backend that is called now; `others` are turns and weights.

    Each turn is 1/weight after the last (start-time fair queueing). A backend that was unavailable
    does not catch up.
    """
    now = min((other - 1 / its for other, its in others), default=turn)
    return max(turn, now) + 1 / weight
