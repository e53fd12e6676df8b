"""Requests with two errors."""

from dataclasses import replace
from typing import Any

from antiphon_verify.case import Case
from antiphon_verify.reading import MISSING, at, preview
from antiphon_verify.replies import error
from antiphon_verify.requirement import Requirement, should
from antiphon_verify.trial import Steps, Trial

ONE_ERROR = should(
    "responses:order:one-error",
    "spec 13",
    "Of several errors one is reported, with one `param`.",
    fault=[error("All of it is wrong.", param="model, input")],
)


def two_errors(requirement: Requirement, param: str, **parameters: Any) -> Case:
    """Return the case that sends two errors at once, of which the one in `param` must be
    reported.
    """
    row = replace(requirement, fault=[error("It is wrong.", param="another")])
    name = row.id.rpartition(":")[2].replace("-", "_")

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post(
            "/responses", trial.response_body(**({"input": "Say hello."} | parameters))
        )
        trial.supported(exchange)
        reported = at(exchange.json, "error", "param")
        trial.expect(row.id, reported == param, exchange.came)
        is_one = exchange.status >= 400 and (reported is None or isinstance(reported, str))
        trial.expect(ONE_ERROR.id, is_one and "," not in str(reported), preview(reported))

    script.__doc__ = f"Send two errors at once, of which `{param}` comes first."
    return Case(
        f"order_{name}", (row, ONE_ERROR), script, good=[error("It is wrong.", param=param)]
    )


CASES = (
    two_errors(
        should(
            "responses:order:model-before-input",
            "spec 13",
            "If model and input are missing, the error names the model.",
        ),
        "model",
        model=MISSING,
        input=MISSING,
    ),
    two_errors(
        should(
            "responses:order:missing-before-unknown",
            "spec 13",
            "A missing model is reported before an unknown parameter.",
        ),
        "model",
        model=MISSING,
        no_such_parameter=1,
    ),
    two_errors(
        should(
            "responses:order:input-before-enum",
            "spec 13",
            "A missing input is reported before an unknown value.",
        ),
        "input",
        input=MISSING,
        truncation="some",
    ),
    two_errors(
        should(
            "responses:order:unknown-before-types",
            "spec 13",
            "An unknown parameter is reported before a wrong type.",
        ),
        "no_such_parameter",
        no_such_parameter=1,
        store="yes",
    ),
    two_errors(
        should(
            "responses:order:input-before-tools",
            "spec 13",
            "An error in the input is reported before one in the tools.",
        ),
        "input",
        input=7,
        tools={},
    ),
    two_errors(
        should(
            "responses:order:shape-before-state",
            "spec 13",
            "An invalid value is reported before an unknown `previous_response_id`.",
        ),
        "truncation",
        truncation="some",
        previous_response_id="resp_0000000000000000",
    ),
)
