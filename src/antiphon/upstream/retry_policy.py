"""What follows from a failure, for the backend and for the request: a table. And how many retries there may be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from antiphon.errors import AntiphonError, BackendError
from antiphon.upstream.rate_limits import is_about_request
from antiphon.upstream.retry_after import wait_of

LONGEST_PAUSE = 30.0
"""Seconds for which a backend is left alone at most, whatever it asks for: then one request finds out."""

QUOTA_WAIT = 600.0
"""Seconds that clients are to wait at least where the account is used up: money does not come back in a minute."""

LONGEST_DELAY = 86_400.0
"""Seconds that a backend can ask clients to wait; Azure asks for as many."""

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
    is_about_request: bool = False
    """Another request may succeed: this one is too large for the backend's rate limit, or cannot be answered at all."""


def unanswered(error: AntiphonError) -> Failure:
    """Return the failure of a call to which no answer began."""
    return Failure(0, is_broken=isinstance(error, BackendError) and error.is_broken)


def rejected(status: int, headers: Mapping[str, str], error: AntiphonError) -> Failure:
    """Return the failure of a call that the backend answered with this status, or with this error in its stream."""
    is_rate = status in {413, 429} or error.code == "rate_limit_exceeded"
    # llama.cpp rejects an image with 500: the error that is read from such an answer says whose fault it is.
    is_own = is_about_request(error.message) if is_rate else status >= 500 and error.status == 400
    return Failure(status, error.code, wait_of(headers, error.message), is_about_request=is_own)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failure."""

    moves: bool = False
    """Another backend may be called instead."""
    costs: bool = False
    """That is a retry of the budget: the backend did work, and more failures will not help it."""
    counts: bool = False
    """It counts against the backend's health."""
    ejects: bool = False
    """It is enough to leave the backend out, as long as there is another."""
    is_gone: bool = False
    """It could not be connected to: it is healthy as soon as it can be reached."""
    pause: float = 0.0
    """Seconds for which the backend is not to be called for this model, until one request finds out."""
    wait: float = 0.0
    """Seconds that the backend asked for: what clients are told. At least those of the pause."""
    pauses_whole: bool = False
    """The pause is for every model: it is about the account."""


def verdict(failure: Failure) -> Verdict:
    """Return what follows from this failure; what none of the rows knows is the client's own mistake."""
    return next((made(failure) for fits, made in ROWS if fits(failure)), Verdict())


def _limited(failure: Failure) -> Verdict:
    """The key has used up what it may. Without a wait, nothing says that the next request is rejected too."""
    wait = min(failure.wait or 0.0, LONGEST_DELAY)
    return Verdict(moves=True, pause=min(wait, LONGEST_PAUSE), wait=wait)


def _without_quota(failure: Failure) -> Verdict:
    wait = min(max(failure.wait or 0.0, QUOTA_WAIT), LONGEST_DELAY)
    return Verdict(moves=True, pause=LONGEST_PAUSE, wait=wait, pauses_whole=True)


def _failed(failure: Failure) -> Verdict:
    """It does not know how long it will fail, so the wait that it asks for has the same bound as the pause."""
    wait = min(failure.wait or 0.0, LONGEST_PAUSE)
    return Verdict(moves=True, costs=True, counts=True, pause=wait, wait=wait)


ROWS: tuple[tuple[Callable[[Failure], bool], Callable[[Failure], Verdict]], ...] = (
    (lambda failure: failure.code == "model_not_found", lambda _: Verdict(moves=True)),
    # What may be about this one request takes the backend from no other: `rate_limits.py` has the words.
    (lambda failure: failure.is_about_request, lambda _: Verdict(moves=True)),
    (lambda failure: failure.code == "insufficient_quota", _without_quota),
    # A refused key: a gateway in front of the backend may have refused one request only.
    (lambda failure: failure.status == 401, lambda _: Verdict(moves=True, counts=True, ejects=True)),
    (lambda failure: failure.status in {402, 403}, lambda _: Verdict(moves=True)),
    # In a stream the status says nothing (OpenAI's `response.failed`, openai/codex#38366), the code does.
    (lambda failure: failure.status == 429 or failure.code == "rate_limit_exceeded", _limited),
    (
        lambda failure: failure.status == 0,
        lambda failure: Verdict(moves=True, counts=True, is_gone=not failure.is_broken),
    ),
    (lambda failure: failure.status >= 500, _failed),
)


class RetryBudget:
    """Retries are a share of the requests, so that a failing backend does not get all the more of them.

    Requests pay in, retries draw (cases/faults.md, row 5).
    """

    def __init__(self, share: float = RETRIES, reserve: float = RESERVE) -> None:
        self._share = share
        self.reserve = reserve
        self.left = reserve

    @property
    def is_full(self) -> bool:
        """Whether it holds as much as it can."""
        return self.left >= self.reserve

    def earn(self) -> None:
        """A request is sent for the first time."""
        self.left = min(self.reserve, self.left + self._share)

    def spend(self) -> bool:
        """Return whether there may be one more retry, which is then spent."""
        if self.left < 1:
            return False
        self.left -= 1
        return True
