"""Structured output of Chat Completions."""

from typing import Any

from antiphon_verify.areas.chat.answer import text_of
from antiphon_verify.areas.chat.stream import choices_of
from antiphon_verify.areas.chat.stream import text_of as streamed_text
from antiphon_verify.case import Case, Script, case
from antiphon_verify.exchange import parsed
from antiphon_verify.reading import at, fits
from antiphon_verify.requirement import Stop, Table, must, should
from antiphon_verify.samples import CHAT_TOOLS, CITY, NESTED
from antiphon_verify.trial import Steps, Trial, is_completion

API = "chat-api response_format"

TABLE: Table = (
    must("chat:formats:text", API, "A `response_format` of type `text` is accepted."),
    must("chat:formats:object", API, "With `json_object`, the text is a JSON object."),
    must("chat:formats:strict", API, "With a strict `json_schema`, the text is JSON that matches the schema."),
    should("chat:formats:loose", API, "With a non-strict `json_schema`, the text is JSON."),
    must("chat:formats:nested", API, "The text matches the nested objects, lists and enums of a strict schema."),
    must("chat:formats:object-streamed", API, "With `json_object`, a streamed text is a JSON object."),
    must("chat:formats:strict-streamed", API, "A streamed text matches a strict schema."),
    should("chat:formats:with-tools", API, "A format is accepted together with tools."),
)


def schema(name: str, schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return a format with this schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}}


CAPITAL = "Name the capital of France, as JSON with the key city."

ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "object": (CAPITAL, {"type": "json_object"}, {"type": "object"}),
    "strict": (CAPITAL, schema("city", CITY), CITY),
    "loose": (CAPITAL, schema("city", CITY, strict=False), {"type": "object"}),
    "nested": ("Describe one day of a journey to Paris, as JSON.", schema("journey", NESTED), NESTED),
}
"""By the requirement's name: the prompt, the format, and the schema that the text must match."""

UNFINISHED = "The model did not finish its text."


def judge_text(trial: Trial, id: str, text: str, reason: Any, wanted: dict[str, Any]) -> None:
    """Judge whether a complete text is JSON that matches."""
    if reason != "stop" or not text:
        raise Stop("skipped", UNFINISHED)
    trial.expect(id, fits(parsed(text.encode("utf-8", "replace")), wanted), text)


def fitting(name: str, asked: str, form: dict[str, Any], wanted: dict[str, Any]) -> Script:
    """Return the script that requests a format."""

    def script(trial: Trial) -> Steps:
        completion = trial.completion((yield from trial.chat(asked, response_format=form)))
        reason = at(completion, "choices", 0, "finish_reason")
        judge_text(trial, f"chat:formats:{name}", text_of(completion), reason, wanted)

    script.__doc__ = f"Request JSON: {name}."
    return script


def streaming(name: str, asked: str, form: dict[str, Any], wanted: dict[str, Any]) -> Script:
    """Return the script that streams a format."""

    def script(trial: Trial) -> Steps:
        chunks = trial.streamed((yield from trial.chat(asked, response_format=form, stream=True)))
        reasons = [reason for one in choices_of(chunks) if (reason := at(one, "finish_reason"))]
        judge_text(trial, f"chat:formats:{name}-streamed", streamed_text(chunks), (reasons or [None])[-1], wanted)

    script.__doc__ = f"Stream JSON: {name}."
    return script


FITTING = tuple(
    Case(f"chat_json_{name}", (f"chat:formats:{name}",), fitting(name, *row)) for name, row in ASKED.items()
)

STREAMING = tuple(
    Case(f"chat_json_{name}_streamed", (f"chat:formats:{name}-streamed",), streaming(name, *ASKED[name]))
    for name in ("object", "strict")
)


@case("chat:formats:text")
def text_is_a_format(trial: Trial) -> Steps:
    """Request the format `text` explicitly."""
    exchange = yield from trial.chat("Say hello.", response_format={"type": "text"})
    trial.offered(exchange)
    trial.expect("chat:formats:text", exchange.is_ok and is_completion(exchange.json), exchange.came)


@case("chat:formats:with-tools")
def a_format_goes_with_tools(trial: Trial) -> Steps:
    """Request JSON, and offer tools."""
    exchange = yield from trial.chat(CAPITAL, response_format=schema("city", CITY), tools=CHAT_TOOLS)
    trial.offered(exchange)
    trial.expect("chat:formats:with-tools", exchange.is_ok and is_completion(exchange.json), exchange.came)
