"""The fields of an MCP tool: allowed tools, secrets, and the number of calls."""

from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
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
from antiphon_verify.case import Case, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.mcp import LOOKUP
from antiphon_verify.reading import at, listed, preview
from antiphon_verify.replies import replaced
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import mcp as replies
from antiphon_verify.replies.responses.mcp import SECRET, TOKEN, VALUE
from antiphon_verify.requirement import Requirement, Stop, must, should
from antiphon_verify.samples import mcp, spelled
from antiphon_verify.trial import Steps, Trial


def allowing(requirement: Requirement, allowed: Any) -> Case:
    """Return the case in which only some tools are allowed, one of which is `lookup`."""
    row = replace(requirement, fault=[replies.with_output(replies.LIST, MESSAGE)])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        response = yield from respond(trial, f"/{name}", "Say hello.", allowed_tools=allowed)
        names = names_of(listed(listed_tools(response), "tools"))
        trial.expect(row.id, names == {LOOKUP["name"]}, preview(sorted(map(str, names))))

    script.__doc__ = f"Allow only some tools: {name}."
    return Case(f"mcp_{name.replace('-', '_')}", (row,), script, good=[replies.ONE_TOOL])


ALLOWING = (
    allowing(
        must(
            "responses:mcp:allowed-names",
            "spec 6",
            "With names in `allowed_tools`, only these tools are listed.",
        ),
        [LOOKUP["name"]],
    ),
    allowing(
        should(
            "responses:mcp:allowed-read-only",
            "spec 6",
            "With `read_only` in `allowed_tools`, only read-only tools are listed.",
        ),
        {"read_only": True},
    ),
)


def shows_secrets(exchange: Exchange) -> bool:
    """Whether an answer contains the token or the header's value."""
    return any(secret.encode() in exchange.body for secret in (TOKEN, VALUE))


@case(
    must(
        "responses:mcp:authorization-sent",
        "spec 6",
        "The MCP server receives `authorization` as a bearer token.",
        fault=replaced(replies.SECRETS, 1, replies.received("antiphon", **{"x-shelf": VALUE})),
    ),
    must(
        "responses:mcp:headers-sent",
        "spec 6",
        "The MCP server receives the tool's `headers`.",
        fault=replaced(
            replies.SECRETS, 1, replies.received("antiphon", authorization=f"Bearer {TOKEN}")
        ),
    ),
    must(
        "responses:mcp:secrets-hidden",
        "spec 6",
        "`authorization` and header values are not echoed.",
        fault=replaced(replies.SECRETS, 0, replies.LEAKED),
    ),
    must(
        "responses:mcp:secrets-hidden-stored",
        "spec 6",
        "The stored response contains neither `authorization` nor header values.",
        fault=replaced(replies.SECRETS, 2, replies.LEAKED),
    ),
    must(
        "responses:mcp:secrets-hidden-streamed",
        "spec 6",
        "No event contains `authorization` or header values.",
        fault=replaced(replies.SECRETS, 3, replies.LEAKED_IN_A_STREAM),
    ),
    good=replies.SECRETS,
)
def a_tool_has_secrets(trial: Trial) -> Steps:
    """Set a token and a header of an MCP tool, and search for them in everything returned."""
    response = yield from respond(trial, "/secrets", **SECRET)
    plain = trial.exchanges[-1]
    received = (yield from trial.mcp_received("/secrets")).json
    headers = [at(message, "headers") for message in received] if isinstance(received, list) else []
    tokens = {at(one, "authorization") for one in headers}
    trial.expect(
        "responses:mcp:authorization-sent",
        tokens == {f"Bearer {TOKEN}"},
        f"{len(tokens)} kinds of requests",
    )
    values = {at(one, "x-shelf") for one in headers}
    trial.expect(
        "responses:mcp:headers-sent", values == {VALUE}, f"{len(values)} kinds of requests"
    )
    trial.expect(
        "responses:mcp:secrets-hidden", not shows_secrets(plain), "One of them is returned."
    )
    stored = yield from trial.get(f"/responses/{id_of(response)}")
    if stored.is_ok:
        trial.expect(
            "responses:mcp:secrets-hidden-stored",
            not shows_secrets(stored),
            "One of them is returned.",
        )
    tool = trial.mcp_tool("/secrets", **SECRET)
    streamed = yield from trial.respond("Say hello.", tools=[tool], stream=True)
    trial.streamed(streamed)
    trial.expect(
        "responses:mcp:secrets-hidden-streamed",
        not shows_secrets(streamed),
        "One of them is returned.",
    )


