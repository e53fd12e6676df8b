"""Bad requests refused, and not."""

from antiphon_verify.areas.responses import errors
from antiphon_verify.areas.responses.errors import REFUSALS
from antiphon_verify.refusal import Refusal
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

TAKEN = says(RESPONSE)

FIRST = errors.CASES[0]


def refused(refusal: Refusal) -> Answer:
    """The refusal as OpenAI gives it."""
    status = refusal.statuses[0]
    message = "Item with id 'x' not found." if status == 404 else "It is wrong."
    return error(message, status, refusal.code, refusal.param)


def by_name(name: str, refusal: Refusal) -> dict[str, Shown]:
    case = next(one for one in errors.CASES if one.name == f"refused_{name.replace('-', '_')}")
    own = errors.ids_of("responses:errors", name, refusal)
    bad = {own[0]: [TAKEN], **{one: [error("It is wrong.", 400, "wrong", "something")] for one in own[1:]}}
    return shown(case, [refused(refusal)], bad)


GOOD = refused(REFUSALS["empty-body"])

UNKNOWN_MODEL = next(case for case in errors.CASES if case.name == "refused_unknown_model")

EXCHANGES: dict[str, Shown] = {
    **{one: each for name, refusal in REFUSALS.items() for one, each in by_name(name, refusal).items()},
    **shown(
        FIRST,
        [GOOD],
        {
            "responses:errors:never-ours": [error("Internal Server Error", 500)],
            "responses:errors:envelope": [says({"detail": "It is wrong."}, 400)],
            "responses:errors:bad-request": [error("It is wrong.", 422)],
            "responses:errors:four-keys": [GOOD.without("error", "param")],
            "responses:errors:type": [GOOD.patched("error", "type", to="BadRequestError")],
            "responses:errors:json": [Answer(400, GOOD.body, {"content-type": "text/plain"})],
            "responses:errors:no-traceback": [error('Traceback (most recent call last):\n  File "/srv/x.py", line 1')],
        },
    ),
    **shown(
        UNKNOWN_MODEL,
        [refused(REFUSALS["unknown-model"])],
        {"responses:errors:status": [error("The model does not exist.", 404, "model_not_found", "model")]},
    ),
    **shown(
        errors.a_bad_request_gets_no_stream,
        [GOOD],
        {"responses:errors:plain-before-a-stream": [streams(STREAMS["failure"])]},
    ),
    **shown(
        errors.a_slip_is_told,
        [error("Unknown parameter: 'temprature'. Did you mean 'temperature'?")],
        {"responses:errors:did-you-mean": [error("Unknown parameter: 'temprature'.")]},
    ),
    **shown(errors.the_server_survives, [GOOD, TAKEN], {"responses:errors:alive": [GOOD, Answer(0, fault="cut")]}),
}
