"""Requests with an `Idempotency-Key`. A key must be new: the id of a response that the server just
created is.
"""

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, preview
from antiphon_verify.replies.responses import idempotency as replies
from antiphon_verify.requirement import Stop, may, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

PROMPT = "Say hello."


def keyed(trial: Trial, key: str, prompt: str = PROMPT, **parameters: object) -> ExchangeSteps:
    """Create a response with a key."""
    body = trial.response_body(prompt, **parameters)
    return trial.post("/responses", body, headers={"idempotency-key": key})


@case(
    may(
        "responses:idempotency:same",
        "spec 14",
        "A request repeated with the same `Idempotency-Key` returns the same response.",
        fault=[replies.CREATED, replies.OTHER, replies.CREATED],
    ),
    may(
        "responses:idempotency:other-body",
        "http",
        "A different request with a used key is rejected with a 4xx.",
        fault=[replies.CREATED, replies.OTHER, replies.OTHER, replies.CREATED, replies.CREATED],
    ),
    should(
        "responses:idempotency:other-key",
        "spec 14",
        "The same request with another key returns another response.",
        fault=[replies.CREATED, replies.OTHER, replies.OTHER, replies.OTHER, replies.REUSED],
    ),
    good=replies.GOOD,
)
def a_request_is_sent_again(trial: Trial) -> Steps:
    """Create a response twice with one key, then with another key, then another response with the
    first key.
    """
    key = id_of(trial.response((yield from trial.respond(PROMPT))))
    first = trial.response((yield from keyed(trial, key)))
    again = yield from keyed(trial, key)
    if not trial.expect(
        "responses:idempotency:same",
        again.is_ok and at(again.json, "id") == id_of(first),
        again.came,
    ):
        raise Stop("not offered", "The server ignores the key.")
    other = yield from keyed(trial, f"{key}-other")
    differs = other.is_ok and at(other.json, "id") != id_of(first)
    trial.expect("responses:idempotency:other-key", differs, preview(at(other.json, "id")))
    refused = yield from keyed(trial, key, "Say goodbye.")
    trial.expect("responses:idempotency:other-body", 400 <= refused.status < 500, refused.came)


@case(
    may(
        "responses:idempotency:streamed",
        "spec 14",
        "A streaming request repeated with the same `Idempotency-Key` returns the same events.",
        fault=[replies.CREATED, replies.STREAM, replies.AGAIN],
    ),
    good=[replies.CREATED, replies.STREAM, replies.STREAM],
)
def a_stream_is_requested_again(trial: Trial) -> Steps:
    """Stream a response twice with one key."""
    key = id_of(trial.response((yield from trial.respond(PROMPT))))
    events = trial.streamed((yield from keyed(trial, f"{key}-stream", stream=True)))
    again = trial.streamed((yield from keyed(trial, f"{key}-stream", stream=True)))
    ids = [at(one, -1, "response", "id") for one in (events, again)]
    trial.expect("responses:idempotency:streamed", events == again, f"The responses are {ids}.")
