"""Structured output: JSON, or JSON that matches a schema."""

from typing import Any

from antiphon_verify.areas.responses.text import text_of
from antiphon_verify.case import Case, Script, case
from antiphon_verify.exchange import parsed
from antiphon_verify.reading import fits
from antiphon_verify.requirement import Stop, Table, must, should
from antiphon_verify.samples import CITY, NESTED, WEATHER, taken_by_responses
from antiphon_verify.trial import Steps, Trial

TABLE: Table = (
    must("responses:formats:text", "spec 2", "A `text.format` of type `text` is accepted."),
    must(
        "responses:formats:strict", "spec 2", "With a strict `json_schema`, the text is JSON that matches the schema."
    ),
    should("responses:formats:loose", "spec 2", "With a non-strict `json_schema`, the text is JSON."),
    must("responses:formats:object", "spec 2", "With `json_object`, the text is a JSON object."),
    must("responses:formats:streamed", "spec 2", "A streamed text matches a strict schema."),
    must(
        "responses:formats:nested", "spec 2", "The text matches the nested objects, lists and enums of a strict schema."
    ),
    should("responses:formats:with-tools", "spec 2", "A format is accepted together with tools."),
    should("responses:formats:verbosity", "spec 2", "`text.verbosity` is accepted."),
)


def schema(name: str, schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return a format with this schema."""
    return {"type": "json_schema", "name": name, "schema": schema, "strict": strict}


ANY = {"type": "object"}

ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "strict": ("Name the capital of France, as JSON.", schema("city", CITY), CITY),
    "loose": ("Name the capital of France, as JSON with the key city.", schema("city", CITY, strict=False), ANY),
    "object": ("Name the capital of France, as JSON with the key city.", {"type": "json_object"}, ANY),
    "nested": ("Describe one day of a journey to Paris, as JSON.", schema("journey", NESTED), NESTED),
}
"""By the requirement's name: the prompt, the format, and the schema that the text must match."""


def said(response: dict[str, Any]) -> Any:
    """Return the text as JSON. Ends the case if the model did not finish it."""
    if response.get("status") != "completed" or not text_of(response):
        raise Stop("skipped", "The model did not finish its text.")
    return parsed(text_of(response).encode("utf-8", "replace"))


def fitting(name: str, asked: str, form: dict[str, Any], wanted: dict[str, Any]) -> Script:
    """Return the script that requests a format."""

    def script(trial: Trial) -> Steps:
        response = trial.response((yield from trial.respond(asked, text={"format": form})))
        trial.expect(f"responses:formats:{name}", fits(said(response), wanted), text_of(response))

    script.__doc__ = f"Request JSON: {name}."
    return script


FITTING = tuple(
    Case(f"json_{name}", (f"responses:formats:{name}",), fitting(name, *row)) for name, row in ASKED.items()
)


@case("responses:formats:streamed")
def json_is_streamed(trial: Trial) -> Steps:
    """Stream JSON with a strict schema."""
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
"""By the requirement's name: parameters that are accepted, whatever the model answers."""


TAKING = taken_by_responses("formats", TAKEN)
