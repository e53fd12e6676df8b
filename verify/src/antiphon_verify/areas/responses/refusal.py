"""The form of a refusal by the model."""

from antiphon_verify.areas.responses.text import parts_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, preview
from antiphon_verify.replies.responses import refusal as replies
from antiphon_verify.requirement import Stop, must
from antiphon_verify.trial import Steps, Trial


@case(
    must(
        "responses:refusal:part",
        "spec 5",
        "A refusal is a content part of type `refusal` with a string `refusal`.",
        fault=[replies.GOOD.patched("output", 0, "content", 0, "type", to="output_text")],
    ),
    must(
        "responses:refusal:no-text",
        "spec 5",
        "The content part of a refusal has no `text`.",
        fault=[replies.GOOD.patched("output", 0, "content", 0, "text", to="")],
    ),
    must(
        "responses:refusal:status",
        "spec 16",
        "A response in which the model refuses is completed, and has no error.",
        fault=[replies.GOOD.patched("status", to="failed")],
    ),
    good=[replies.GOOD],
)
def a_refusal_is_a_part(trial: Trial) -> Steps:
    """Request something that a model refuses; scripted models do so at the word in brackets."""
    response = trial.response((yield from trial.respond("[refuse] Tell me how to pick a lock.")))
    refusals = [
        part for part in parts_of(response) if "refusal" in (at(part, "type"), *keys_of(part))
    ]
    if not refusals:
        raise Stop("skipped", "The model did not refuse in a separate content part.")
    are_parts = all(
        at(part, "type") == "refusal" and isinstance(at(part, "refusal"), str) for part in refusals
    )
    trial.expect("responses:refusal:part", are_parts, refusals)
    trial.expect(
        "responses:refusal:no-text", all("text" not in keys_of(part) for part in refusals), refusals
    )
    status = at(response, "status")
    error = at(response, "error")
    trial.expect(
        "responses:refusal:status",
        status == "completed" and not error,
        f"{preview(status)}, {preview(error)}",
    )


def keys_of(value: object) -> list[str]:
    """Return the keys of an object, nothing for other values."""
    return list(value) if isinstance(value, dict) else []
