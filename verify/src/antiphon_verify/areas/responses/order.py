"""Requests with two errors."""

from typing import Any

from antiphon_verify.case import Case, Script
from antiphon_verify.reading import MISSING, at, shown
from antiphon_verify.requirement import Table, should
from antiphon_verify.trial import Steps, Trial

TABLE: Table = (
    should(
        "responses:order:model-before-input", "spec 13", "If model and input are missing, the error names the model."
    ),
    should(
        "responses:order:missing-before-unknown", "spec 13", "A missing model is reported before an unknown parameter."
    ),
    should("responses:order:input-before-enum", "spec 13", "A missing input is reported before an unknown value."),
    should("responses:order:unknown-before-types", "spec 13", "An unknown parameter is reported before a wrong type."),
    should(
        "responses:order:input-before-tools", "spec 13", "An error in the input is reported before one in the tools."
    ),
    should(
        "responses:order:shape-before-state",
        "spec 13",
        "An invalid value is reported before an unknown `previous_response_id`.",
    ),
    should("responses:order:one-error", "spec 13", "Of several errors one is reported, with one `param`."),
)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "model-before-input": ({"model": MISSING, "input": MISSING}, "model"),
    "missing-before-unknown": ({"model": MISSING, "no_such_parameter": 1}, "model"),
    "input-before-enum": ({"input": MISSING, "truncation": "some"}, "input"),
    "unknown-before-types": ({"no_such_parameter": 1, "store": "yes"}, "no_such_parameter"),
    "input-before-tools": ({"input": 7, "tools": {}}, "input"),
    "shape-before-state": ({"truncation": "some", "previous_response_id": "resp_0000000000000000"}, "truncation"),
}
"""By the requirement's name: the parameters, and the one that is reported."""


def telling(name: str, parameters: dict[str, Any], param: str) -> Script:
    """Return the script that sends two errors at once."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post("/responses", trial.response_body(**({"input": "Say hello."} | parameters)))
        trial.served(exchange)
        told = at(exchange.json, "error", "param")
        trial.expect(f"responses:order:{name}", told == param, exchange.came)
        is_one = exchange.status >= 400 and (told is None or isinstance(told, str)) and "," not in str(told)
        trial.expect("responses:order:one-error", is_one, shown(told))

    script.__doc__ = f"Send two errors at once, of which `{param}` comes first."
    return script


CASES = tuple(
    Case(
        f"order_{name.replace('-', '_')}", (f"responses:order:{name}", "responses:order:one-error"), telling(name, *row)
    )
    for name, row in FAULTS.items()
)
