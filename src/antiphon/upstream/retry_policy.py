"""A table of the consequences of a failure, for the backend and for the request; and the budget of
retries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from antiphon.errors import AntiphonError, BackendError
from antiphon.upstream.rate_limits import is_about_request
from antiphon.upstream.retry_after import wait_of

LONGEST_PAUSE = 30.0
"""Maximum seconds of a pause, regardless of the backend's request: then one request probes."""

QUOTA_WAIT = 600.0
"""Minimum seconds that clients must wait if the account is used up: it is not recharged within a
minute.
"""

LONGEST_DELAY = 86_400.0
"""Maximum seconds that a backend can make clients wait; Azure requests as many."""

_OF_REQUEST = frozenset({"context_length_exceeded", "content_filter", "invalid_prompt"})
"""Codes of errors that the request caused: clients could otherwise make a backend unavailable to
others.
"""

RETRIES = 0.1
"""Retries that each request adds to the budget."""

RESERVE = 10.0
"""Maximum and initial retries in the budget."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call. `status` is 0 if no answer began; `wait` is the backend's `Retry-After` or
    similar.
    """

    status: int
    code: str | None = None
    wait: float | None = None
    is_broken: bool = False
    """The connection was opened, but the answer timed out, or broke off."""
    is_about_request: bool = False
    """Another request may succeed: this one exceeds the backend's rate limit, or cannot be answered
    at all.
    """


def unanswered(error: AntiphonError) -> Failure:
    """Return the failure of a call without an answer."""
    return Failure(0, is_broken=isinstance(error, BackendError) and error.is_broken)


def rejected(status: int, headers: Mapping[str, str], error: AntiphonError) -> Failure:
    """Return the failure of a call that the backend answered with this status, or with this error
    in its stream.
    """
    is_rate = status in {413, 429} or error.code == "rate_limit_exceeded"
    # llama.cpp rejects an image with 500: the error that is parsed from such an answer shows
    # the real cause.
    is_caused = error.status == 400 or error.code in _OF_REQUEST
    is_own = is_about_request(error.message) if is_rate else status >= 500 and is_caused
    # `str(error)` is the backend's text; `message` can have a wait that is only for the client.
    return Failure(status, error.code, wait_of(headers, str(error)), is_about_request=is_own)


@dataclass(frozen=True, slots=True)
class FailureVerdict:
    """The consequences of a failure."""

    moves: bool = False
    """Failover to another backend is allowed."""
    costs: bool = False
    """The failover uses the retry budget: the backend did work, and more failures will not help
    it.
    """
    counts: bool = False
    """It counts against the backend's health."""
    ejects: bool = False
    """It is enough to eject the backend, while another is available."""
    is_unavailable: bool = False
    """The connection failed: the backend is healthy as soon as it can be reached."""
    pause: float = 0.0
    """Seconds for which the backend is not called for this model, until one request probes it."""
    wait: float = 0.0
    """Seconds that clients must wait, from the backend. At least those of the pause."""
    pauses_whole: bool = False
    """The pause is for every model: it concerns the account."""


def verdict(failure: Failure) -> FailureVerdict:
    """Return the consequences of this failure; a failure in none of the rows is the client's
    mistake.
    """
    return next((created(failure) for fits, created in ROWS if fits(failure)), FailureVerdict())


def _limited(failure: Failure) -> FailureVerdict:
    """The key has used up its quota. Without a wait, the next request may not be rejected."""
    wait = min(failure.wait or 0.0, LONGEST_DELAY)
    return FailureVerdict(moves=True, pause=min(wait, LONGEST_PAUSE), wait=wait)


def _without_quota(failure: Failure) -> FailureVerdict:
    """The account is used up.

    With a 402, other models can still be free of charge (free-claude-code#772).
    """
    wait = min(max(failure.wait or 0.0, QUOTA_WAIT), LONGEST_DELAY)
    return FailureVerdict(
        moves=True, pause=LONGEST_PAUSE, wait=wait, pauses_whole=failure.status != 402
    )


def _failed(failure: Failure) -> FailureVerdict:
    """The duration of its failure is unknown, so the wait that it requests has the same limit as
    the pause.
    """
    wait = min(failure.wait or 0.0, LONGEST_PAUSE)
    return FailureVerdict(moves=True, costs=True, counts=True, pause=wait, wait=wait)


ROWS: tuple[tuple[Callable[[Failure], bool], Callable[[Failure], FailureVerdict]], ...] = (
    (lambda failure: failure.code == "model_not_found", lambda _: FailureVerdict(moves=True)),
    # A failure that may concern this one request does not affect others:
    # `rate_limits.py` has the wordings.
    (lambda failure: failure.is_about_request, lambda _: FailureVerdict(moves=True)),
    (lambda failure: failure.code == "insufficient_quota", _without_quota),
    # A rejected key: a gateway in front of the backend may have rejected only this request.
    (
        lambda failure: failure.status == 401,
        lambda _: FailureVerdict(moves=True, counts=True, ejects=True),
    ),
    (lambda failure: failure.status in {402, 403}, lambda _: FailureVerdict(moves=True)),
    # In a stream the status is meaningless (OpenAI's `response.failed`, openai/codex#38366), the
    # code is not.
    (lambda failure: failure.status == 429 or failure.code == "rate_limit_exceeded", _limited),
    (
        lambda failure: failure.status == 0,
        lambda failure: FailureVerdict(
            moves=True, counts=True, is_unavailable=not failure.is_broken
        ),
    ),
    (lambda failure: failure.status >= 500, _failed),
)


class RetryBudget:
    """Limits retries to a share of the requests, so that a failing backend does not receive even
    more of them.

    Requests add to the budget, retries draw from it (cases/faults.md, row 5).
    """

    def __init__(self, share: float = RETRIES, reserve: float = RESERVE) -> None:
        self._share = share
        self.reserve = reserve
        self.left = reserve

    @property
    def is_full(self) -> bool:
        """Whether it is at its maximum."""
        return self.left >= self.reserve

    def earn(self) -> None:
        """A request is sent for the first time."""
        self.left = min(self.reserve, self.left + self._share)

    def spend(self) -> bool:
        """Return whether one more retry is allowed, which is then spent."""
        if self.left < 1:
            return False
        self.left -= 1
        return True
