"""Structured output of Chat Completions."""

import json
from dataclasses import replace
from typing import Any

from antiphon_verify.areas.chat.answer import text_of
from antiphon_verify.areas.chat.stream import choices_of
from antiphon_verify.areas.chat.stream import text_of as streamed_text
from antiphon_verify.case import Case, case
from antiphon_verify.exchange import parsed
from antiphon_verify.reading import at, fits
from antiphon_verify.replies.chat import formats as replies
from antiphon_verify.requirement import Requirement, Stop, must, should
from antiphon_verify.samples import CHAT_TOOLS, CITY, NESTED
from antiphon_verify.trial import Steps, Trial, is_completion

API = "chat-api response_format"


def schema(name: str, schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return a format with this schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": schema, "strict": strict},
    }


CAPITAL = "Name the capital of France, as JSON with the key city."

ANY = {"type": "object"}

UNFINISHED = "The model did not finish its text."


def judge_text(trial: Trial, id: str, text: str, reason: Any, expected: dict[str, Any]) -> None:
    """Judge whether a complete text is JSON that matches."""
    if reason != "stop" or not text:
        raise Stop("skipped", UNFINISHED)
    trial.expect(id, fits(parsed(text.encode("utf-8", "replace")), expected), text)


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
        completion = trial.completion((yield from trial.chat(prompt, response_format=form)))
        reason = at(completion, "choices", 0, "finish_reason")
        judge_text(trial, row.id, text_of(completion), reason, expected)

    script.__doc__ = f"Request JSON: {name}."
    return Case(f"chat_json_{name}", (row,), script, good=[replies.with_text(good)])


def fitting_stream(
    requirement: Requirement,
    prompt: str,
    form: dict[str, Any],
    expected: dict[str, Any],
    *,
    good: str,
    bad: str,
) -> Case:
    """Return the case that streams a format, as `fitting` requests one."""
    row = replace(requirement, fault=[replies.streaming(bad)])
    name = row.id.rpartition(":")[2].replace("-", "_")

    def script(trial: Trial) -> Steps:
        chunks = trial.streamed((yield from trial.chat(prompt, response_format=form, stream=True)))
        reasons = [reason for one in choices_of(chunks) if (reason := at(one, "finish_reason"))]
        judge_text(trial, row.id, streamed_text(chunks), (reasons or [None])[-1], expected)

    script.__doc__ = f"Stream JSON: {name.removesuffix('_streamed')}."
    return Case(f"chat_json_{name}", (row,), script, good=[replies.streaming(good)])


FITTING = (
    fitting(
        must("chat:formats:object", API, "With `json_object`, the text is a JSON object."),
        CAPITAL,
        {"type": "json_object"},
        ANY,
        good=replies.PARIS,
        bad="[]",
    ),
    fitting(
        must(
            "chat:formats:strict",
            API,
            "With a strict `json_schema`, the text is JSON that matches the schema.",
        ),
        CAPITAL,
        schema("city", CITY),
        CITY,
        good=replies.PARIS,
        bad='{"city": 75}',
    ),
    fitting(
        should("chat:formats:loose", API, "With a non-strict `json_schema`, the text is JSON."),
        CAPITAL,
        schema("city", CITY, strict=False),
        ANY,
        good=replies.PARIS,
        bad="Paris.",
    ),
    fitting(
        must(
            "chat:formats:nested",
            API,
            "The text matches the nested objects, lists and enums of a strict schema.",
        ),
        "Describe one day of a journey to Paris, as JSON.",
        schema("journey", NESTED),
        NESTED,
        good=json.dumps(replies.DAY),
        bad=json.dumps(replies.DAY | {"stops": [{"name": "Louvre"}]}),
    ),
)

STREAMING = (
    fitting_stream(
        must(
            "chat:formats:object-streamed",
            API,
            "With `json_object`, a streamed text is a JSON object.",
        ),
        CAPITAL,
        {"type": "json_object"},
        ANY,
        good=replies.PARIS,
        bad="[]",
    ),
    fitting_stream(
        must("chat:formats:strict-streamed", API, "A streamed text matches a strict schema."),
        CAPITAL,
        schema("city", CITY),
        CITY,
        good=replies.PARIS,
        bad='{"city": 75}',
    ),
)


@case(
    must(
        "chat:formats:text",
        API,
        "A `response_format` of type `text` is accepted.",
        fault=[replies.REJECTED],
    ),
    good=[replies.with_text("Hello.")],
)
def text_is_a_format(trial: Trial) -> Steps:
    """Request the format `text` explicitly."""
    exchange = yield from trial.chat("Say hello.", response_format={"type": "text"})
    trial.offered(exchange)
    trial.expect(
        "chat:formats:text", exchange.is_ok and is_completion(exchange.json), exchange.came
    )


@case(
    should(
        "chat:formats:with-tools",
        API,
        "A format is accepted together with tools.",
        fault=[replies.REJECTED],
    ),
    good=[replies.with_text("{}")],
)
def a_format_goes_with_tools(trial: Trial) -> Steps:
    """Request JSON, and offer tools."""
    exchange = yield from trial.chat(
        CAPITAL, response_format=schema("city", CITY), tools=CHAT_TOOLS
    )
    trial.offered(exchange)
    trial.expect(
        "chat:formats:with-tools", exchange.is_ok and is_completion(exchange.json), exchange.came
    )
