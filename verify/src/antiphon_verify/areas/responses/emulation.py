"""What a server emulates for a model that lacks it: judged with models of known weaknesses, if they
are listed.
"""

import json
from typing import Any

from antiphon_verify.areas.responses.calls import arguments_of, calls_of, came
from antiphon_verify.areas.responses.text import text_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, listed
from antiphon_verify.replies import error
from antiphon_verify.replies.bodies import CALL
from antiphon_verify.replies.responses import emulation as replies
from antiphon_verify.requirement import Stop, capability, should
from antiphon_verify.samples import WEATHER, WEATHER_QUESTION, spelled
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

PARIS = {"city": "Paris"}
PROMPT = spelled(WEATHER_QUESTION, 'get_weather {"city": "Paris"}')

CODE: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string", "pattern": "^[a-z]{4}$"}},
    "required": ["code"],
    "additionalProperties": False,
}


def _weak(trial: Trial, model: str, input: str, **parameters: Any) -> ExchangeSteps:
    """Send a request to a model with a weakness.

    Ends the case if the server does not list the model.
    """
    names = [at(one, "id") for one in listed((yield from trial.get("/models")).json, "data")]
    if model not in names:
        raise Stop(
            "not offered",
            f"The server does not list '{model}', a model of `antiphon demo-backend --weak`.",
        )
    return (yield from trial.respond(input, model=model, **parameters))


def _calls_paris(response: Any) -> bool:
    """Whether the response has one call of the function, with the arguments of the prompt."""
    calls = calls_of(response)
    return [(call.get("name"), arguments_of(call)) for call in calls] == [("get_weather", PARIS)]


def _calling(trial: Trial, model: str, id: str) -> Steps:
    exchange: Exchange = yield from _weak(trial, model, PROMPT, tools=[WEATHER])
    response = exchange.json if exchange.is_ok else None
    trial.expect(id, _calls_paris(response), came(response) if exchange.is_ok else exchange.came)


@case(
    capability(
        should(
            "responses:emulation:text-call",
            "issue hermes-agent#58197",
            "A tool call that the model writes as text is returned as a `function_call`.",
            fault=[replies.TEXTS, replies.WRITTEN],
        )
    ),
    good=[replies.TEXTS, replies.with_item(CALL)],
)
def a_call_in_the_text_is_found(trial: Trial) -> Steps:
    """Request a call from a model that writes its calls as text."""
    yield from _calling(trial, "demo-text-calls", "responses:emulation:text-call")


@case(
    capability(
        should(
            "responses:emulation:no-tools",
            "issue LLMKube#126",
            "A model can call a function even if its backend rejects `tools`.",
            fault=[replies.TOOLLESS, error("demo-no-tools does not support tools", 502)],
        )
    ),
    good=[replies.TOOLLESS, replies.with_item(CALL)],
)
def a_model_without_tools_calls_one(trial: Trial) -> Steps:
    """Request a call from a model with a backend that rejects tools."""
    yield from _calling(trial, "demo-no-tools", "responses:emulation:no-tools")


@case(
    capability(
        should(
            "responses:emulation:arguments",
            "issue qwen-code#10692",
            "Arguments without their last bracket are completed in the `function_call`.",
            fault=[replies.BREAKING, replies.BROKEN],
        )
    ),
    good=[replies.BREAKING, replies.with_item(CALL)],
)
def broken_arguments_are_repaired(trial: Trial) -> Steps:
    """Request a call from a model that omits the last bracket."""
    yield from _calling(trial, "demo-broken-json", "responses:emulation:arguments")


@case(
    capability(
        should(
            "responses:emulation:schema",
            "issue llama.cpp#25895",
            "A schema with a keyword that the backend rejects is accepted, and the text matches it.",  # noqa: E501 - one text, or a row of a table
            fault=[replies.GRAMMAR, error("failed to parse grammar", 400)],
        )
    ),
    good=[replies.GRAMMAR, replies.with_text(json.dumps({"code": "dvor"}))],
)
def a_schema_is_stored_that_the_server_rejects(trial: Trial) -> Steps:
    """Send a pattern to a model with a backend that rejects patterns."""
    form = {"type": "json_schema", "name": "code", "schema": CODE, "strict": True}
    answer = 'Write the code dvor.\nanswer {"code": "dvor"}'
    exchange: Exchange = yield from _weak(
        trial, "demo-small-grammar", answer, text={"format": form}
    )
    text = text_of(exchange.json) if exchange.is_ok else ""
    trial.expect("responses:emulation:schema", text == '{"code": "dvor"}', exchange.came)
