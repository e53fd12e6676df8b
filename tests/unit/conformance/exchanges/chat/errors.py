"""Bad requests refused, and not."""

from antiphon_verify.areas.chat import errors
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.completions import COMPLETION

TAKEN = says(COMPLETION)

REFUSED = error("It is wrong.")

LOST = error("The model does not exist.", 404, "model_not_found")

NO_METHOD = error("Not allowed.", 405)

NO_PATH = error("Nothing is here.", 404)

EXCHANGES: dict[str, Shown] = {
    **{case.own[0]: Shown(case, [REFUSED], [TAKEN]) for case in errors.CASES},
    **shown(
        errors.CASES[0],
        [REFUSED],
        {
            "chat:errors:never-ours": [error("Internal Server Error", 500)],
            "chat:errors:envelope": [says({"detail": "It is wrong."}, 400)],
            "chat:errors:bad-request": [error("It is wrong.", 422)],
            "chat:errors:four-keys": [REFUSED.without("error", "param")],
            "chat:errors:code-text": [REFUSED.patched("error", "code", to=400)],
        },
    ),
    **shown(
        errors.an_unknown_chat_model_is_refused,
        [LOST],
        {
            "chat:errors:unknown-model": [TAKEN],
            "chat:errors:unknown-model-named": [LOST.patched("error", "code", to="NotFoundError")],
        },
    ),
    **{
        name: one
        for case in errors.STREAMING
        for name, one in spoiled(case, [REFUSED], [streams([{"error": {"message": "It is wrong."}}])]).items()
    },
    **shown(
        errors.what_chat_does_not_serve_is_refused,
        [REFUSED, NO_METHOD, NO_PATH],
        {
            "chat:errors:method": [REFUSED, TAKEN, NO_PATH],
            "chat:errors:path": [REFUSED, NO_METHOD, says({"error": "Unexpected endpoint."})],
        },
    ),
    **spoiled(errors.chat_survives, [REFUSED, TAKEN], [REFUSED, Answer(0, fault="cut")]),
}
