"""Whether the response echoes the parameters of the request."""

from typing import Any

from antiphon_verify.case import Case, Script, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, shown
from antiphon_verify.requirement import Stop, Table, must, should
from antiphon_verify.samples import CITY, WEATHER
from antiphon_verify.trial import Steps, Trial

TABLE: Table = (
    should("responses:echo:temperature", "spec 3", "`temperature` is echoed."),
    should("responses:echo:top-p", "spec 3", "`top_p` is echoed."),
    must("responses:echo:metadata", "spec 3", "`metadata` is echoed as sent."),
    should("responses:echo:instructions", "spec 3", "`instructions` are echoed as sent."),
    should("responses:echo:max-output-tokens", "spec 3", "`max_output_tokens` is echoed."),
    must("responses:echo:tools", "spec 3", "Function tools are echoed with name, description and parameters."),
    should("responses:echo:tools-strict", "spec 3", "A function tool is echoed with a boolean `strict`."),
    must("responses:echo:tool-choice", "spec 3", "`tool_choice` is echoed."),
    must("responses:echo:parallel-tool-calls", "spec 3", "`parallel_tool_calls` is echoed."),
    should("responses:echo:text-format", "spec 3", "`text.format` is echoed with its type, name and schema."),
    should("responses:echo:reasoning-effort", "spec 3", "`reasoning.effort` is echoed."),
    should("responses:echo:store", "spec 3", "`store` is echoed."),
    should("responses:echo:truncation", "spec 3", "`truncation` is echoed."),
    should("responses:echo:user", "spec 3", "`user` is echoed."),
    should("responses:echo:safety-identifier", "spec 3", "`safety_identifier` is echoed."),
    should("responses:echo:prompt-cache-key", "spec 15", "`prompt_cache_key` is echoed."),
    should(
        "responses:echo:service-tier",
        "spec 3",
        "The `service_tier` of an ended response is the tier that was used, not `auto`.",
    ),
    should("responses:echo:in-stream", "spec 7", "The first event's response already echoes the parameters."),
)


ADJUSTED = "antiphon-adjusted"
"""A header that names the parameters which the server changed, because the model does not accept them."""

FORMAT = {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}

ECHOED: dict[str, tuple[str, dict[str, Any]]] = {
    "told_back_sampling": ("temperature top-p", {"temperature": 0.5, "top_p": 0.5}),
    "told_back_texts": (
        "metadata instructions",
        {"metadata": {"a": "1", "b": "2"}, "instructions": "Answer in one word."},
    ),
    "told_back_limits": (
        "max-output-tokens truncation store",
        {"max_output_tokens": 77, "truncation": "auto", "store": False},
    ),
    "told_back_labels": (
        "user safety-identifier prompt-cache-key",
        {"user": "user-1", "safety_identifier": "safe-1", "prompt_cache_key": "cache-1"},
    ),
    "told_back_tool_choice": (
        "tool-choice parallel-tool-calls",
        {"tools": [WEATHER], "tool_choice": "none", "parallel_tool_calls": False},
    ),
}
"""By case: the names of the requirements, which are those of the parameters, and the parameters."""


def telling_back(names: list[str], parameters: dict[str, Any]) -> Script:
    """Return the script that compares each parameter with the value sent."""

    def script(trial: Trial) -> Steps:
        response = applied(trial, (yield from trial.respond("Say hello.", **parameters)))
        for name in names:
            key = name.replace("-", "_")
            trial.expect(f"responses:echo:{name}", is_same(at(response, key), parameters[key]), told(response, key))

    script.__doc__ = f"Set {', '.join(parameters)}."
    return script


def applied(trial: Trial, exchange: Exchange) -> dict[str, Any]:
    """Return the response. Ends the case if the server states that it changed a parameter for the model."""
    if changed := exchange.headers.get(ADJUSTED):
        raise Stop("not offered", f"adjusted: {changed}")
    return trial.response(exchange)


def is_same(value: Any, given: Any) -> bool:
    """Whether a value equals the value sent; JSON distinguishes true from 1, Python does not."""
    return type(value) is type(given) and value == given


def told(response: dict[str, Any], *path: str | int) -> str:
    """Return in words the value at a path."""
    name, value = ".".join(map(str, path)), at(response, *path)
    return f"There is no `{name}`." if value is MISSING else f"`{name}` is {shown(value)}."


SIMPLE = tuple(
    Case(name, tuple(f"responses:echo:{one}" for one in names.split()), telling_back(names.split(), parameters))
    for name, (names, parameters) in ECHOED.items()
)


@case("responses:echo:tools", "responses:echo:tools-strict")
def tools_are_told_back(trial: Trial) -> Steps:
    """Offer a function tool."""
    response = trial.response((yield from trial.respond("Say hello.", tools=[WEATHER], tool_choice="none")))
    tool = at(response, "tools", 0)
    keys = ("type", "name", "description", "parameters")
    is_told = all(is_same(at(tool, key), WEATHER[key]) for key in keys)
    trial.expect("responses:echo:tools", is_told, told(response, "tools"))
    trial.expect(
        "responses:echo:tools-strict", isinstance(at(tool, "strict"), bool), told(response, "tools", 0, "strict")
    )


@case("responses:echo:text-format")
def a_format_is_told_back(trial: Trial) -> Steps:
    """Request structured output."""
    response = trial.response((yield from trial.respond("Name a city.", text={"format": FORMAT})))
    is_told = all(is_same(at(response, "text", "format", key), FORMAT[key]) for key in ("type", "name", "schema"))
    trial.expect("responses:echo:text-format", is_told, told(response, "text"))


@case("responses:echo:reasoning-effort")
def an_effort_is_told_back(trial: Trial) -> Steps:
    """Set the effort of reasoning."""
    response = applied(trial, (yield from trial.respond("Say hello.", reasoning={"effort": "low"})))
    is_told = at(response, "reasoning", "effort") == "low"
    trial.expect("responses:echo:reasoning-effort", is_told, told(response, "reasoning"))


@case("responses:echo:service-tier")
def the_tier_that_was_got_is_told(trial: Trial) -> Steps:
    """Send no service tier."""
    response = trial.response((yield from trial.respond("Say hello.", service_tier="auto")))
    tier = at(response, "service_tier")
    trial.expect(
        "responses:echo:service-tier", isinstance(tier, str) and tier != "auto", told(response, "service_tier")
    )


@case("responses:echo:in-stream")
def parameters_are_told_at_once(trial: Trial) -> Steps:
    """Send parameters with a stream."""
    given = {"temperature": 0.5, "metadata": {"a": "1"}, "instructions": "Answer in one word."}
    events = trial.streamed((yield from trial.respond("Say hello.", stream=True, **given)))
    response = at(events, 0, "response")
    is_told = all(is_same(at(response, key), value) for key, value in given.items())
    trial.expect("responses:echo:in-stream", is_told, shown(response))
