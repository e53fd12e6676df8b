"""Structured output: JSON, or JSON that matches a schema."""

import json
from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses.text import text_of
from antiphon_verify.case import Case, case
from antiphon_verify.exchange import parsed
from antiphon_verify.reading import fits
from antiphon_verify.replies.responses import formats as replies
from antiphon_verify.requirement import Requirement, Stop, must, should
from antiphon_verify.samples import CITY, NESTED, WEATHER, accepted
from antiphon_verify.trial import Steps, Trial


def schema(name: str, schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return a format with this schema."""
    return {"type": "json_schema", "name": name, "schema": schema, "strict": strict}


ANY = {"type": "object"}

CAPITAL = "Name the capital of France, as JSON."


def parsed_text(response: dict[str, Any]) -> Any:
    """Return the text as JSON. Ends the case if the model did not finish it."""
    if response.get("status") != "completed" or not text_of(response):
        raise Stop("skipped", "The model did not finish its text.")
    return parsed(text_of(response).encode("utf-8", "replace"))


def fitting(
    requirement: Requirement,
    prompt: str,
    form: dict[str, Any],
    expected: dict[str, Any],
    *,
    good: str,
    bad: str,
) -> Case:
    """Return the case that requests a format: the text must match the schema `wanted`, as `good`
    does, unlike `bad`.
    """
    row = replace(requirement, fault=[replies.with_text(bad)])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        response = trial.response((yield from trial.respond(prompt, text={"format": form})))
        trial.expect(row.id, fits(parsed_text(response), expected), text_of(response))

    script.__doc__ = f"Request JSON: {name}."
    return Case(f"json_{name}", (row,), script, good=[replies.with_text(good)])


FITTING = (
    fitting(
        must(
            "responses:formats:strict",
            "spec 2",
            "With a strict `json_schema`, the text is JSON that matches the schema.",
        ),
        CAPITAL,
        schema("city", CITY),
        CITY,
        good='{"city": "Paris"}',
        bad='{"town": "Paris"}',
    ),
    fitting(
        should(
            "responses:formats:loose",
            "spec 2",
            "With a non-strict `json_schema`, the text is JSON.",
        ),
        "Name the capital of France, as JSON with the key city.",
        schema("city", CITY, strict=False),
        ANY,
        good='{"town": "Paris"}',
        bad="```json\n{}\n```",
    ),
    fitting(
        must(
            "responses:formats:object", "spec 2", "With `json_object`, the text is a JSON object."
        ),
        "Name the capital of France, as JSON with the key city.",
        {"type": "json_object"},
        ANY,
        good='{"city": "Paris"}',
        bad='"Paris"',
    ),
    fitting(
        must(
            "responses:formats:nested",
            "spec 2",
            "The text matches the nested objects, lists and enums of a strict schema.",
        ),
        "Describe one day of a journey to Paris, as JSON.",
        schema("journey", NESTED),
        NESTED,
        good=json.dumps(
            {"place": {"city": "Paris"}, "weather": "sun", "stops": [{"name": "Louvre", "hour": 9}]}
        ),
        bad=json.dumps({"place": {"city": "Paris"}, "weather": "snow", "stops": []}),
    ),
)


@case(
    must(
        "responses:formats:streamed",
        "spec 2",
        "A streamed text matches a strict schema.",
        fault=[replies.streaming('{"city":')],
    ),
    good=[replies.streaming('{"city":', ' "Paris"}')],
)
def json_is_streamed(trial: Trial) -> Steps:
    """Stream JSON with a strict schema."""
    events = trial.streamed(
        (yield from trial.respond(CAPITAL, text={"format": schema("city", CITY)}, stream=True))
    )
    deltas = [
        event.get("delta") for event in events if event.get("type") == "response.output_text.delta"
    ]
    if events[-1].get("type") != "response.completed" or not deltas:
        raise Stop("skipped", "The model did not finish its text.")
    text = "".join(delta for delta in deltas if isinstance(delta, str))
    trial.expect(
        "responses:formats:streamed", fits(parsed(text.encode("utf-8", "replace")), CITY), text
    )


ACCEPTED = (
    accepted(
        must("responses:formats:text", "spec 2", "A `text.format` of type `text` is accepted."),
        text={"format": {"type": "text"}},
    ),
    accepted(
        should(
            "responses:formats:with-tools", "spec 2", "A format is accepted together with tools."
        ),
        text={"format": schema("city", CITY)},
        tools=[WEATHER],
    ),
    accepted(
        should("responses:formats:verbosity", "spec 2", "`text.verbosity` is accepted."),
        text={"verbosity": "low"},
    ),
)
