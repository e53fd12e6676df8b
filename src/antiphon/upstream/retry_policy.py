"""What follows from a failure, for the backend and for the request: a table. And how many retries there may be."""

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
"""Seconds: a backend that asks for more is tried again after these."""

RETRIES = 0.1
"""Retries that each request adds to the budget."""

RESERVE = 10.0
"""Retries that the budget holds at most, and at the beginning."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed. `status` is 0 where no answer began; `wait` is what the backend asked for."""

    status: int
    code: str | None = None
    wait: float | None = None
    is_broken: bool = False
    """The connection was made: the answer did not come in time, or broke off."""


def unanswered(error: AntiphonError) -> Failure:
    """Return the failure of a call to which no answer began."""
    return Failure(0, is_broken=isinstance(error, BackendError) and error.is_broken)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failure."""

    moves: bool = False
    """Another backend may be called instead."""
    costs: bool = False
    """That is a retry of the budget: the backend did work, and more failures will not help it."""
    counts: bool = False
    """It counts against the backend's health."""
    is_gone: bool = False
    """It could not be connected to: it is healthy as soon as it can be reached."""
    rest: float = 0.0
    """Seconds for which the backend is not to be called for this model."""
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


class RetryBudget:
    """Retries are a share of the requests, so that a failing backend does not get all the more of them.

    Requests pay in, retries draw (cases/faults.md, row 5).
    """

    def __init__(self, share: float = RETRIES, reserve: float = RESERVE) -> None:
        self._share = share
        self.reserve = reserve
        self.left = reserve

    def earn(self) -> None:
        """A request is sent for the first time."""
        if self.left < self.reserve:
            self.left = min(self.reserve, self.left + self._share)

    def spend(self) -> bool:
        """Return whether there may be one more retry, which is then spent."""
        if self.left < 1:
            return False
        self.left -= 1
        return True
