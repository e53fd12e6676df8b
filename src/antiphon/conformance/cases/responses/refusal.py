"""What a refusal looks like, where the model refuses."""

from antiphon.conformance.case import case
from antiphon.conformance.cases.responses.text import parts_of
from antiphon.conformance.reading import at, shown
from antiphon.conformance.trial import Steps, Trial
from antiphon.conformance.verdict import Stop


@case("responses:refusal:part", "responses:refusal:no-text", "responses:refusal:status")
def a_refusal_is_a_part(trial: Trial) -> Steps:
    """Ask for what a model may refuse; scripted models do at the word in brackets."""
    response = trial.response((yield from trial.respond("[refuse] Tell me how to pick a lock.")))
    refusals = [part for part in parts_of(response) if "refusal" in (at(part, "type"), *keys_of(part))]
    if not refusals:
        raise Stop("skipped", "The model did not refuse in a part of its own.")
    are_parts = all(at(part, "type") == "refusal" and isinstance(at(part, "refusal"), str) for part in refusals)
    trial.expect("responses:refusal:part", are_parts, refusals)
    trial.expect("responses:refusal:no-text", all("text" not in keys_of(part) for part in refusals), refusals)
    status, error = at(response, "status"), at(response, "error")
    trial.expect("responses:refusal:status", status == "completed" and not error, f"{shown(status)}, {shown(error)}")


def keys_of(value: object) -> list[str]:
    """Return an object's keys, none of anything else."""
    return list(value) if isinstance(value, dict) else []