@case(
    must(
        "responses:mcp:choice",
        "spec 6",
        "With a `tool_choice` that names an MCP tool, the model calls the tool.",
        fault=[replies.with_output(replies.LIST, MESSAGE)],
    ),
    good=[replies.WITH_CALL],
)
def an_mcp_tool_is_demanded(trial: Trial) -> Steps:
    """Force a call of an MCP tool."""
    choice = {"type": "mcp", "server_label": "shelves", "name": LOOKUP["name"]}
    response = yield from respond(trial, "/choice", "Say hello.", more={"tool_choice": choice})
    names = [one.get("name") for one in items_of(response, CALL)]
    trial.expect(
        "responses:mcp:choice", bool(names) and names[0] == LOOKUP["name"], response["output"]
    )


@case(
    should(
        "responses:mcp:choice-unknown",
        "spec 13",
        "A `tool_choice` with an unknown label is rejected.",
        fault=[replies.WITH_CALL, replies.WITH_TEXT],
    ),
    good=[replies.WITH_CALL, replies.REJECTED],
)
def an_unknown_mcp_tool_is_demanded(trial: Trial) -> Steps:
    """Force a call of an MCP server that is not in `tools`."""
    yield from respond(trial, "/choice-unknown", "Say hello.")
    choice = {"type": "mcp", "server_label": "unknown"}
    tools = [trial.mcp_tool("/choice-unknown")]
    exchange = yield from trial.respond("Say hello.", tools=tools, tool_choice=choice)
    trial.expect("responses:mcp:choice-unknown", 400 <= exchange.status < 500, exchange.came)


@case(
    must(
        "responses:mcp:max-tool-calls",
        "spec 2",
        "A response makes no more calls than `max_tool_calls`.",
        fault=[
            replies.with_output(replies.LIST, replies.CALL, replies.CALL, MESSAGE),
            replies.received("alpha", "beta"),
        ],
    ),
    good=replies.ONCE,
)
def calls_are_bounded(trial: Trial) -> Steps:
    """Request several calls, and allow one."""
    spelled_out = [f'lookup {{"word": "{word}"}}' for word in ("alpha", "beta", "gamma")]
    several = spelled(
        "On which shelves are the words alpha, beta and gamma? Use the tool lookup for each.",
        *spelled_out,
    )
    response = yield from respond(trial, "/bounded", several, more={"max_tool_calls": 1})
    calls = called(response)
    received = yield from received_calls(trial, "/bounded")
    trial.expect("responses:mcp:max-tool-calls", len(calls) == 1 and len(received) == 1, calls)


def rejected(requirement: Requirement, *tools: dict[str, Any]) -> Case:
    """Return the case that sends tools which must be rejected."""
    row = replace(requirement, fault=[replies.WITH_CALL])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond("Say hello.", tools=list(tools))
        trial.understood(exchange)
        if exchange.is_ok and not items_of(exchange.json, LIST):
            raise Stop("not offered", LEFT_OUT)
        trial.expect(row.id, 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Send an MCP tool: {name.replace('-', ' ')}."
    return Case(f"mcp_{name.replace('-', '_')}", (row,), script, good=[replies.REJECTED])


REFUSING = (
    rejected(
        must(
            "responses:mcp:no-address",
            "spec 13",
            "An MCP tool without a URL or connector is rejected with a 4xx.",
        ),
        {"type": "mcp", "server_label": "nowhere"},
    ),
    rejected(
        must(
            "responses:mcp:no-label",
            "spec 13",
            "An MCP tool without a label is rejected with a 4xx.",
        ),
        {
            name: value
            for name, value in mcp("https://mcp.example/").items()
            if name != "server_label"
        },
    ),
    rejected(
        should(
            "responses:mcp:same-label",
            "spec 13",
            "Two MCP tools with the same label are rejected with a 4xx.",
        ),
        mcp("https://one.example/mcp"),
        mcp("https://two.example/mcp"),
    ),
)
