"""What a failure says about a backend, and whether another may be asked instead: a table."""

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.errors import AntiphonError, BackendError

QUOTA_REST = 600.0
"""Seconds that a backend rests whose account is used up: money does not come back in a minute."""

KEY_REST = 60.0
"""Seconds that a backend rests which refuses this server's key."""

RATE_REST = 1.0
"""Seconds that a backend rests which limits its rate and does not say for how long."""

ERROR_REST = 30.0
"""Seconds that a failing backend rests at most, whatever it asks for: it does not know how long it will fail."""

LONGEST_REST = 3600.0
"""Seconds: who asks for more is tried again after these."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that came to nothing. `status` is 0 where no answer began; `wait` is what the backend asked for."""

    status: int
    code: str | None = None
    wait: float | None = None
    is_broken: bool = False
    """It was connected all the same: the answer did not come in time, or broke off."""


def unanswered(error: AntiphonError) -> Failure:
    """Return the failure of a question to which no answer began."""
    return Failure(0, is_broken=isinstance(error, BackendError) and error.is_broken)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failure."""

    moves: bool = False
    """Another backend may be asked instead."""
    costs: bool = False
    """That is one of the retries that are allowed: the backend worked, and failing more will not help it."""
    counts: bool = False
    """It counts against the backend's health."""
    is_gone: bool = False
    """It could not be connected to: being there again is enough to be healthy."""
    rest: float = 0.0
    """Seconds for which the backend is not to be asked for this model."""
    rests_whole: bool = False
    """Nor for any other: it is about the account."""


def verdict(failure: Failure) -> Verdict:
    """Return what follows from this failure; what none of the rows knows is the client's own mistake."""
    return next((made(failure) for fits, made in ROWS if fits(failure)), Verdict())


def _wait(failure: Failure, default: float, most: float = LONGEST_REST) -> float:
    return min(default if failure.wait is None else failure.wait, most)


ROWS: tuple[tuple[Callable[[Failure], bool], Callable[[Failure], Verdict]], ...] = (
    (lambda failure: failure.code == "model_not_found", lambda _: Verdict(moves=True)),
    (
        lambda failure: failure.code == "insufficient_quota",
        lambda failure: Verdict(moves=True, rest=max(_wait(failure, QUOTA_REST), QUOTA_REST), rests_whole=True),
    ),
    (lambda failure: failure.status == 401, lambda _: Verdict(moves=True, rest=KEY_REST, rests_whole=True)),
    # What may be about this one request takes the backend from nobody else.
    (lambda failure: failure.status in {402, 403}, lambda _: Verdict(moves=True)),
    (lambda failure: failure.status == 429, lambda failure: Verdict(moves=True, rest=_wait(failure, RATE_REST))),
    (
        lambda failure: failure.status == 0,
        lambda failure: Verdict(moves=True, counts=True, is_gone=not failure.is_broken),
    ),
    (
        lambda failure: failure.status >= 500,
        lambda failure: Verdict(moves=True, costs=True, counts=True, rest=_wait(failure, 0.0, ERROR_REST)),
    ),
)
