"""Bad requests refused, and not."""

from antiphon.verify.cases.chat import errors
from tests.verify.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.verify.exchanges.completions import COMPLETION

TAKEN = says(COMPLETION)

REFUSED = error("It is wrong.")

FIRST = errors.CASES[0]

UNKNOWN = next(case for case in errors.CASES if case.name == "chat_refused_unknown_model")

LOST = error("The model does not exist.", 404, "model_not_found")

EXCHANGES: dict[str, Shown] = {
    **{case.ids[0]: Shown(case, [REFUSED], [TAKEN]) for case in errors.CASES},
    **shown(
        UNKNOWN,
        [LOST],
        {
            "chat:errors:unknown-model": [TAKEN],
            "chat:errors:unknown-model-named": [LOST.patched("error", "code", to="NotFoundError")],
        },
    ),
    **shown(
        FIRST,
        [REFUSED],
        {
            "chat:errors:never-ours": [error("Internal Server Error", 500)],
            "chat:errors:four-keys": [REFUSED.without("error", "param")],
        },
    ),
    **{
        name: one
        for case in errors.STREAMING
        for name, one in spoiled(case, [REFUSED], [streams([{"error": {"message": "It is wrong."}}])]).items()
    },
    **spoiled(errors.a_get_is_refused, [REFUSED, error("Not allowed.", 405)], [REFUSED, TAKEN]),
    **spoiled(errors.chat_survives, [REFUSED, TAKEN], [REFUSED, Answer(0, fault="cut")]),
}
