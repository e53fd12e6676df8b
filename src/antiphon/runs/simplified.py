"""Simplifies the requests of one response after a refusal that nothing explains: what is sent, and
what it teaches.

A refused request is sent once more in its plainest form (`dialects.plainest`). While a suspicion
about a model is open, a request with suspects is sent with some of them simplified, as a test
(`upstream.suspicions`).
"""

from msgspec import Struct

from antiphon.errors import AntiphonError, log
from antiphon.protocol.requests import CreateResponse, LocalRequest
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.dialects.plainest import may_be_form, suspects
from antiphon.translation.learned import own_words, spoken
from antiphon.translation.to_chat_completions.request import Body
from antiphon.translation.to_responses import plainest as plainest_responses
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.suspicions import Suspects, Trial


class Simplified(Struct):
    """The simplifications of one response's requests to one backend."""

    target: ModelTarget
    tenant: str
    lessons: Suspects
    """What is sent differently, as lessons for the dialect."""
    trial: Trial | None = None
    """The test of a suspicion that this is."""
    found: Suspects = frozenset()
    """The suspects of the request that was refused."""
    refusal: AntiphonError | None = None
    """The first refusal, once the plainest form is sent; None again once that is accepted."""
    stated: str = ""
    """The backend's words in it."""

    def accepted(self) -> None:
        """The backend accepted the request: conclude from that."""
        lessons = self.target.lessons
        trial = self.trial
        if lessons.suspicions is None:
            return
        if self.refusal is None:
            if trial is not None:
                lessons.suspicions.accepted(trial)
            self.trial = None
            return
        log.warning(
            "The backend '%s' refused a request for the model '%s' without a known reason, "
            "and accepted its plainest form. It said: %s",
            self.target.state.backend.name,
            self.target.name,
            self.stated,
        )
        lesson = lessons.suspicions.explained(self.tenant, trial, self.found)
        if lesson is not None:
            self.target.learn(lesson, self.stated, self.tenant)
        self.refusal = self.trial = None


Sent = tuple[Body, Api]
"""The body of a request, and the API that it is for."""


def tested(
    target: ModelTarget, tenant: str, request: CreateResponse, sent: Sent
) -> Simplified | None:
    """Return how to send a request that was built as `sent`; None to send it as it is."""
    lessons = target.lessons
    if lessons.suspicions is None or not lessons.suspicions.is_open(tenant):
        return None
    trial = lessons.suspicions.trial(tenant, _suspects(target, request, sent))
    return None if trial is None else Simplified(target, tenant, trial.applied, trial)


def plainest(
    target: ModelTarget,
    tenant: str,
    request: CreateResponse,
    sent: Sent,
    before: Simplified | None,
    refusal: tuple[int, AntiphonError, bytes],
) -> Simplified | None:
    """Return how to send a refused request once more; None if its form is not the reason, or was
    tried too often.

    `sent` is the request that was refused, simplified as `before` says; `refusal` is the status,
    the error for the client, and the backend's body.
    """
    status, error, answer = refusal
    if not (target.state.options.plain_retry and may_be_form(status, spoken(answer))):
        return None
    trial = before.trial if before else None
    applied = before.lessons if before else frozenset[str]()
    found = _suspects(target, request, sent)
    suspicions = target.lessons.suspect()
    if trial is not None and trial.tested:
        suspicions.attempt(
            tenant, trial.left
        )  # the test is the reason, so the client must not notice it
    elif not found or not (
        suspicions.is_proven(tenant, found) or suspicions.attempt(tenant, found)
    ):
        return None
    return Simplified(
        target, tenant, applied | found, trial, found, error, own_words(answer, sent[0])
    )


def _suspects(target: ModelTarget, request: CreateResponse, sent: Sent) -> Suspects:
    body, api = sent
    if api == "responses":
        return plainest_responses.suspects(body, request.include or (), own_parameters(request))
    return suspects(body, target.dialect, own_parameters(request))


def own_parameters(request: CreateResponse) -> frozenset[str]:
    """Return the parameters that the client wrote for the backend itself."""
    return frozenset(request.parameters) if isinstance(request, LocalRequest) else frozenset()
