"""The fields of an MCP tool: allowed tools, secrets, and the number of calls."""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.hosted import mcp
from antiphon_verify.areas.responses.mcp.items import (
    CALL,
    LEFT_OUT,
    LIST,
    called,
    items_of,
    listed_tools,
    names_of,
    received_calls,
    respond,
)
from antiphon_verify.case import Case, Script, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.mcp import LOOKUP
from antiphon_verify.reading import at, listed, shown
from antiphon_verify.requirement import Stop
from antiphon_verify.samples import spelled
from antiphon_verify.trial import Steps, Trial


def allowing(name: str, allowed: Any) -> Case:
    """Return the case in which only some tools are allowed, one of which is `lookup`."""
    judged = f"responses:mcp:{name}"

    def script(trial: Trial) -> Steps:
        response = yield from respond(trial, f"/{name}", "Say hello.", allowed_tools=allowed)
        names = names_of(listed(listed_tools(response), "tools"))
        trial.expect(judged, names == {LOOKUP["name"]}, shown(sorted(map(str, names))))

    script.__doc__ = f"Allow only some tools: {name}."
    return Case(f"mcp_{name.replace('-', '_')}", (judged,), script)


ALLOWING = (
    allowing("allowed-names", [LOOKUP["name"]]),
    allowing("allowed-read-only", {"read_only": True}),
)

TOKEN, VALUE = "token-4f1c9a7e2b", "value-8d3e6c5a0f"

SECRET = {"authorization": TOKEN, "headers": {"X-Shelf": VALUE}}


def shows_secrets(exchange: Exchange) -> bool:
    """Whether an answer contains the token or the header's value."""
    return any(secret.encode() in exchange.body for secret in (TOKEN, VALUE))


@case(
    "responses:mcp:authorization-sent",
    "responses:mcp:headers-sent",
    "responses:mcp:secrets-hidden",
    "responses:mcp:secrets-hidden-stored",
    "responses:mcp:secrets-hidden-streamed",
)
def a_tool_has_secrets(trial: Trial) -> Steps:
    """Set a token and a header of an MCP tool, and search for them in everything returned."""
    response = yield from respond(trial, "/secrets", **SECRET)
    plain = trial.exchanges[-1]
    received = (yield from trial.mcp_received("/secrets")).json
    headers = [at(message, "headers") for message in received] if isinstance(received, list) else []
    tokens = {at(one, "authorization") for one in headers}
    trial.expect("responses:mcp:authorization-sent", tokens == {f"Bearer {TOKEN}"}, f"{len(tokens)} kinds of requests")
    values = {at(one, "x-shelf") for one in headers}
    trial.expect("responses:mcp:headers-sent", values == {VALUE}, f"{len(values)} kinds of requests")
    trial.expect("responses:mcp:secrets-hidden", not shows_secrets(plain), "One of them is returned.")
    stored = yield from trial.get(f"/responses/{id_of(response)}")
    if stored.is_ok:
        trial.expect("responses:mcp:secrets-hidden-stored", not shows_secrets(stored), "One of them is returned.")
    tool = trial.mcp_tool("/secrets", **SECRET)
    streamed = yield from trial.respond("Say hello.", tools=[tool], stream=True)
    trial.streamed(streamed)
    trial.expect("responses:mcp:secrets-hidden-streamed", not shows_secrets(streamed), "One of them is returned.")


@case("responses:mcp:choice")
def an_mcp_tool_is_demanded(trial: Trial) -> Steps:
    """Force a call of an MCP tool."""
    choice = {"type": "mcp", "server_label": "shelves", "name": LOOKUP["name"]}
    response = yield from respond(trial, "/choice", "Say hello.", more={"tool_choice": choice})
    names = [one.get("name") for one in items_of(response, CALL)]
    trial.expect("responses:mcp:choice", bool(names) and names[0] == LOOKUP["name"], response["output"])


@case("responses:mcp:choice-unknown")
def an_unknown_mcp_tool_is_demanded(trial: Trial) -> Steps:
    """Force a call of an MCP server that is not in `tools`."""
    yield from respond(trial, "/choice-unknown", "Say hello.")
    choice = {"type": "mcp", "server_label": "unknown"}
    tools = [trial.mcp_tool("/choice-unknown")]
    exchange = yield from trial.respond("Say hello.", tools=tools, tool_choice=choice)
    trial.expect("responses:mcp:choice-unknown", 400 <= exchange.status < 500, exchange.came)


@case("responses:mcp:max-tool-calls")
def calls_are_bounded(trial: Trial) -> Steps:
    """Request several calls, and allow one."""
    spelled_out = [f'lookup {{"word": "{word}"}}' for word in ("alpha", "beta", "gamma")]
    several = spelled(
        "On which shelves are the words alpha, beta and gamma? Use the tool lookup for each.", *spelled_out
    )
    response = yield from respond(trial, "/bounded", several, more={"max_tool_calls": 1})
    calls = called(response)
    received = yield from received_calls(trial, "/bounded")
    trial.expect("responses:mcp:max-tool-calls", len(calls) == 1 and len(received) == 1, calls)


BAD: dict[str, list[dict[str, Any]]] = {
    "no-address": [{"type": "mcp", "server_label": "nowhere"}],
    "no-label": [{name: value for name, value in mcp("https://mcp.example/").items() if name != "server_label"}],
    "same-label": [mcp("https://one.example/mcp"), mcp("https://two.example/mcp")],
}
"""By the requirement's name: tools that are rejected."""


def refusing(name: str, tools: list[dict[str, Any]]) -> Script:
    """Return the script that sends tools which must be rejected."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond("Say hello.", tools=tools)
        trial.understood(exchange)
        if exchange.is_ok and not items_of(exchange.json, LIST):
            raise Stop("not offered", LEFT_OUT)
        trial.expect(f"responses:mcp:{name}", 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Send an MCP tool: {name.replace('-', ' ')}."
    return script


REFUSING = tuple(
    Case(f"mcp_{name.replace('-', '_')}", (f"responses:mcp:{name}",), refusing(name, tools))
    for name, tools in BAD.items()
)
