"""Whether the response echoes the parameters of the request."""

from dataclasses import replace
from typing import Any

from antiphon_verify.case import Case, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, preview
from antiphon_verify.replies import states
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.replies.responses import echo as replies
from antiphon_verify.replies.responses.echo import FORMAT
from antiphon_verify.requirement import Requirement, Stop, must, should
from antiphon_verify.samples import WEATHER
from antiphon_verify.trial import Steps, Trial

ADJUSTED = "antiphon-adjusted"
"""A header that names the parameters which the server changed, because the model does not accept
them.
"""


def echoing(name: str, *rows: Requirement, **parameters: Any) -> Case:
    """Return the case that compares parameters with those sent: a row for each, with its name."""
    declared = tuple(replace(row, fault=[replies.NOT_ECHOED]) for row in rows)

    def script(trial: Trial) -> Steps:
        response = applied(trial, (yield from trial.respond("Say hello.", **parameters)))
        for row in rows:
            key = row.id.rpartition(":")[2].replace("-", "_")
            trial.expect(
                row.id, is_same(at(response, key), parameters[key]), value_at(response, key)
            )

    script.__doc__ = f"Set {', '.join(parameters)}."
    return Case(name, declared, script, good=[states(RESPONSE | parameters)])


def applied(trial: Trial, exchange: Exchange) -> dict[str, Any]:
    """Return the response. Ends the case if the server states that it changed a parameter for the
    model.
    """
    if changed := exchange.headers.get(ADJUSTED):
        raise Stop("not offered", f"adjusted: {changed}")
    return trial.response(exchange)


def is_same(value: Any, sent: Any) -> bool:
    """Whether a value equals the value sent; JSON distinguishes true from 1, Python does not."""
    return type(value) is type(sent) and value == sent


def value_at(response: dict[str, Any], *path: str | int) -> str:
    """Return in words the value at a path."""
    name = ".".join(map(str, path))
    value = at(response, *path)
    return f"There is no `{name}`." if value is MISSING else f"`{name}` is {preview(value)}."


SIMPLE = (
    echoing(
        "echoed_sampling",
        should("responses:echo:temperature", "spec 3", "`temperature` is echoed."),
        should("responses:echo:top-p", "spec 3", "`top_p` is echoed."),
        temperature=0.5,
        top_p=0.5,
    ),
    echoing(
        "echoed_texts",
        must("responses:echo:metadata", "spec 3", "`metadata` is echoed as sent."),
        should("responses:echo:instructions", "spec 3", "`instructions` are echoed as sent."),
        metadata={"a": "1", "b": "2"},
        instructions="Answer in one word.",
    ),
    echoing(
        "echoed_limits",
        should("responses:echo:max-output-tokens", "spec 3", "`max_output_tokens` is echoed."),
        should("responses:echo:truncation", "spec 3", "`truncation` is echoed."),
        should("responses:echo:store", "spec 3", "`store` is echoed."),
        max_output_tokens=77,
        truncation="auto",
        store=False,
    ),
    echoing(
        "echoed_labels",
        should("responses:echo:user", "spec 3", "`user` is echoed."),
        should("responses:echo:safety-identifier", "spec 3", "`safety_identifier` is echoed."),
        should("responses:echo:prompt-cache-key", "spec 15", "`prompt_cache_key` is echoed."),
        user="user-1",
        safety_identifier="safe-1",
        prompt_cache_key="cache-1",
    ),
    echoing(
        "echoed_tool_choice",
        must("responses:echo:tool-choice", "spec 3", "`tool_choice` is echoed."),
        must("responses:echo:parallel-tool-calls", "spec 3", "`parallel_tool_calls` is echoed."),
        tools=[WEATHER],
        tool_choice="none",
        parallel_tool_calls=False,
    ),
)


@case(
    must(
        "responses:echo:tools",
        "spec 3",
        "Function tools are echoed with name, description and parameters.",
        fault=[replies.TOOLS.without("tools", 0, "description")],
    ),
    should(
        "responses:echo:tools-strict",
        "spec 3",
        "A function tool is echoed with a boolean `strict`.",
        fault=[replies.TOOLS.without("tools", 0, "strict")],
    ),
    good=[replies.TOOLS],
)
def tools_are_echoed(trial: Trial) -> Steps:
    """Offer a function tool."""
    response = trial.response(
        (yield from trial.respond("Say hello.", tools=[WEATHER], tool_choice="none"))
    )
    tool = at(response, "tools", 0)
    keys = ("type", "name", "description", "parameters")
    is_echoed = all(is_same(at(tool, key), WEATHER[key]) for key in keys)
    trial.expect("responses:echo:tools", is_echoed, value_at(response, "tools"))
    trial.expect(
        "responses:echo:tools-strict",
        isinstance(at(tool, "strict"), bool),
        value_at(response, "tools", 0, "strict"),
    )


@case(
    should(
        "responses:echo:text-format",
        "spec 3",
        "`text.format` is echoed with its type, name and schema.",
        fault=[replies.FORMATTED.patched("text", "format", to={"type": "text"})],
    ),
    good=[replies.FORMATTED],
)
def a_format_is_echoed(trial: Trial) -> Steps:
    """Request structured output."""
    response = trial.response((yield from trial.respond("Name a city.", text={"format": FORMAT})))
    is_echoed = all(
        is_same(at(response, "text", "format", key), FORMAT[key])
        for key in ("type", "name", "schema")
    )
    trial.expect("responses:echo:text-format", is_echoed, value_at(response, "text"))


@case(
    should(
        "responses:echo:reasoning-effort",
        "spec 3",
        "`reasoning.effort` is echoed.",
        fault=[replies.NOT_ECHOED],
    ),
    good=[replies.EFFORT],
)
def an_effort_is_echoed(trial: Trial) -> Steps:
    """Set the effort of reasoning."""
    response = applied(trial, (yield from trial.respond("Say hello.", reasoning={"effort": "low"})))
    is_echoed = at(response, "reasoning", "effort") == "low"
    trial.expect("responses:echo:reasoning-effort", is_echoed, value_at(response, "reasoning"))


@case(
    should(
        "responses:echo:service-tier",
        "spec 3",
        "The `service_tier` of an ended response is the tier that was used, not `auto`.",
        fault=[replies.TIER.patched("service_tier", to="auto")],
    ),
    good=[replies.TIER],
)
def the_used_tier_is_named(trial: Trial) -> Steps:
    """Send no service tier."""
    response = trial.response((yield from trial.respond("Say hello.", service_tier="auto")))
    tier = at(response, "service_tier")
    trial.expect(
        "responses:echo:service-tier",
        isinstance(tier, str) and tier != "auto",
        value_at(response, "service_tier"),
    )


@case(
    should(
        "responses:echo:in-stream",
        "spec 7",
        "The first event's response already echoes the parameters.",
        fault=[replies.opening(temperature=1.0)],
    ),
    good=[
        replies.opening(temperature=0.5, metadata={"a": "1"}, instructions="Answer in one word.")
    ],
)
def parameters_are_echoed_at_once(trial: Trial) -> Steps:
    """Send parameters with a stream."""
    sent = {"temperature": 0.5, "metadata": {"a": "1"}, "instructions": "Answer in one word."}
    events = trial.streamed((yield from trial.respond("Say hello.", stream=True, **sent)))
    response = at(events, 0, "response")
    is_echoed = all(is_same(at(response, key), value) for key, value in sent.items())
    trial.expect("responses:echo:in-stream", is_echoed, preview(response))
