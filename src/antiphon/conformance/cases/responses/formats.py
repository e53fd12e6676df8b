"""Structured output: JSON, or JSON that fits."""

from typing import Any

from antiphon.conformance.case import Case, Script, case
from antiphon.conformance.cases.responses.text import text_of
from antiphon.conformance.cases.taken import taken_by_responses
from antiphon.conformance.cases.tools import CITY, NESTED, WEATHER
from antiphon.conformance.exchange import parsed
from antiphon.conformance.fitting import fits
from antiphon.conformance.trial import Steps, Trial
from antiphon.conformance.verdict import Stop


def schema(name: str, schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return a format of this schema."""
    return {"type": "json_schema", "name": name, "schema": schema, "strict": strict}


ANY = {"type": "object"}

ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "strict": ("Name the capital of France, as JSON.", schema("city", CITY), CITY),
    "loose": ("Name the capital of France, as JSON with the key city.", schema("city", CITY, strict=False), ANY),
    "object": ("Name the capital of France, as JSON with the key city.", {"type": "json_object"}, ANY),
    "nested": ("Describe one day of a journey to Paris, as JSON.", schema("journey", NESTED), NESTED),
}
"""By the requirement's name: what is asked, the format, and the schema that the text must fit."""


def said(response: dict[str, Any]) -> Any:
    """Return the text as JSON. Ends the case where the model came to no end of it."""
    if response.get("status") != "completed" or not text_of(response):
        raise Stop("skipped", "The model did not finish its text.")
    return parsed(text_of(response).encode("utf-8", "replace"))


def fitting(name: str, asked: str, form: dict[str, Any], wanted: dict[str, Any]) -> Script:
    """Return the script that asks for a format."""

    def script(trial: Trial) -> Steps:
        response = trial.response((yield from trial.respond(asked, text={"format": form})))
        trial.expect(f"responses:formats:{name}", fits(said(response), wanted), text_of(response))

    script.__doc__ = f"Ask for JSON: {name}."
    return script


FITTING = tuple(
    Case(f"json_{name}", (f"responses:formats:{name}",), fitting(name, *row)) for name, row in ASKED.items()
)


@case("responses:formats:streamed")
def json_is_streamed(trial: Trial) -> Steps:
    """Stream JSON of a strict schema."""
    asked, form, wanted = ASKED["strict"]
    events = trial.streamed((yield from trial.respond(asked, text={"format": form}, stream=True)))
    deltas = [event.get("delta") for event in events if event.get("type") == "response.output_text.delta"]
    if events[-1].get("type") != "response.completed" or not deltas:
        raise Stop("skipped", "The model did not finish its text.")
    text = "".join(delta for delta in deltas if isinstance(delta, str))
    trial.expect("responses:formats:streamed", fits(parsed(text.encode("utf-8", "replace")), wanted), text)


TAKEN: dict[str, dict[str, Any]] = {
    "text": {"text": {"format": {"type": "text"}}},
    "with-tools": {"text": {"format": schema("city", CITY)}, "tools": [WEATHER]},
    "verbosity": {"text": {"verbosity": "low"}},
}
"""By the requirement's name: parameters that are taken, whatever the model says."""


TAKING = taken_by_responses("formats", TAKEN)
